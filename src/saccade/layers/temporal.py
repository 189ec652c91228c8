"""Blocks of SNAIL over episodes: dense causal convolutions, and causal attention.

An episode is a sequence of labeled images, the support, after which one query comes. Several queries share a support:
each is the last position of a sequence of its own. Nothing in the support depends on a query, so the support is
computed once, and the Q queries follow it in one tensor (B, S + Q, D).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from saccade import pytree
from saccade.attention import Attention, MultiHead, Tape

__all__ = ["CausalAttention", "CausalConvolution", "Places", "TemporalConvolutions"]


@pytree.node
class Places:
    """What comes before what.

    position (B, S + Q): of each element in its sequence. mask (B, S + Q, S + Q): True = seen.
    """

    position: Tensor
    mask: Tensor

    @classmethod
    def of(cls, mask: Tensor, queries: int, *, itself: bool = True) -> Places:
        """Return the places of a support with a padding mask (B, S) and Q queries.

        `itself`: whether a query sees itself, as in the paper. Labeled images see themselves and earlier ones.
        """
        batch, size = mask.shape
        lengths = mask.sum(1, keepdim=True)
        support = torch.arange(size, device=mask.device).expand(batch, -1)
        position = torch.cat([support, lengths.expand(-1, queries)], 1)
        seen = mask[:, None] & (support[:, None] <= position[..., None])
        own = torch.eye(queries, dtype=torch.bool, device=mask.device) & itself
        apart = torch.zeros(batch, size, queries, dtype=torch.bool, device=mask.device)
        return cls(position, torch.cat([seen, torch.cat([apart, own.expand(batch, -1, -1)], 1)], 2))

    def before(self, x: Tensor, steps: int) -> Tensor:
        """Return, for every element, the one that many steps earlier in its sequence; zeros before the first."""
        back = self.position - steps
        found = x.gather(1, back.clamp_min(0)[..., None].expand(-1, -1, x.shape[-1]))
        return found * (back >= 0)[..., None]


class CausalConvolution(nn.Module):
    """concat(x, tanh(f) · σ(g)); f and g are causal convolutions of x, kernel 2. "DenseBlock" in the paper.

        f[t] = W x[t] + U x[t - dilation] + b,   and g likewise

    x (B, T, D) -> (B, T, D + filters).   W, U (filters, D).   Paper: Mishra et al. 2018, arXiv:1707.03141.
    """

    def __init__(self, width: int, filters: int, dilation: int) -> None:
        super().__init__()
        self.now, self.earlier = nn.Linear(width, 2 * filters), nn.Linear(width, 2 * filters, bias=False)
        self.dilation = dilation

    def forward(self, x: Tensor, places: Places) -> Tensor:
        both = self.now(x) + places.before(self.earlier(x), self.dilation)
        values, gates = both.chunk(2, -1)
        return torch.cat([x, values.tanh() * gates.sigmoid()], -1)


class TemporalConvolutions(nn.Module):
    """Causal convolutions whose dilations double until they span `length` positions. "TCBlock" in the paper."""

    def __init__(self, width: int, filters: int, length: int, *, first_dilation: int = 2) -> None:
        super().__init__()
        count = max(1, math.ceil(math.log2(length)))
        self.blocks = nn.ModuleList(
            CausalConvolution(width + number * filters, filters, first_dilation << number) for number in range(count)
        )
        self.width = width + count * filters

    def forward(self, x: Tensor, places: Places) -> Tensor:
        for block in self.blocks:
            x = block(x, places)
        return x


class CausalAttention(nn.Module):
    """concat(x, A V x), where A[t] are weights over the positions up to t. "AttentionBlock" in the paper.

    x (B, T, D) -> (B, T, D + values). Queries, keys and values are affine maps of x. With `alike`, the maps of queries
    and keys start out equal, so that attention begins at positions that resemble each other.
    """

    def __init__(
        self, attention: Attention | MultiHead, width: int, keys: int, values: int, *, alike: bool = False
    ) -> None:
        super().__init__()
        self.attention, self.width = attention, width + values
        self.query, self.key, self.value = nn.Linear(width, keys), nn.Linear(width, keys), nn.Linear(width, values)
        if alike:
            self.key.load_state_dict(self.query.state_dict())

    def forward(self, x: Tensor, places: Places, *, tape: Tape | None = None) -> Tensor:
        bank = self.attention.bank(self.key(x), self.value(x), places.mask)
        read = self.attention(self.query(x), bank, tape=tape).context
        return torch.cat([x, read], -1)
