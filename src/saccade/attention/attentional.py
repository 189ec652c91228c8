"""Luong's attentional vector: the context joined with the decoder state."""

import torch
from torch import Tensor, nn

__all__ = ["AttentionalVector"]


class AttentionalVector(nn.Module):
    """Luong's attentional vector: one tanh layer over context and state.

        h̃[t] = tanh(W [c[t] ; h[t]])

    context (..., Dc), state (..., Dh) -> (..., width).   W (width, Dc + Dh), no bias
    Paper: Luong et al. 2015, arXiv:1508.04025, equation 5.
    """

    def __init__(self, context_width: int, state_width: int, width: int) -> None:
        super().__init__()
        self.join = nn.Linear(context_width + state_width, width, bias=False)

    def forward(self, context: Tensor, state: Tensor) -> Tensor:
        """Return the attentional vector (..., width).

        The model predicts the next word from it. With input feeding, the next decoder step also reads it.
        """
        return torch.tanh(self.join(torch.cat([context, state], -1)))
