"""Tokenizer: text to tokens and back, and which token belongs to which word."""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import tokenizers
from pydantic import Field
from tokenizers import models, pre_tokenizers, trainers

from saccade.batch import EOS, SPECIALS, UNK
from saccade.config import Config, Count
from saccade.data.spelling import shown, spell_bytes, text_of_bytes, word_numbers
from saccade.data.text import check_encodable, shorten
from saccade.data.tokenizer_parts import Kind, empty, in_pieces, rebuilt, specials
from saccade.errors import UPGRADE, CheckpointError, ConfigError, DataError
from saccade.files import read_text

__all__ = [
    "Encoded",
    "Offsets",
    "Spelling",
    "Tokenizer",
    "TokenizerConfig",
    "Tokenizers",
    "without_specials",
    "words_of",
]

Offsets = list[tuple[int, int]]
"""For each token of a text, the characters [begin, end) that it stands for."""

_DEFAULT_SIZE = 8000
_BYTE_SIZE = 256 + len(SPECIALS)
_MAX_CACHED_WORDS = 2**17
"""Maximum number of words whose tokens are cached: nearly all words of a corpus, in about ten megabytes."""
_LARGEST = 64 << 20
"""Maximum bytes of tokenizer.json: enough for two million words, and small enough to parse in memory."""
_VERSION = 1


class TokenizerConfig(Config):
    """How text becomes tokens."""

    kind: Kind = "bpe"
    """word: words and punctuation. char: characters. bpe, unigram: subwords over bytes, so nothing is unknown."""
    size: int | None = Field(None, gt=len(SPECIALS), le=2**22)
    """Vocabulary size with the four special tokens: the maximum for words and characters, exact for subwords."""
    min_count: Count = 1
    """Words and characters seen less often in training are unknown; BPE merges only pairs seen that often."""
    shared: bool = False
    """Whether source and target share a vocabulary."""
    lowercase: bool = False
    punctuation: Literal["split", "keep"] = "split"
    """For words: split punctuation off, or split only at spaces."""


@dataclass(frozen=True)
class Encoded:
    """A text as tokens, and for each token the number of its word; words are separated by spaces."""

    tokens: list[int]
    words: list[int]


class Spelling(Protocol):
    """Converts output tokens to text: a Tokenizer, or one whose vocabulary is extended for a single input.

    The methods are those of Tokenizer.
    """

    def encode(self, text: str) -> Encoded:
        """Encode one text, without special tokens."""

    def decode(self, tokens: Sequence[int]) -> str:
        """Decode the tokens up to EOS, without special tokens."""

    def spelled(self, tokens: Sequence[int], *, words: bool = True) -> tuple[str, Encoded]:
        """Return the text of some tokens, and the tokens that are not special, each with its word number."""

    def pieces(self, tokens: Sequence[int]) -> list[str]:
        """Return each token in readable form."""


