"""Features of dialogues: the history with its marks, and what copies of it and links to it mean."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from saccade.batch import BOS, EOS, round_up
from saccade.data.batch_sampler import Rows
from saccade.data.example import Example
from saccade.data.features import CopiedTarget, CopyFeature, Feature, LinkFeature, TokenFeature
from saccade.data.open_vocabulary import OpenVocabulary
from saccade.data.store import Column, Numbered
from saccade.data.tokenizer import Encoded, Tokenizers
from saccade.data.turns import ChatConfig, History
from saccade.errors import DataError

__all__ = ["turn_features"]


class Histories:
    """Reads the histories of examples, and hides some of them."""

    def __init__(self, read: Callable[[Sequence[str]], History], config: ChatConfig, hidden: float) -> None:
        self._read, self._hidden = read, hidden
        self.fingerprint = [config.turns, config.tokens, hidden]

    def __call__(self, chunk: Sequence[Numbered]) -> list[History]:
        """Return the history of each example."""
        return [self._read(("",) if self._hides(number) else _turns(number, example)) for number, example in chunk]

    def _hides(self, number: int) -> bool:
        # evenly spread, and the same in every column
        return int(number * self._hidden) > int((number - 1) * self._hidden)


class TurnFeature(TokenFeature):
    """The tokens of the history; with `by_turn` also `DialogueBatch.turns`."""

    def __init__(self, tokenizers: Tokenizers, histories: Histories, *, by_turn: bool = False) -> None:
        assert tokenizers.source is not None
        super().__init__("source", tokenizers.source)
        self._histories, self._by_turn = histories, by_turn

    def encode(self, chunk: Sequence[Numbered]) -> Sequence[list[int]]:
        return [history.tokens for history in self._histories(chunk)]

    def collate(
        self, column: Column, rows: Rows, count: int, positions: int, made: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        found = super().collate(column, rows, count, positions, made)
        if self._by_turn:
            found["turns"] = _room(found["source"], found["source_mask"], rounded=positions > 0)
        return found

    def fingerprint(self) -> Any:
        return [self.name, *self._histories.fingerprint]


def _room(tokens: Tensor, mask: Tensor, *, rounded: bool) -> Tensor:
    """Return zeros (B, K, L) for the turns of histories (B, S), K turns of up to L words.

    With `rounded`, so that there are few shapes: K is rounded up, and L is a half, three quarters or all of S.
    """
    begins = ((tokens == BOS) | (tokens == EOS)) & mask
    begins[:, 0] = True
    turns = begins.cumsum(1) - 1
    words = torch.zeros(len(tokens), int(turns.max()) + 1, dtype=torch.long).scatter_add(1, turns, mask.long())
    count, longest, size = words.shape[1], int(words.max()), tokens.shape[1]
    if rounded:
        count = round_up(count)
        longest = next(part for part in (-(-size // 2), -(-3 * size // 4), size) if part >= longest)
    return torch.zeros(len(tokens), count, longest, dtype=torch.bool)


class TurnCopies(CopyFeature):
    """What a copy of each token of the history writes."""

    def __init__(self, tokenizers: Tokenizers, histories: Histories) -> None:
        assert tokenizers.target is not None
        super().__init__(tokenizers.target)
        self._histories = histories

    def vocabularies(self, chunk: Sequence[Numbered]) -> Iterable[OpenVocabulary]:
        return (OpenVocabulary(self.tokenizer, one.turns, one.tokens) for one in self._histories(chunk))


class TurnLinks(LinkFeature):
    """Gold links between the words of the history and those of the reply."""

    def __init__(self, tokenizers: Tokenizers, histories: Histories) -> None:
        super().__init__(tokenizers)
        self._histories = histories

    def sources(self, chunk: Sequence[Numbered]) -> Sequence[Encoded]:
        # links count the words that were left out too
        return [Encoded(one.tokens, [word + one.first_word for word in one.words]) for one in self._histories(chunk)]


def turn_features(
    tokenizers: Tokenizers,
    read: Callable[[Sequence[str]], History],
    config: ChatConfig,
    *,
    hidden: float = 0.0,
    links: bool = False,
    copies: bool = False,
    by_turn: bool = False,
) -> list[Feature]:
    """Return the features of dialogues; `hidden`: the share of histories that the model does not see."""
    assert tokenizers.target is not None
    histories = Histories(read, config, hidden)
    found: list[Feature] = [TurnFeature(tokenizers, histories, by_turn=by_turn)]
    if copies:
        copying = TurnCopies(tokenizers, histories)
        found += [CopiedTarget(tokenizers.target, copying), copying]
    else:
        found.append(TokenFeature("target", tokenizers.target))
    return [*found, TurnLinks(tokenizers, histories)] if links else found


def _turns(number: int, example: Example) -> Sequence[str]:
    if not example.turns:
        raise DataError(f"example {number} has no turns, which are the history of a dialogue. Add them.")
    return example.turns
