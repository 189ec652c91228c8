"""The parts of the tokenizers library that saccade uses, in the only combinations that it uses.

A model folder may be untrusted, but the library trusts what it reads: an unexpected normalizer can abort the process,
a large number can fill the memory, and a pattern can take forever. So the library never reads a file. `rebuilt` takes
the vocabulary from the file, checks it, and builds a new tokenizer from the parts below.
"""

from __future__ import annotations

import json
import math
from typing import Any, Literal

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

from saccade.batch import SPECIALS, UNK

__all__ = ["Kind", "empty", "in_pieces", "rebuilt", "specials"]

Kind = Literal["word", "char", "bpe", "unigram"]
_MODELS = {"word": "WordLevel", "char": "WordLevel", "bpe": "BPE", "unigram": "Unigram"}
_WORDS = r"\d+(?:[.,]\d+)+|[\w\p{M}-]+['’]?|[^\w\s\x1c-\x1f]"
"""Matches a number, a word with its final apostrophe (l' as in l'eau), or one punctuation mark."""
_UNSPACED = r"[^\s\x1c-\x1f]+"
"""Matches words as str.split does: U+001C to U+001F separate them too, which are no spaces in this regex library."""


def in_pieces(kind: str) -> bool:
    """Return whether tokens are byte-level subwords."""
    return kind in ("bpe", "unigram")


def specials() -> list[tokenizers.AddedToken]:
    """Return the special tokens in the type of the library."""
    return [tokenizers.AddedToken(name, special=True, normalized=False) for name in SPECIALS]


def empty(kind: Kind, *, lowercase: bool, keep_punctuation: bool) -> tokenizers.Tokenizer:
    """Build a tokenizer without a vocabulary."""
    steps: list[Any] = [normalizers.Lowercase()] if lowercase else []
    if in_pieces(kind):
        inner = tokenizers.Tokenizer(models.BPE() if kind == "bpe" else models.Unigram())
        steps.append(normalizers.Prepend(" "))  # so that a word is the same token at the start of a sentence
        inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        inner.post_processor = processors.ByteLevel(trim_offsets=True)
        inner.decoder = decoders.ByteLevel()
    else:
        inner = tokenizers.Tokenizer(models.WordLevel(unk_token=SPECIALS[UNK]))
        words = _UNSPACED if keep_punctuation else _WORDS
        pattern = words if kind == "word" else r"[\s\S]"
        inner.pre_tokenizer = pre_tokenizers.Split(tokenizers.Regex(pattern), "removed", invert=True)
    inner.normalizer = normalizers.Sequence(steps)
    return inner


def rebuilt(kind: str, state: Any) -> tokenizers.Tokenizer:
    """Rebuild a tokenizer from the JSON of its `to_str`; raise ValueError for JSON that saccade would not write."""
    if kind not in _MODELS:
        raise ValueError(f"the kind {kind!r} does not exist")
    model = state.get("model") if isinstance(state, dict) else None
    if not isinstance(model, dict) or model.get("type") != _MODELS[kind]:
        raise ValueError(f"a tokenizer of the kind {kind} needs a model of the type {_MODELS[kind]}")
    lowercase = {"type": "Lowercase"} in _inside(state, "normalizer", "normalizers", kind=list)
    inner = empty(kind, lowercase=lowercase, keep_punctuation=_pattern(state) == _UNSPACED)  # type: ignore[arg-type]
    inner.model = _model(kind, model)
    inner.add_special_tokens(specials())
    if json.loads(inner.to_str()) != state:
        raise ValueError("it holds parts or options that saccade does not write")
    return inner


def _pattern(state: dict[str, Any]) -> Any:
    cutter = state.get("pre_tokenizer")
    return _inside(cutter, "pattern", "Regex", kind=str) if isinstance(cutter, dict) else None


def _inside(state: dict[str, Any], outer: str, inner: str, *, kind: type) -> Any:
    """Return state[outer][inner] if it is a `kind`, else `kind()`."""
    part = state.get(outer)
    found = part.get(inner) if isinstance(part, dict) else None
    return found if isinstance(found, kind) else kind()


def _model(kind: str, model: dict[str, Any]) -> Any:
    """Build the library's model from a checked vocabulary."""
    if kind == "unigram":
        scored = _scored(model.get("vocab"))
        _check_pieces([piece for piece, _ in scored], kind)
        return models.Unigram(scored, UNK, False)
    vocabulary = _numbered(model.get("vocab"))
    _check_pieces(sorted(vocabulary, key=vocabulary.__getitem__), kind)
    if kind == "bpe":
        return models.BPE(vocabulary, _merges(model.get("merges"), vocabulary))
    return models.WordLevel(vocabulary, unk_token=SPECIALS[UNK])


def _numbered(vocabulary: Any) -> dict[str, int]:
    """Check a vocabulary of n tokens with the numbers 0 to n - 1."""
    if not isinstance(vocabulary, dict) or any(type(number) is not int for number in vocabulary.values()):
        raise ValueError("the vocabulary must be tokens with their numbers")
    if sorted(vocabulary.values()) != list(range(len(vocabulary))):
        raise ValueError(f"the numbers of {len(vocabulary)} tokens are not 0 to {len(vocabulary) - 1}")
    return vocabulary


def _scored(vocabulary: Any) -> list[tuple[str, float]]:
    """Check a list of tokens with their scores, in the order of their numbers."""
    if not isinstance(vocabulary, list):
        raise ValueError("the vocabulary must be a list of tokens with their scores")
    for entry in vocabulary:
        good = isinstance(entry, list) and len(entry) == 2 and isinstance(entry[0], str)
        if not good or type(entry[1]) is not float or not math.isfinite(entry[1]):
            raise ValueError(f"{entry!r:.40} is no token with its score")
    return [(token, score) for token, score in vocabulary]


def _merges(merges: Any, vocabulary: dict[str, int]) -> list[tuple[str, str]]:
    """Check BPE merges: pairs of tokens that form another token."""
    if not isinstance(merges, list):
        raise ValueError("the merges must be a list of pairs")
    for pair in merges:
        good = isinstance(pair, list) and len(pair) == 2 and all(isinstance(part, str) for part in pair)
        if not good or not {*pair, "".join(pair)} <= vocabulary.keys():
            raise ValueError(f"{pair!r:.40} is no pair of tokens that make another one")
    return [(left, right) for left, right in merges]


def _check_pieces(pieces: list[str], kind: str) -> None:
    """Raise ValueError for tokens that the kind cannot have, and for misplaced special tokens."""
    if tuple(pieces[: len(SPECIALS)]) != SPECIALS:
        raise ValueError("the special tokens are not the first ones")
    if "" in pieces or len(set(pieces)) != len(pieces):
        raise ValueError("a token is empty or repeated")
    "".join(pieces).encode()  # raises ValueError for lone surrogates
    if not in_pieces(kind):
        return
    alphabet = {*pre_tokenizers.ByteLevel.alphabet()}
    if not alphabet <= set(pieces) or not all(alphabet.issuperset(piece) for piece in pieces[len(SPECIALS) :]):
        raise ValueError("a byte has no token, or a token has a symbol that is no byte")
