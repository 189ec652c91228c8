"""Recurrent cells on single vectors, for the tests against the papers' equations."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.testing import assert_close

from helpers.models import MIXED, row_of
from saccade.attention import Tape
from saccade.models import Seq2Seq


def lstm(cell: nn.Module, x: Tensor, h: Tensor, c: Tensor, extra: Tensor | float = 0.0) -> tuple[Tensor, Tensor]:
    """i, f, o = σ(W x + U h + b), g = tanh(·), c' = f c + i g + extra, h' = o tanh(c'); torch stacks i, f, g, o."""
    W, U, b, bh = cell.rnn.all_weights[0]
    i, f, g, o = (W @ x + b + U @ h + bh).chunk(4)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g) + extra
    return torch.sigmoid(o) * torch.tanh(c), c


def reset_first_gru(cell: nn.Module, x: Tensor, h: Tensor, *, z_takes_new: bool) -> Tensor:
    """r, z = σ(W x + U h + b), h̃ = tanh(W x + U (r h) + b); z on the new state (Bahdanau) or on the old (Cho)."""
    (Wr, Wz, W), (Ur, Uz, U), (br, bz, b) = (
        parameter.chunk(3) for parameter in (cell.weight_ih, cell.weight_hh, cell.bias_ih)
    )
    r = torch.sigmoid(Wr @ x + Ur @ h + br)
    z = torch.sigmoid(Wz @ x + Uz @ h + bz)
    new = torch.tanh(W @ x + U @ (r * h) + b)
    return (1 - z) * h + z * new if z_takes_new else z * h + (1 - z) * new


def compare_with_paper(model: Seq2Seq, by_hand: Callable[[Tensor, Tensor], tuple[Tensor, Tensor | None]]) -> None:
    """A ragged batch against `by_hand(source (S,), inputs (T,)) -> logits (T, V), weights (T, S)`, one by one."""
    batch, tape = MIXED.batch(), Tape()
    logits = model(batch, tape=tape)
    for row in range(batch.size):
        alone = row_of(batch, row)
        wanted, weights = by_hand(alone.source[0], alone.inputs[0])
        T, S = wanted.shape[0], alone.source.shape[1]
        assert_close(logits[row, :T], wanted)
        if weights is not None:
            (site,) = model.source_sites
            assert_close(tape[site][row, 0, :T, :S], weights)
