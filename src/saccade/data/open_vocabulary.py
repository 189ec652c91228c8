"""OpenVocabulary: a tokenizer extended by the unknown words of one source, for models that copy them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from saccade.batch import EOS, PAD, UNK
from saccade.data.spelling import word_numbers
from saccade.data.tokenizer import Encoded, Tokenizer, without_specials

__all__ = ["OpenVocabulary", "padded_copies"]


class OpenVocabulary:
    """An extended vocabulary: that of a tokenizer, then the unknown words of one source text.

    An unknown word has the number `len(tokenizer) + s`, where s is the position of its first token in the source. Both
    sides must share the tokenizer, so that a token of the source can be written as it is.
    """

    def __init__(self, tokenizer: Tokenizer, source: str | Sequence[str], tokens: Sequence[int] | None = None) -> None:
        """Extend a tokenizer. `tokens`: those of the source, if known; several texts require them."""
        self._tokenizer, size = tokenizer, len(tokenizer)
        texts = [source] if isinstance(source, str) else source
        tokens = tokenizer.tokens(texts)[0] if tokens is None else tokens
        places = [place for place, token in enumerate(tokens) if token == UNK]
        words = tokenizer.unknown(*texts) if places else []
        self._number: dict[str, int] = {}
        for place, word in zip(places, words, strict=True):
            self._number.setdefault(word, size + place)
        self._word = {number: word for word, number in self._number.items()}
        own = iter(words)
        written = [self._number[next(own)] if token == UNK else token for token in tokens]
        self.copies = [*(PAD if token < UNK else token for token in written), EOS]
        """The number that a copy of each source token writes; EOS gives EOS, a mark nothing."""

    def encode(self, text: str) -> Encoded:
        """Encode one text; its unknown words that occur in the source have their own numbers."""
        encoded = self._tokenizer.encode(text)
        if UNK not in encoded.tokens or not self._number:
            return encoded
        words = iter(self._tokenizer.unknown(text))
        tokens = [self._number.get(next(words), UNK) if token == UNK else token for token in encoded.tokens]
        return Encoded(tokens, encoded.words)

    def decode(self, tokens: Sequence[int]) -> str:
        """Decode the tokens up to EOS, without special tokens."""
        return self.spelled(tokens, words=False)[0]

    def spelled(self, tokens: Sequence[int], *, words: bool = True) -> tuple[str, Encoded]:
        """Return the text of some tokens, and the tokens that are not special, each with its word number."""
        kept = without_specials(tokens)
        if not self._word:
            return self._tokenizer.spelled([self._known(token) for token in kept], words=words)
        stored = self._tokenizer.stored
        pieces = [self._word.get(token) or stored[self._known(token)] for token in kept]
        if not words:
            return self._tokenizer.joined(pieces), Encoded(kept, [])
        text, starts = self._tokenizer.placed(pieces)
        return text, Encoded(kept, word_numbers(text, starts))

    def pieces(self, tokens: Sequence[int]) -> list[str]:
        """Return each token in readable form."""
        known = self._tokenizer.pieces([self._known(token) for token in tokens])
        return [self._word.get(token, piece) for token, piece in zip(tokens, known, strict=True)]

    def _known(self, token: int) -> int:
        # numbers of other sources occur: the distributions of a batch are as wide as its longest source
        return token if token < len(self._tokenizer) else UNK


def padded_copies(rows: Sequence[Sequence[int]], mask: Tensor) -> Tensor:
    """Pad the copies of some sources to the shape of their mask; added rows copy only EOS."""
    copies = torch.full(mask.shape, PAD)
    copies[len(rows) :, 0] = EOS
    for row, numbers in enumerate(rows):
        copies[row, : len(numbers)] = torch.as_tensor(numbers)
    return copies
