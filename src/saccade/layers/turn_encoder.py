"""The encoder of dialogues: words of each turn, then turns in order."""

from __future__ import annotations

import torch
from torch import Tensor

from saccade import masks, pytree
from saccade.attention import Tape
from saccade.attention.turns import Turns
from saccade.layers.encoder import Encoder, EncoderOutput, RecurrentEncoder

__all__ = ["EncodedTurns", "TurnEncoder"]


@pytree.node
class EncodedTurns(EncoderOutput):
    """Output of a TurnEncoder: also `turns` (B, K, G), the states of the layer that reads turns."""

    turns: Tensor | None = None


class TurnEncoder(Encoder):
    """Encode the words of each turn alone, and the turns in order; annotations are [word ; its turn].

        h[s] = words(x)[s] within a turn        g[k] = turns([last h of turn 1], …, [last h of turn k])
        annotation of word s = [h[s] ; g[turn(s)]]

    Paper: Serban et al. 2016, arXiv:1507.04808 (HRED), where the decoder reads the last g alone.
    """

    def __init__(self, words: RecurrentEncoder, turns: RecurrentEncoder) -> None:
        super().__init__()
        self.words, self.turns = words, turns
        words.finals = turns.finals = False
        self.width = words.width + turns.width

    def forward(
        self, inputs: Tensor, mask: Tensor, *, where: Turns | None = None, tape: Tape | None = None
    ) -> EncodedTurns:
        """Encode dialogues; without `where`, all words are one turn."""
        where = Turns.starting(torch.zeros_like(mask), mask) if where is None else where
        split, present = where.split(inputs), where.mask.any(-1)
        real = where.mask.clone()
        real[..., 0] = True  # an RNN needs a position; the output of a missing turn is not used
        words = self.words(split.flatten(0, 1), real.flatten(0, 1), tape=tape)
        lasts = words.last.unflatten(0, present.shape)  # (B, K, W)
        turns = self.turns(self.turns.dropout(lasts), present, tape=tape)
        own = where.join(words.annotations.unflatten(0, present.shape))  # (B, S, W)
        above = turns.annotations.gather(1, where.of[..., None].expand(-1, -1, self.turns.width))
        last = torch.cat([masks.last(lasts, present), turns.last], -1)
        return EncodedTurns(torch.cat([own, above], -1), last, turns=turns.annotations)
