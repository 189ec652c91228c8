"""Readouts: from a decoder's state to the vector that predicts a word."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from saccade.attention import AttentionalVector
from saccade.errors import ConfigError, lookup

__all__ = ["READOUTS", "Linear", "Maxout", "Readout", "Sum", "TanhReadout", "build_readout"]


class Readout(nn.Module):
    """readout(state, context, word) -> vector (..., width), from which the vocabulary is predicted.

    context or word is None if the model has none or does not feed it to the readout.
    """

    width: int

    def forward(self, state: Tensor, context: Tensor | None, word: Tensor | None) -> Tensor:
        """Combine state, context and word to one vector."""
        raise TypeError(f"{type(self).__name__} must implement forward()")


class Linear(Readout):
    """State, context and word concatenated, without a layer of its own."""

    def __init__(self, state_width: int, context_width: int, word_width: int, width: int | None = None) -> None:
        super().__init__()
        self.width = state_width + context_width + word_width

    def forward(self, state: Tensor, context: Tensor | None, word: Tensor | None) -> Tensor:
        return side_by_side(state, context, word)


class TanhReadout(Readout):
    """One tanh layer; with a context and no word it is Luong's attentional vector.

    t = tanh(W [context ; state ; word])
    """

    def __init__(self, state_width: int, context_width: int, word_width: int, width: int | None = None) -> None:
        super().__init__()
        self.width = width or state_width
        self.vector = AttentionalVector(context_width, state_width + word_width, self.width)

    def forward(self, state: Tensor, context: Tensor | None, word: Tensor | None) -> Tensor:
        context = state[..., :0] if context is None else context
        out: Tensor = self.vector(context, side_by_side(state, None, word))
        return out


class Maxout(Readout):
    """Deep output with maxout: pairs of units compete.

        t̃ = U_o state + V_o word + C_o context        t[k] = max(t̃[2k], t̃[2k+1])

    Papers: Cho et al. 2014, arXiv:1406.1078; Bahdanau et al. 2015, arXiv:1409.0473, appendix A.2.2.
    """

    def __init__(self, state_width: int, context_width: int, word_width: int, width: int | None = None) -> None:
        super().__init__()
        self.width = width or state_width
        self.layer = nn.Linear(state_width + context_width + word_width, 2 * self.width)

    def forward(self, state: Tensor, context: Tensor | None, word: Tensor | None) -> Tensor:
        pairs = self.layer(side_by_side(state, context, word)).unflatten(-1, (self.width, 2))
        out: Tensor = pairs.amax(-1)
        return out


def side_by_side(state: Tensor, context: Tensor | None, word: Tensor | None) -> Tensor:
    """Concatenate the parts that are not None."""
    parts = [part for part in (state, context, word) if part is not None]
    return parts[0] if len(parts) == 1 else torch.cat(parts, -1)


class Sum(Readout):
    """The word's embedding plus state and context, projected to its width.

        t = E y + L_h state + L_z context

    Paper: Xu et al. 2015, arXiv:1502.03044, equation 7.
    """

    def __init__(self, state_width: int, context_width: int, word_width: int, width: int | None = None) -> None:
        super().__init__()
        if not word_width or width not in (None, word_width):
            raise ConfigError(
                f"output 'sum' adds to the last word's embedding, so it needs read_word and the width of that: the "
                f"word is {word_width} wide and the output {width}. Set decoder.read_word, and leave output_width out."
            )
        self.width = word_width
        self.of_state = nn.Linear(state_width, self.width, bias=False)
        self.of_context = nn.Linear(context_width, self.width, bias=False) if context_width else None

    def forward(self, state: Tensor, context: Tensor | None, word: Tensor | None) -> Tensor:
        assert word is not None, "built with a word"
        out: Tensor = word + self.of_state(state)
        if self.of_context is not None and context is not None:
            out = out + self.of_context(context)
        return out


READOUTS = {"linear": Linear, "tanh": TanhReadout, "maxout": Maxout, "sum": Sum}


def build_readout(
    name: str, state_width: int, context_width: int = 0, word_width: int = 0, width: int | None = None
) -> Readout:
    """Build a readout by its name in READOUTS."""
    return lookup("output layer", name, READOUTS)(state_width, context_width, word_width, width)
