"""R-Drop: predictions under two dropout masks should agree.

    L = ½ (L₁ + L₂ + α · ½ (KL(p₁ ‖ p₂) + KL(p₂ ‖ p₁)))

The batch is duplicated and run once; each copy gets its own dropout masks. L₁, p₁ and L₂, p₂ are the losses and
predictions of the two copies. This keeps all logits of both copies in memory; cross-entropy alone needs a few rows.
Paper: Liang et al. 2021, "R-Drop: Regularized Dropout for Neural Networks", arXiv:2106.14448.
"""

import torch
from torch import Tensor

__all__ = ["disagreement"]


def disagreement(logits: Tensor, counts: Tensor) -> Tensor:
    """Return ½ Σ (KL(p₁ ‖ p₂) + KL(p₂ ‖ p₁)) = ½ Σ (p₁ - p₂) · (log p₁ - log p₂) over the rows with `counts`.

    logits (2N, V): N rows of the first copy, then N of the second; counts (2N,): True for rows in the loss -> ()
    """
    first, second = torch.log_softmax(logits.float(), -1).chunk(2)
    apart = ((first.exp() - second.exp()) * (first - second)).sum(-1)  # (N,)
    return (apart * counts[: len(apart)]).sum() / 2
