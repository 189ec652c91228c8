"""Agreement: what a model says must not hang on which of its parts dropout left out.

    L = ½ (L₁ + L₂ + α · ½ (KL(p₁ ‖ p₂) + KL(p₂ ‖ p₁)))

Each batch is read twice at once, with dropout drawn afresh: L₁, p₁ and L₂, p₂ are the two readings' losses and
predictions. It holds all logits of both, where cross-entropy alone needs a few rows at a time.
Paper: Liang et al. 2021, "R-Drop: Regularized Dropout for Neural Networks", arXiv:2106.14448.
"""

import torch
from torch import Tensor

__all__ = ["disagreement"]


def disagreement(logits: Tensor, counts: Tensor) -> Tensor:
    """½ Σ (KL(p₁ ‖ p₂) + KL(p₂ ‖ p₁)) = ½ Σ (p₁ - p₂) · (log p₁ - log p₂), over the rows that count.

    logits (2N, V): the second reading's rows below the first's; counts (2N,) -> ()
    """
    first, second = torch.log_softmax(logits.float(), -1).chunk(2)
    apart = ((first.exp() - second.exp()) * (first - second)).sum(-1)  # (N,)
    return (apart * counts[: len(apart)]).sum() / 2
