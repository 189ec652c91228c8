"""Features of dialogues: the history with its marks, and what copies of it and links to it mean."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from saccade.data.example import Example
from saccade.data.features import CopiedTarget, CopyFeature, Feature, LinkFeature, TokenFeature
from saccade.data.open_vocabulary import OpenVocabulary
from saccade.data.store import Numbered
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
    """The tokens of the history."""

    def __init__(self, tokenizers: Tokenizers, histories: Histories) -> None:
        assert tokenizers.source is not None
        super().__init__("source", tokenizers.source)
        self._histories = histories

    def encode(self, chunk: Sequence[Numbered]) -> Sequence[list[int]]:
        return [history.tokens for history in self._histories(chunk)]

    def fingerprint(self) -> Any:
        return [self.name, *self._histories.fingerprint]


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
) -> list[Feature]:
    """Return the features of dialogues; `hidden`: the share of histories that the model does not see."""
    assert tokenizers.target is not None
    histories = Histories(read, config, hidden)
    found: list[Feature] = [TurnFeature(tokenizers, histories)]
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