class Tokenizer:
    """A vocabulary, and how text is split into its tokens.

    In the kinds `word` and `char`, words or characters not seen in training become UNK. `bpe` and `unigram` fall back
    to bytes, so they cover every text. decode(encode(text)) restores the text for `char`, `bpe` and `unigram`, unless
    `lowercase` changed it or a character is unknown. `word` joins with single spaces, so it restores text that was
    separated that way. Text that is spelled like a special token does not become one.
    """

    def __init__(self, kind: Kind, inner: tokenizers.Tokenizer) -> None:
        self.kind = kind
        self._inner = inner
        inner.encode_special_tokens = True  # text spelled like <eos> stays text
        self._pieces = [str(inner.id_to_token(token)) for token in range(inner.get_vocab_size())]
        self._known: dict[str, list[int]] = {}

    @classmethod
    def train(cls, config: TokenizerConfig, texts: Iterable[str], name: str = "text") -> Tokenizer:
        """Train a tokenizer on texts; `name` is the name of the side in errors."""
        pieces = in_pieces(config.kind)
        if pieces and config.size is not None and config.size <= _BYTE_SIZE:
            raise ConfigError(
                f"tokenizer.size is {config.size}, but {config.kind} needs more than {_BYTE_SIZE}: 256 bytes, "
                f"{len(SPECIALS)} special tokens and the subwords learned. Raise it, or set tokenizer.kind to char."
            )
        inner, trainer = _untrained(config)
        seen = _Seen(texts)
        inner.train_from_iterator(seen, trainer)
        if not seen.text:
            raise DataError(f"the {name} side holds no text to make a tokenizer from. Check the data's paths.")
        if config.kind == "unigram":
            _make_deterministic(inner)
        elif not pieces:
            _number(inner, config.size)
        made = inner.get_vocab_size()
        if made <= len(SPECIALS):
            raise DataError(
                f"nothing on the {name} side is seen {config.min_count} times, so its vocabulary would be empty. "
                "Lower tokenizer.min_count."
            )
        if pieces and config.size is not None and made < config.size:
            raise DataError(
                f"tokenizer.size is {config.size}, but the {name} side has text for only {made} {config.kind} subwords."
                f" Set tokenizer.size to {made} or less, or leave it out for as many as there are."
            )
        return cls(config.kind, inner)

    def extended(self, texts: Iterable[str], min_count: int = 1) -> Tokenizer:
        """Return a vocabulary of words or characters with those it lacks in some texts at its end, frequent first."""
        counts = Counter(word for text in texts for word in self.unknown(text))
        for name in SPECIALS:
            counts.pop(name, None)
        new = sorted((word for word in counts if counts[word] >= min_count), key=lambda word: (-counts[word], word))
        state = json.loads(self._inner.to_str())
        state["model"]["vocab"] = {word: number for number, word in enumerate([*self._pieces, *new])}
        return Tokenizer(self.kind, rebuilt(self.kind, state))

    def __len__(self) -> int:
        return len(self._pieces)

    def encode(self, text: str) -> Encoded:
        """Encode one text, without special tokens."""
        return self.encode_all([text])[0]

    def encode_all(self, texts: Sequence[str]) -> list[Encoded]:
        """Encode many texts at once."""
        words, known = self._by_words(texts)
        found: list[Encoded | None] = [
            None
            if one is None
            else Encoded(
                [token for word in one for token in known[word]],
                [number for number, word in enumerate(one) for _ in known[word]],
            )
            for one in words
        ]
        odd = [row for row, one in enumerate(found) if one is None]
        for row, encoded in zip(odd, self.encode_whole([texts[row] for row in odd]), strict=True):
            found[row] = encoded
        return [one for one in found if one is not None]

    def encode_whole(self, texts: Sequence[str]) -> list[Encoded]:
        """Encode without the word cache: slower, correct for any spaces, the reference for `encode_all`."""
        with _surrogate_errors(texts):
            found = self._inner.encode_batch(list(texts), add_special_tokens=False)
        return [
            Encoded(_from_text(encoding.ids), word_numbers(text, [start for start, _ in encoding.offsets]))
            for text, encoding in zip(texts, found, strict=True)
        ]

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Encode many texts as tokens alone, which is faster."""
        words, known = self._by_words(texts)
        odd = iter(self._cut([text for text, one in zip(texts, words, strict=True) if one is None]))
        return [next(odd) if one is None else [token for word in one for token in known[word]] for one in words]

    def _by_words(self, texts: Sequence[str]) -> tuple[list[list[str] | None], dict[str, list[int]]]:
        """Return the words of each text, or None if it must be encoded as a whole; and the tokens of each word.

        No token crosses the space between two words, so a word has the same tokens in every sentence. A corpus has few
        distinct words, so caching them is ten times faster than tokenizing every sentence.
        """
        if self.kind == "char":
            return [None] * len(texts), {}
        if len(self._known) > _MAX_CACHED_WORDS:
            self._known = {}  # not cleared in place: other threads may still read the old one
        known = self._known
        words = [_plain_words(text) for text in texts]
        new = list({word for one in words if one for word in one if word not in known})
        if new:
            known.update(zip(new, self._cut(new), strict=True))
        return words, known

    def _cut(self, texts: list[str]) -> list[list[int]]:
        with _surrogate_errors(texts):
            found = self._inner.encode_batch_fast(texts, add_special_tokens=False)
        return [_from_text(encoding.ids) for encoding in found]

    def offsets(self, texts: Sequence[str]) -> list[Offsets]:
        """Return the offsets of the tokens of some texts."""
        with _surrogate_errors(texts):
            found = self._inner.encode_batch(list(texts), add_special_tokens=False)
        return [encoding.offsets for encoding in found]

    def unknown(self, *texts: str) -> list[str]:
        """Return the words or characters of some texts that become UNK, in order."""
        if in_pieces(self.kind):
            return []
        normalize = self._inner.normalizer.normalize_str
        return [
            normalize(text[start:end])
            for text, encoding in zip(texts, self._inner.encode_batch(texts, add_special_tokens=False), strict=True)
            for token, (start, end) in zip(_from_text(encoding.ids), encoding.offsets, strict=True)
            if token == UNK
        ]

    def decode(self, tokens: Sequence[int]) -> str:
        """Decode the tokens up to EOS, without special tokens."""
        return self.spelled(tokens, words=False)[0]

    def spelled(self, tokens: Sequence[int], *, words: bool = True) -> tuple[str, Encoded]:
        """Return the text of some tokens, and the tokens that are not special, each with its word number.

        Without `words`, the word numbers are left out.
        """
        kept = without_specials(tokens)
        pieces = [self._pieces[token] for token in kept]
        if not words:
            return self.joined(pieces), Encoded(kept, [])
        text, starts = self.placed(pieces)
        return text, Encoded(kept, word_numbers(text, starts))

    def pieces(self, tokens: Sequence[int]) -> list[str]:
        """Return each token in readable form; a space before it is shown as ▁."""
        visible = self._visible
        return [visible[token] for token in tokens]

    @property
    def vocabulary(self) -> list[str]:
        """All tokens as stored, special ones first: words literally, subwords in byte-level characters."""
        return list(self._pieces)

    @property
    def stored(self) -> Sequence[str]:
        """All tokens as stored, like `vocabulary`, without a copy."""
        return self._pieces

    @functools.cached_property
    def _visible(self) -> list[str]:
        return [*SPECIALS, *(shown(piece, self.kind) for piece in self._pieces[len(SPECIALS) :])]

    def joined(self, pieces: Sequence[str]) -> str:
        """Return the text of tokens as stored, without their offsets."""
        if in_pieces(self.kind):
            return text_of_bytes(pieces)
        return (" " if self.kind == "word" else "").join(pieces)

    def placed(self, pieces: Sequence[str]) -> tuple[str, list[int]]:
        """Return the text of tokens as stored, and the offset of each."""
        if in_pieces(self.kind):
            return spell_bytes(pieces)
        space = " " if self.kind == "word" else ""
        starts, at = [], 0
        for piece in pieces:
            starts.append(at)
            at += len(piece) + len(space)
        return space.join(pieces), starts

    def state(self) -> dict[str, Any]:
        """Return the tokenizer as plain data, for `restore`."""
        return {"kind": self.kind, "vocabulary": json.loads(self._inner.to_str())}

    @classmethod
    def restore(cls, state: dict[str, Any]) -> Tokenizer:
        """Rebuild a tokenizer from `state`; raise ValueError if that is invalid."""
        if not isinstance(state, dict) or state.keys() != {"kind", "vocabulary"}:
            raise ValueError("a side must have a kind and a vocabulary")
        return cls(state["kind"], rebuilt(state["kind"], state["vocabulary"]))


@dataclass(frozen=True)
class Tokenizers:
    """The tokenizers of both sides: one object if they share a vocabulary, None for a side without text."""

    source: Tokenizer | None
    target: Tokenizer | None
    labels: list[str] | None = None
    """The classes, if texts have labels."""

    @property
    def shared(self) -> bool:
        """Whether both sides share a vocabulary."""
        return self.source is self.target

    def dump(self) -> str:
        """Return the content of tokenizer.json; raise DataError if it would be too large to be read back."""
        sides: dict[str, Any] = {"source": self.source and self.source.state()}
        sides["target"] = "source" if self.shared else self.target and self.target.state()
        text = json.dumps({"saccade_tokenizer": _VERSION, **sides, "labels": self.labels}, ensure_ascii=False)
        if len(text.encode()) > _LARGEST:
            raise DataError(
                f"the vocabulary fills more than {_LARGEST >> 20} MB. Set tokenizer.size or raise tokenizer.min_count."
            )
        return text

    @classmethod
    def open(cls, path: Path) -> Tokenizers:
        """Read a tokenizer.json."""
        try:
            return cls.parse(read_text(path, _LARGEST, "a tokenizer"), str(path))
        except UnicodeDecodeError as error:
            raise CheckpointError(f"{path} is not text, so it is damaged. Copy the model folder again.") from error

    @classmethod
    def parse(cls, text: str, where: str) -> Tokenizers:
        """Parse the content of a tokenizer.json; `where` names the file in errors."""
        try:
            state = json.loads(text)
            version = state["saccade_tokenizer"]
            if version > _VERSION:
                raise CheckpointError(f"{where} was written by a newer saccade. {UPGRADE}")
            return cls._of(state)
        except CheckpointError:
            raise
        except Exception as error:  # the content is untrusted
            why = str(error) if type(error) is ValueError else type(error).__name__
            raise CheckpointError(
                f"{where} is not a tokenizer of saccade, or is cut short ({why}). Copy the model folder again, or "
                "train it anew."
            ) from error

    @classmethod
    def _of(cls, state: dict[str, Any]) -> Tokenizers:
        if state.keys() != {"saccade_tokenizer", "source", "target", "labels"} or state["saccade_tokenizer"] != 1:
            raise ValueError("it must have a version, source, target and labels")
        labels = state["labels"]
        if labels is not None:
            if not isinstance(labels, list) or not all(isinstance(label, str) and label for label in labels):
                raise ValueError("the labels must be texts")
            if len(set(labels)) != len(labels):
                raise ValueError("a label is repeated")
            "".join(labels).encode()  # raises ValueError for lone surrogates
        source = None if state["source"] is None else Tokenizer.restore(state["source"])
        if state["target"] == "source":
            return cls(source, source, labels)
        return cls(source, None if state["target"] is None else Tokenizer.restore(state["target"]), labels)


def words_of(text: str) -> list[str]:
    """Split a text into words at spaces."""
    return text.split()


def _plain_words(text: str) -> list[str] | None:
    """Return the words of a text if single spaces are its only whitespace, else None."""
    words = text.split()
    return words if " ".join(words) == text else None


@contextmanager
def _surrogate_errors(texts: Iterable[str]) -> Iterator[None]:
    """Turn the library's TypeError for lone surrogates into a DataError."""
    try:
        yield
    except TypeError:
        for text in texts:
            check_encodable(text, f"the text {shorten(text)}")
        raise


