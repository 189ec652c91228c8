"""Constraints: what a search may write.

A constraint is called with log-probabilities (B, K, V) and the words written so far (B, K, t), and gives the
log-probabilities back with -inf where a word is not allowed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor

from saccade.batch import EOS
from saccade.errors import ConfigError, DataError

__all__ = ["Banned", "Constraint", "MinimumLength", "Prefix", "Required"]

Phrase = Sequence[int]


class Constraint(ABC):
    """constraint(log_probabilities (B, K, V), written (B, K, t), steps_left) -> log_probabilities."""

    def check(self, sentences: int, vocabulary: int, max_length: int) -> None:  # noqa: B027 (most need none)
        """Refuse what cannot work with this search, before it starts."""

    @abstractmethod
    def __call__(self, log_probabilities: Tensor, written: Tensor, steps_left: int) -> Tensor:
        """The same with -inf for words that may not come next."""


class MinimumLength(Constraint):
    """No end before `length` words."""

    def __init__(self, length: int) -> None:
        self.length = length

    def check(self, sentences: int, vocabulary: int, max_length: int) -> None:
        if self.length >= max_length:
            raise ConfigError(
                f"min_length is {self.length} words, but max_length {max_length} leaves no room for them and the end. "
                f"Make max_length at least {self.length + 1}."
            )

    def __call__(self, log_probabilities: Tensor, written: Tensor, steps_left: int) -> Tensor:
        if written.shape[-1] < self.length:
            log_probabilities = log_probabilities.clone()
            log_probabilities[..., EOS] = -torch.inf
        return log_probabilities


class Prefix(Constraint):
    """Each sentence begins with given words (an empty list: anything)."""

    def __init__(self, prefixes: Sequence[Phrase]) -> None:
        self.prefixes = [list(prefix) for prefix in prefixes]

    def check(self, sentences: int, vocabulary: int, max_length: int) -> None:
        if len(self.prefixes) != sentences:
            raise DataError(f"there are {len(self.prefixes)} prefixes for {sentences} sentences. Pass one each.")
        _check_words("prefix", self.prefixes, vocabulary)
        longest = max(map(len, self.prefixes))
        if longest >= max_length:
            raise ConfigError(f"a prefix has {longest} words, but max_length is {max_length}. Raise it.")

    def __call__(self, log_probabilities: Tensor, written: Tensor, steps_left: int) -> Tensor:
        t = written.shape[-1]
        if all(len(prefix) <= t for prefix in self.prefixes):
            return log_probabilities
        forced = torch.full_like(log_probabilities, -torch.inf)
        for row, prefix in enumerate(self.prefixes):
            allowed = slice(None) if len(prefix) <= t else prefix[t]
            forced[row, :, allowed] = log_probabilities[row, :, allowed]
        return forced


class Banned(Constraint):
    """Words or phrases that must not be written."""

    def __init__(self, phrases: Sequence[Phrase]) -> None:
        self.phrases = [list(phrase) for phrase in phrases if len(phrase)]

    def check(self, sentences: int, vocabulary: int, max_length: int) -> None:
        _check_words("banned", self.phrases, vocabulary)
        if [EOS] in self.phrases:
            raise ConfigError("the end of the sentence cannot be banned. Use min_length to make sentences longer.")

    def __call__(self, log_probabilities: Tensor, written: Tensor, steps_left: int) -> Tensor:
        log_probabilities = log_probabilities.clone()
        for phrase in self.phrases:
            *opening, last = phrase
            if len(opening) > written.shape[-1]:
                continue
            tail = written[..., written.shape[-1] - len(opening) :]
            begun = (tail == tail.new_tensor(opening)).all(-1)  # (B, K)
            log_probabilities[..., last] = log_probabilities[..., last].masked_fill(begun, -torch.inf)
        return log_probabilities


class Required(Constraint):
    """Words or phrases that each sentence must contain before it may end.

    When only as many steps are left as words are still missing, nothing else may come. Until then a beam
    search keeps room for hypotheses that already have some of them (dynamic beam allocation, after Post and
    Vilar 2018, arXiv:1804.06609), so they land where the model likes them best; a greedy search only has
    the deadline.
    """

    def __init__(self, phrases: Sequence[Sequence[Phrase]]) -> None:
        self.phrases = [[tuple(phrase) for phrase in sentence if len(phrase)] for sentence in phrases]

    def check(self, sentences: int, vocabulary: int, max_length: int) -> None:
        if len(self.phrases) != sentences:
            raise DataError(
                f"there are required words for {len(self.phrases)} of {sentences} sentences. Pass a list each."
            )
        for row, phrases in enumerate(self.phrases):
            _check_words("required", phrases, vocabulary)
            need = sum(map(len, phrases))
            if need >= max_length:
                raise ConfigError(
                    f"sentence {row} requires {need} words, but max_length {max_length} leaves no room for them and "
                    "the end. Raise it."
                )

    def __call__(self, log_probabilities: Tensor, written: Tensor, steps_left: int) -> Tensor:
        limited = log_probabilities.clone()
        for row, hypotheses in enumerate(written.tolist()):
            for slot, words in enumerate(hypotheses):
                missing, following = self.progress(row, words)
                if missing == 0:
                    continue
                limited[row, slot, EOS] = -torch.inf
                if steps_left <= missing + 1:  # the missing words and the end fill what is left
                    forced = torch.full_like(limited[row, slot], -torch.inf)
                    forced[following] = log_probabilities[row, slot, following]
                    limited[row, slot] = forced
        return limited

    def progress(self, row: int, words: Sequence[int]) -> tuple[int, list[int]]:
        """How many required words are missing after `words`, and which ones would be the next."""
        unmet = [phrase for phrase in self.phrases[row] if not _contains(words, phrase)]
        begun = [(_overlap(words, phrase), phrase) for phrase in unmet]
        best = max((size for size, _ in begun), default=0)
        missing = sum(map(len, unmet)) - best
        return missing, sorted({phrase[size] for size, phrase in begun if size == best})


def _contains(words: Sequence[int], phrase: Phrase) -> bool:
    size = len(phrase)
    return any(tuple(words[i : i + size]) == tuple(phrase) for i in range(len(words) - size + 1))


def _overlap(words: Sequence[int], phrase: Phrase) -> int:
    """The length of the longest beginning of the phrase that the words end with."""
    for size in range(min(len(words), len(phrase) - 1), 0, -1):
        if tuple(words[-size:]) == tuple(phrase[:size]):
            return size
    return 0


def _check_words(kind: str, phrases: Sequence[Phrase], vocabulary: int) -> None:
    for phrase in phrases:
        for word in phrase:
            if not EOS <= word < vocabulary:
                raise DataError(
                    f"{kind} word {word} is not one the model can write: its words are {EOS}..{vocabulary - 1}."
                )
