"""Turns: the history of a dialogue as one source. Each turn starts with a token that marks its speaker.

Marks are special tokens that no text is tokenized to: BOS before turns of the user, EOS before those of the model. So
they need no entries in the vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pydantic import Field

from saccade.batch import BOS, EOS
from saccade.config import Config, Count, Share
from saccade.data.example import Example
from saccade.data.tokenizer import Tokenizer, words_of

__all__ = ["ChatConfig", "History", "each_turn", "read_history"]


class ChatConfig(Config):
    """For chat: how much of a dialogue the model reads (it drops the oldest turns), and how replies are ranked."""

    turns: Count | None = None
    """Maximum turns; default: all."""
    tokens: int = Field(256, ge=2, le=10_000)
    """Maximum tokens, with a mark for each turn; if the newest turn alone is longer, its beginning is cut."""
    without_history: Share = 0.0
    """Share of training examples whose history is hidden, so that the model learns p(reply), which `mutual` needs."""
    mutual: float = Field(0.0, ge=0, le=1)
    """Against dull replies: rank `candidates` by log p(reply | history) - mutual · log p(reply)."""
    candidates: Count = 10
    """Replies that are ranked if `mutual` is above 0."""


@dataclass(frozen=True)
class History:
    """The turns that a model reads, oldest first, and their tokens with marks.

    words and turn_of: the word and the turn of each token. Words are counted through all turns; a mark belongs to a
    turn, but to no word. dropped: turns left out before the first. first_word: words left out before the first.
    """

    turns: tuple[str, ...]
    tokens: list[int]
    words: list[int]
    turn_of: list[int]
    dropped: int = 0
    first_word: int = 0
    cut: bool = False

    @property
    def text(self) -> str:
        """All turns as one text."""
        return " ".join(self.turns)

    @property
    def notes(self) -> list[str]:
        """What was left out, in sentences for the user."""
        found = []
        if self.dropped:
            count = "1 turn was" if self.dropped == 1 else f"{self.dropped:,} turns were"
            found.append(f"The oldest {count} left out: the history is longer than the model reads.")
        if self.cut:
            found.append("The beginning of the newest turn was left out: it is longer than the model reads.")
        return found


def read_history(tokenizer: Tokenizer, turns: Sequence[str], config: ChatConfig, most: int | None = None) -> History:
    """Encode the newest turns that fit; `most`: maximum tokens of the model, if it has a limit of its own."""
    limit = config.tokens if most is None else min(config.tokens, most)
    kept = [*turns[-(config.turns or len(turns)) :]]
    encoded = tokenizer.encode_all(kept)
    sizes = [len(part.tokens) + 1 for part in encoded]
    total = sum(sizes)
    while len(sizes) > 1 and total > limit:
        total -= sizes.pop(0)
    cut = total > limit
    kept, encoded = kept[-len(sizes) :], encoded[-len(sizes) :]
    if cut:
        kept = [_end(tokenizer, kept[0], limit - 1)]
        encoded = tokenizer.encode_all(kept)
    total = sum(len(words_of(turn)) for turn in kept)
    tokens, words, turn_of, before = [], [], [], 0
    for number, (turn, part) in enumerate(zip(kept, encoded, strict=True)):
        tokens += [EOS if (len(kept) - number) % 2 == 0 else BOS, *part.tokens]
        words += [total, *(before + word for word in part.words)]
        turn_of += [number] * (len(part.tokens) + 1)
        before += len(words_of(turn))
    first_word = sum(len(words_of(turn)) for turn in turns) - total
    return History(tuple(kept), tokens, words, turn_of, len(turns) - len(kept), first_word, cut)


def each_turn(examples: Iterable[Example]) -> Iterator[str]:
    """Yield every turn of each dialogue once, including replies; consecutive examples share turns."""
    known: tuple[str | None, ...] = ()
    for example in examples:
        whole = (*example.turns, example.target)
        old = len(known) if known and example.turns[: len(known)] == known else 0
        yield from (turn or "" for turn in whole[old:])
        known = whole


def _end(tokenizer: Tokenizer, text: str, limit: int) -> str:
    """Return the longest end of a text that has at most `limit` tokens."""
    (offsets,) = tokenizer.offsets([text])
    for begin, _ in offsets[-limit:]:
        if len(tokenizer.tokens([text[begin:]])[0]) <= limit:
            return text[begin:]
    return ""
