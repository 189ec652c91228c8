"""Constraints on the words a search may write.

A constraint is called with log-probabilities (B, K, V), the words written so far (B, K, t) and the number of steps
left, including this one. It returns the log-probabilities with -inf where a word is not allowed. Any such function
will do; a Constraint can also raise an error before a search that it does not fit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from saccade.batch import EOS, PAD
from saccade.errors import ConfigError, DataError

__all__ = [
    "Banned",
    "Constraint",
    "MaximumLengths",
    "MinimumLength",
    "NoRepeat",
    "Phrase",
    "Prefix",
    "Required",
    "Rule",
    "narrowed",
]

Phrase = Sequence[int]
Rule = Callable[[Tensor, Tensor, int], Tensor]
"""A Constraint, or any function with the same signature."""
OTHER = -1
"""Stands for any word that no phrase contains."""


class Constraint(ABC):
    """constraint(log_probabilities (B, K, V), written (B, K, t), steps_left) -> log_probabilities."""

    def check(self, sentences: int, vocabulary: int, max_length: int) -> None:  # noqa: B027 (most need none)
        """Raise an error, before the search starts, if the constraint cannot work with it."""

    @abstractmethod
    def __call__(self, log_probabilities: Tensor, written: Tensor, steps_left: int) -> Tensor:
        """Return the log-probabilities with -inf for words that may not come next."""

    def rests(self, written: int) -> bool:
        """Return whether it allows every word after `written` words, so that the call can be skipped."""
        return False

    def of(self, rows: Sequence[int]) -> Constraint | None:
        """Return the constraint for these sentences only; None if it cannot be split."""
        return None


class MinimumLength(Constraint):
    """Forbids the end before `length` words."""

    def __init__(self, length: int) -> None:
        self.length = length

    def check(self, sentences: int, vocabulary: int, max_length: int) -> None:
        if self.length < 0:
            raise ConfigError(f"min_length is {self.length}, but a sentence has 0 words or more.")
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

    def rests(self, written: int) -> bool:
        return written >= self.length

    def of(self, rows: Sequence[int]) -> Constraint:
        return self


class MaximumLengths(Constraint):
    """Stops each sentence, finished or not, after its own number of words, the end included.

    Unlike a search's max_length, which is shared by all sentences, this keeps decoding batch-invariant.
    """

    def __init__(self, lengths: Sequence[int]) -> None:
        self.lengths = list(lengths)

    def check(self, sentences: int, vocabulary: int, max_length: int) -> None:
        if len(self.lengths) != sentences:
            raise DataError(f"there are {len(self.lengths)} lengths for {sentences} sentences. Pass one each.")

    def __call__(self, log_probabilities: Tensor, written: Tensor, steps_left: int) -> Tensor:
        stopped = self.stopped(written.shape[-1], log_probabilities.device)
        return log_probabilities.masked_fill(stopped[:, None, None], -torch.inf)

    def stopped(self, written: int, device: torch.device) -> Tensor:
        """Return which sentences (B,) may have no further word after `written` words."""
        return torch.tensor([length <= written for length in self.lengths], device=device)

    def rests(self, written: int) -> bool:
        return written < min(self.lengths)

    def of(self, rows: Sequence[int]) -> Constraint:
        return MaximumLengths([self.lengths[row] for row in rows])


class Prefix(Constraint):
    """Begins each sentence with given words (an empty list: any). `banned`: the banned phrases of the same search."""

    def __init__(self, prefixes: Sequence[Phrase], *, banned: Sequence[Phrase] = ()) -> None:
        self.prefixes = _phrases("prefix", prefixes)
        self._banned = _phrases("banned", banned)

    def check(self, sentences: int, vocabulary: int, max_length: int) -> None:
        if len(self.prefixes) != sentences:
            raise DataError(f"there are {len(self.prefixes)} prefixes for {sentences} sentences. Pass one each.")
        _check_words("prefix", self.prefixes, EOS + 1, vocabulary)
        for row, prefix in enumerate(self.prefixes):
            if len(prefix) >= max_length:
                raise ConfigError(
                    f"the prefix of sentence {row} has {len(prefix)} words, but max_length {max_length} leaves no room "
                    f"for them and the end. Make it at least {len(prefix) + 1}."
                )
            _check_not_banned(f"the prefix of sentence {row}", prefix, self._banned)

    def __call__(self, log_probabilities: Tensor, written: Tensor, steps_left: int) -> Tensor:
        t = written.shape[-1]
        if all(len(prefix) <= t for prefix in self.prefixes):
            return log_probabilities
        forced = torch.full_like(log_probabilities, -torch.inf)
        for row, prefix in enumerate(self.prefixes):
            allowed = slice(None) if len(prefix) <= t else prefix[t]
            forced[row, :, allowed] = log_probabilities[row, :, allowed]
        return forced

    def rests(self, written: int) -> bool:
        return written >= max(map(len, self.prefixes))

    def of(self, rows: Sequence[int]) -> Constraint:
        return Prefix([self.prefixes[row] for row in rows], banned=self._banned)


class Banned(Constraint):
    """Words or phrases that must not be written; [word, EOS] means that no sentence ends with the word."""

    def __init__(self, phrases: Sequence[Phrase]) -> None:
        self.phrases = [phrase for phrase in _phrases("banned", phrases) if phrase]

    def check(self, sentences: int, vocabulary: int, max_length: int) -> None:
        _check_words("banned", self.phrases, EOS, vocabulary)
        if (EOS,) in self.phrases:
            raise ConfigError(
                f"the end of the sentence (word {EOS}) cannot be banned. Use min_length to make sentences longer."
            )

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

    def of(self, rows: Sequence[int]) -> Constraint:
        return self


class NoRepeat(Constraint):
    """Forbids a word that would complete a run of `size` words which its answer already contains.

    Paulus et al. 2018, arXiv:1705.04304, with trigrams.
    """

    def __init__(self, size: int) -> None:
        self.size = size

    def check(self, sentences: int, vocabulary: int, max_length: int) -> None:
        if self.size < 1:
            raise ConfigError(f"no_repeat_ngram is {self.size}, but a run has at least 1 word. Leave it out for none.")

    def __call__(self, log_probabilities: Tensor, written: Tensor, steps_left: int) -> Tensor:
        before = self.size - 1
        if self.rests(written.shape[-1]):
            return log_probabilities
        opening = written[..., written.shape[-1] - before :]
        runs = written.unfold(-1, self.size, 1)  # (B, K, runs, size)
        begun = (runs[..., :before] == opening[..., None, :]).all(-1)
        last = torch.where(begun, runs[..., before], PAD)  # PAD is never written
        banned = torch.zeros_like(log_probabilities, dtype=torch.bool).scatter_(-1, last, True)
        banned[..., : EOS + 1] = False
        return log_probabilities.masked_fill(banned, -torch.inf)

    def rests(self, written: int) -> bool:
        return written < self.size

    def of(self, rows: Sequence[int]) -> Constraint:
        return self


class Required(Constraint):
    """Words or phrases that each sentence must contain before it may end.

    A word is allowed as long as max_length leaves room after it for the missing words and the end. Already before
    this deadline, beam search reserves slots for hypotheses that have some of the words (dynamic beam allocation,
    after Post and Vilar 2018, arXiv:1804.06609), so phrases appear where the model prefers them. Greedy search and
    sampling have only the deadline.

    `prefixes` and `banned`: the other constraints of the same search, which must come before this one in the list. If
    no word meets the deadline, any word but the end is allowed.
    `lengths`: the maximum words of each sentence, if they differ.
    """

    def __init__(
        self,
        phrases: Sequence[Sequence[Phrase]],
        *,
        prefixes: Sequence[Phrase] | None = None,
        banned: Sequence[Phrase] = (),
        lengths: Sequence[int] | None = None,
    ) -> None:
        self.phrases = [[phrase for phrase in _phrases("required", asked) if phrase] for asked in phrases]
        self._prefixes = [()] * len(self.phrases) if prefixes is None else _phrases("prefix", prefixes)
        self._banned = [phrase for phrase in _phrases("banned", banned) if phrase]
        self._lengths = lengths

    def check(self, sentences: int, vocabulary: int, max_length: int) -> None:
        if len(self.phrases) != sentences:
            raise DataError(
                f"there are required words for {len(self.phrases)} of {sentences} sentences. Pass a list each."
            )
        for row, (phrases, prefix) in enumerate(zip(self.phrases, self._prefixes, strict=True)):
            _check_words("required", phrases, EOS + 1, vocabulary)
            for phrase in phrases:
                _check_not_banned(f"what sentence {row} requires", phrase, self._banned)
            words, most = len(prefix) + self.missing(row, prefix), self._most(row, max_length)
            if words >= most:
                raise ConfigError(
                    f"sentence {row} needs {words} words to hold its prefix and what it requires, but max_length "
                    f"{most} leaves no room for them and the end. Make it at least {words + 1}."
                )

    def __call__(self, log_probabilities: Tensor, written: Tensor, steps_left: int) -> Tensor:
        limited = log_probabilities.clone()
        for row, hypotheses in enumerate(written.tolist()):
            for slot, words in enumerate(hypotheses):
                if self.missing(row, words):
                    left = self._most(row, len(words) + steps_left) - len(words)
                    limited[row, slot, EOS] = -torch.inf
                    limited[row, slot] = self._in_time(limited[row, slot], row, words, left - 2)
        return limited

    def of(self, rows: Sequence[int]) -> Constraint:
        prefixes, phrases = [self._prefixes[row] for row in rows], [self.phrases[row] for row in rows]
        lengths = None if self._lengths is None else [self._lengths[row] for row in rows]
        return Required(phrases, prefixes=prefixes, banned=self._banned, lengths=lengths)

    def _most(self, row: int, max_length: int) -> int:
        """Return the maximum words of a sentence, the end included."""
        return max_length if self._lengths is None else min(max_length, self._lengths[row])

    def missing(self, row: int, words: Sequence[int]) -> int:
        """Return how many more words are enough to contain all that a sentence requires.

        Fewer words may be possible. But the counted words are a valid continuation, and each lowers the count.
        """
        unmet = [phrase for phrase in self.phrases[row] if not _contains(words, phrase)]
        orders = ([phrase, *unmet[:first], *unmet[first + 1 :]] for first, phrase in enumerate(unmet))
        return min((self._words_to_write(words, order) for order in orders), default=0)

    def following(self, row: int, words: Sequence[int]) -> set[int]:
        """Return the words that begin or continue a missing phrase."""
        unmet = (phrase for phrase in self.phrases[row] if not _contains(words, phrase))
        return {phrase[_overlap(words, phrase)] for phrase in unmet}

    def _words_to_write(self, words: Sequence[int], phrases: Sequence[Phrase]) -> int:
        """Count the words for phrases in this order; each overlaps the text before it unless that is banned."""
        text = list(words)
        for phrase in phrases:
            if _contains(text, phrase):
                continue
            joined = [*text, *phrase[_overlap(text, phrase) :]]
            banned = any(_contains(joined[max(0, len(text) - len(ban) + 1) :], ban) for ban in self._banned)
            text = [*text, OTHER, *phrase] if banned else joined
        return len(text) - len(words)

    def _in_time(self, logs: Tensor, row: int, words: list[int], room: int) -> Tensor:
        """Mask words of log-probabilities (V,) after which `room` words cannot contain what is missing."""
        most = sum(len(phrase) + 1 for phrase in self.phrases[row])
        if most <= room:
            return logs
        longer_bans = (ban for ban in self._banned if len(ban) > 1)  # a banned word has -inf already
        known = {word for phrase in [*self.phrases[row], *longer_bans] for word in phrase}
        fits = torch.full_like(logs, self.missing(row, [*words, OTHER]) <= room, dtype=torch.bool)
        for word in known:
            fits[word] = self.missing(row, [*words, word]) <= room
        kept = logs.masked_fill(~fits, -torch.inf)
        return logs if kept.isneginf().all() else kept


def narrowed(rules: Sequence[Rule], rows: Sequence[int]) -> list[Rule] | None:
    """Return the rules for these sentences only; None if one of them cannot be split."""
    parts = [rule.of(rows) if isinstance(rule, Constraint) else None for rule in rules]
    kept: list[Rule] = [part for part in parts if part is not None]
    return kept if len(kept) == len(parts) else None


def _phrases(kind: str, phrases: Sequence[Phrase]) -> list[tuple[int, ...]]:
    for phrase in phrases:
        if isinstance(phrase, int):
            raise DataError(f"{kind} holds word {phrase} where a phrase belongs. Write it as [{phrase}].")
    return [tuple(phrase) for phrase in phrases]


def _contains(words: Sequence[int], phrase: Phrase) -> bool:
    size = len(phrase)
    return any(tuple(words[i : i + size]) == tuple(phrase) for i in range(len(words) - size + 1))


def _overlap(words: Sequence[int], phrase: Phrase) -> int:
    """Return the length of the longest prefix of the phrase that the words end with."""
    for size in range(min(len(words), len(phrase) - 1), 0, -1):
        if tuple(words[-size:]) == tuple(phrase[:size]):
            return size
    return 0


def _check_words(kind: str, phrases: Sequence[Phrase], first: int, vocabulary: int) -> None:
    for phrase in phrases:
        for word in phrase:
            if not first <= word < vocabulary:
                raise DataError(
                    f"{kind} word {word} is not one the model can write there: its words are {first}..{vocabulary - 1}."
                )


def _check_not_banned(what: str, words: Phrase, banned: Sequence[Phrase]) -> None:
    for phrase in banned:
        if phrase and _contains(words, phrase):
            raise ConfigError(f"{what}, {list(words)}, contains {list(phrase)}, which is banned. Give up one of them.")