class _Seen:
    """Passes texts to a trainer, and records whether any of them was not blank."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts, self.text = texts, False

    def __iter__(self) -> Iterator[str]:
        for text in self._texts:
            self.text = self.text or bool(text.strip())
            yield text


def _untrained(config: TokenizerConfig) -> tuple[tokenizers.Tokenizer, Any]:
    """Build a tokenizer without a vocabulary, and its trainer."""
    inner = empty(config.kind, lowercase=config.lowercase, keep_punctuation=config.punctuation == "keep")
    if not in_pieces(config.kind):
        most = config.size or 2**31 - 1
        return inner, trainers.WordLevelTrainer(min_frequency=config.min_count, vocab_size=most, show_progress=False)
    common: dict[str, Any] = {"special_tokens": specials(), "show_progress": False}
    common["vocab_size"] = config.size or _DEFAULT_SIZE
    common["initial_alphabet"] = pre_tokenizers.ByteLevel.alphabet()
    if config.kind == "bpe":
        return inner, trainers.BpeTrainer(min_frequency=max(2, config.min_count), **common)
    return inner, trainers.UnigramTrainer(unk_token=SPECIALS[UNK], **common)


def _number(inner: tokenizers.Tokenizer, size: int | None) -> None:
    """Give the special tokens the first numbers of a word vocabulary.

    The trainer does so only if no word of the text is spelled like one of them.
    """
    ranked = sorted(inner.get_vocab().items(), key=lambda entry: entry[1])
    words = [word for word, _ in ranked if word not in SPECIALS]
    names = [*SPECIALS, *words][:size]
    inner.model = models.WordLevel({name: number for number, name in enumerate(names)}, unk_token=SPECIALS[UNK])
    inner.add_special_tokens(specials())


def _make_deterministic(inner: tokenizers.Tokenizer) -> None:
    """Make a trained unigram vocabulary deterministic.

    The trainer iterates over a randomly seeded hash table. The order changes the last digits of the scores, and the
    scores of bytes that no text needed: each is 0.0001 below the one before. Here these bytes share the lowest score.
    """
    vocabulary: list[tuple[str, float]] = json.loads(inner.to_str())["model"]["vocab"]
    specials, pieces = vocabulary[: len(SPECIALS)], dict(vocabulary[len(SPECIALS) :])
    alone = [piece for piece in pieces if len(piece) == 1]
    scores = np.array([pieces[piece] for piece in alone])
    stairs = (abs(abs(scores[:, None] - scores) - 1e-4) < 1e-9).any(1)
    lowest = float(scores.min(initial=0.0, where=stairs))
    pieces |= {piece: lowest for piece, stair in zip(alone, stairs, strict=True) if stair}
    settled = sorted(((piece, round(score, 6)) for piece, score in pieces.items()), key=lambda one: (-one[1], one[0]))
    inner.model = models.Unigram([(name, score) for name, score in specials] + settled, UNK, False)


def _from_text(tokens: list[int]) -> list[int]:
    # a word spelled like <pad>, <bos> or <eos> matches that entry of a word vocabulary: make it unknown
    return [UNK if token < UNK else token for token in tokens] if tokens and min(tokens) < UNK else tokens


def without_specials(tokens: Sequence[int]) -> list[int]:
    """Return the tokens up to EOS that are not special; UNK is kept."""
    words = list(tokens)
    end = words.index(EOS) if EOS in words else len(words)
    return [token for token in words[:end] if token >= UNK]
