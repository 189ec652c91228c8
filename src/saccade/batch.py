"""Batch: the input of every model; also the special tokens."""

import zlib
from collections.abc import Hashable, Sequence
from dataclasses import field, fields, replace
from itertools import chain
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from saccade import masks, pytree
from saccade.deprecated import warn_renamed
from saccade.errors import DataError, ShapeError

__all__ = [
    "BOS",
    "COPY",
    "EOS",
    "NO_LABEL",
    "PAD",
    "SPECIALS",
    "UNK",
    "AskedBatch",
    "Batch",
    "DialogueBatch",
    "EpisodeBatch",
    "check_tokens",
    "read",
    "round_up",
]

PAD, BOS, EOS, UNK = range(4)
NO_LABEL = -100
"""The label of a padding row; torch's cross-entropy ignores it."""
COPY = "copy"
"""Name under which a Tape records the source positions that words were copied from."""
SPECIALS = ("<pad>", "<bos>", "<eos>", "<unk>")


def read(*axes: str | None, counts: bool = True) -> Any:
    """Declare a field of a Batch that a model reads.

    `axes` name the axes after the batch axis; axis `source` has the mask `source_mask`. `counts`: whether the field's
    values identify an example (see `Batch.row_keys`); a mask has False.
    """
    return field(default=None, metadata={"axes": axes, "counts": counts})


@pytree.node
class Batch:
    """A batch of examples, padded on the right.

    source (B, S) tokens, or (B, S, D) features for other inputs than text; source_mask (B, S) True = real.
    target (B, T+1): BOS, the words, EOS, padding. Language models have only a target.
    labels (B,): classes.
    pictures: images to caption, instead of a source: uint8 (B, H, W, 3), or (B, 3, H, W) as the image encoder's input.
    links (B, T, S): gold attention; each row sums to 1 or 0.
    copies (B, S): for models that copy, the extended-vocabulary number of each source token: that in the target
    vocabulary, or for an unknown word the size of the vocabulary plus its first position in this source.

    A subclass (a `pytree.node`) may add fields: tensors and lists with a row per example, or nodes of them. All
    methods handle the added fields too. Declare model inputs with `read(...)`: sampling seeds each row by them.
    """

    source: Tensor | None = read("source")
    source_mask: Tensor | None = read("source", counts=False)
    target: Tensor | None = None
    target_mask: Tensor | None = None
    labels: Tensor | None = None
    pictures: Tensor | None = read()
    links: Tensor | None = field(default=None, metadata={"axes": (None, "source")})
    copies: Tensor | None = read("source", counts=False)  # the source identifies an example

    def __post_init__(self) -> None:
        parts = {name: value for name, value in vars(self).items() if value is not None}
        if not self.reads and self.target is None:
            raise DataError("a Batch needs a source, a target or both, but has neither.")
        for name in ("source", "target"):
            _check_side(name, getattr(self, name), getattr(self, f"{name}_mask"))
        sizes = {name: _rows(value) for name, value in parts.items() if not name.endswith("_mask")}
        if len(set(sizes.values())) > 1:
            raise ShapeError(f"a Batch has one row per sentence, but its sizes differ: {sizes}.")

    @property
    def size(self) -> int:
        """B, the number of sentences."""
        return pytree.row_count(self)

    @property
    def reads(self) -> tuple[str, ...]:
        """The names of the model's input fields that are not None."""
        return tuple(part.name for part in fields(self) if _is_read(part) and getattr(self, part.name) is not None)

    @property
    def inputs(self) -> Tensor:
        """(B, T): the decoder's input under teacher forcing, the target without its last token."""
        return self._target()[:, :-1]

    @property
    def expected(self) -> Tensor:
        """(B, T): the tokens to predict, the target without BOS."""
        return self._target()[:, 1:]

    @property
    def expected_mask(self) -> Tensor:
        """(B, T): True where `expected` is real."""
        self._target()
        return self.target_mask[:, 1:]  # type: ignore[index]

    def _target(self) -> Tensor:
        if self.target is None:
            raise DataError("this Batch has no target. Teacher forcing needs Batch.from_lists(sources, targets).")
        return self.target

    def to(self, device: torch.device | str) -> Self:
        """Move all tensors to another device."""
        return pytree.to_device(self, device)

    def take(self, rows: Tensor | slice) -> Self:
        """Return some of the examples, with all their fields."""
        return pytree.slice_rows(self, rows) if isinstance(rows, slice) else pytree.take_rows(self, rows)

    def trimmed(self) -> Self:
        """Drop input positions that are padding in every row, from all fields whose `axes` name that axis."""
        changes: dict[str, Any] = {}
        for axis in {name for part in fields(self) for name in part.metadata.get("axes", ()) if name}:
            mask = getattr(self, f"{axis}_mask", None)
            if mask is None:
                continue
            size = int(mask.sum(1).max())
            for part in fields(self):
                value, axes = changes.get(part.name, getattr(self, part.name)), part.metadata.get("axes", ())
                if value is not None and axis in axes:
                    changes[part.name] = value.narrow(1 + axes.index(axis), 0, size)
        return replace(self, **changes)

    @property
    def shape_key(self) -> Hashable:
        """A key that is equal for batches of the same structure, shapes and dtypes: they can share a CUDA graph."""
        return pytree.shape_key(self)

    def row_keys(self) -> list[str]:
        """Return a key for each example that depends only on its own inputs, without padding: batch-invariant."""
        keys = [""] * self.size
        for name in self.reads:
            value, mask = getattr(self, name), getattr(self, f"{name}_mask", None)
            own = [_row_key(value, row, mask) for row in range(self.size)]
            keys = [key + more for key, more in zip(keys, own, strict=True)]
        return keys

    @classmethod
    def from_lists(
        cls,
        sources: Sequence[Sequence[int]] | None = None,
        targets: Sequence[Sequence[int]] | None = None,
        labels: Sequence[int] | None = None,
    ) -> "Batch":
        """Pad lists of tokens into a batch; add BOS and EOS to targets, but nothing to sources."""
        source = target = source_mask = target_mask = None
        if sources is not None:
            source, source_mask = _pad("source", sources)
        if targets is not None:
            target, target_mask = _pad("target", [[BOS, *words, EOS] for words in targets])
        return cls(source, source_mask, target, target_mask, None if labels is None else torch.tensor(list(labels)))

    @classmethod
    def of(cls, *args: Any, **kwargs: Any) -> "Batch":
        """Return `from_lists(…)`; deprecated alias."""
        warn_renamed("Batch.of", "Batch.from_lists")
        return cls.from_lists(*args, **kwargs)

    @classmethod
    def blank(cls, size: int) -> "Batch":
        """Return a batch whose targets are BOS alone, from which a language model starts to generate."""
        target = torch.full((size, 1), BOS)
        return cls(target=target, target_mask=target > PAD)


@pytree.node
class AskedBatch(Batch):
    """Passages (`source`) and questions.

    question (B, Q) tokens. matches (B, S, F): features of the passage's tokens, from 0 to 1. spans (B, K, 2): first and
    last token of each acceptable answer, -1 for padding. The passage's EOS is the answer of a question that has none.
    evidence (B, E, 2): the same of each sentence that the answer follows from, in the order of reasoning.
    """

    question: Tensor | None = read("question")
    question_mask: Tensor | None = read("question", counts=False)
    matches: Tensor | None = read("source", None, counts=False)  # computed from source and question
    spans: Tensor | None = None
    evidence: Tensor | None = None


@pytree.node
class DialogueBatch(Batch):
    """Histories of dialogues (`source`).

    turns (B, K, L): for models that read turn by turn, nothing but room for K turns of up to L words. On a GPU, a
    model would have to wait to read these numbers from the source.
    """

    turns: Tensor | None = read(None, None, counts=False)


@pytree.node
class EpisodeBatch(Batch):
    """Episodes of few-shot learning: labeled images (the support), and images to classify.

    source (B, S): the code of each labeled image's label. support (B, S, H, W, C) and queries (B, Q, H, W, C): bytes.
    labels (B, Q): the code of each query's label, NO_LABEL for padding.
    """

    support: Tensor | None = read("source", None, None, None, counts=False)  # its padding is made of images
    queries: Tensor | None = read()


def _is_read(part: Any) -> bool:
    return bool(part.metadata.get("counts", False))


def _rows(value: Any) -> int:
    return len(value) if isinstance(value, list) else pytree.row_count(value)


def _row_key(value: Any, row: int, mask: Tensor | None) -> str:
    """Return a key for a row of a field: its tokens, or a checksum of its bytes."""
    if isinstance(value, list):
        return repr(value[row])
    if isinstance(value, Tensor) and mask is not None:
        return str(value[row][mask[row]].tolist())
    bits = [part[row].cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes() for part in pytree.leaves(value)]
    return "".join(str(zlib.crc32(part)) for part in bits)


def _pad(name: str, rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    if len(rows) == 0:
        raise DataError(f"the {name} side of the batch has no sentences. Pass at least one.")
    for number, row in enumerate(rows):
        if not isinstance(row, Sequence) or isinstance(row, str) or not _are_whole(row):
            raise DataError(
                f"{name} {number} of the batch is {row!r}, but a sentence is a list of tokens, whole numbers. "
                "Tokenize text first; a single sentence is a list of one list."
            )
        if len(row) == 0:
            raise DataError(f"{name} {number} of the batch is empty. Leave empty lines out, or end each with EOS.")
    lengths = torch.tensor([len(row) for row in rows])
    mask = masks.padding(lengths)
    tokens = torch.full(mask.shape, PAD)
    flat = np.array(list(chain.from_iterable(rows)), np.int64)  # five times as fast as torch.tensor
    tokens[mask] = torch.from_numpy(flat)
    return tokens, mask


def _are_whole(row: Sequence[Any]) -> bool:
    # fast path: comparing the set of types is much faster than isinstance for each token
    return set(map(type, row)) == {int} or all(isinstance(token, int) for token in row)


def _check_side(name: str, values: Tensor | None, mask: Tensor | None) -> None:
    if values is None:
        return
    shape = tuple(values.shape)
    if values.dim() not in (2, 3) or (name == "target" and values.dim() != 2):
        raise ShapeError(
            f"{name} is {shape}, but must be (B, S) tokens"
            + (" or (B, S, D) numbers." if name == "source" else ".")
            + " Batch.from_lists(sources, targets) pads lists of tokens."
        )
    if 0 in shape[:2]:
        raise DataError(f"{name} is {shape}: it is empty. A batch needs at least one sentence with at least one token.")
    if mask is None or mask.shape != values.shape[:2]:
        was = "missing" if mask is None else str(tuple(mask.shape))
        raise ShapeError(
            f"{name}_mask is {was}, but {name} is {shape}, so it must be {shape[:2]}. "
            "Build it with masks.padding(lengths)."
        )
    if mask.dtype != torch.bool:
        raise ShapeError(f"{name}_mask is {mask.dtype}, but masks are torch.bool, True = keep.")
    if values.dim() == 2 and values.dtype not in (torch.int64, torch.int32):
        raise ShapeError(f"{name} is {values.dtype}, but tokens are int64. Convert it with .long().")
    if mask.device.type == "cpu" and not torch.compiler.is_compiling():
        _check_padding(name, mask)


def _check_padding(name: str, mask: Tensor) -> None:
    lengths = masks.lengths_of(mask)
    if (empty := (lengths == 0).nonzero()).numel():
        raise DataError(f"{name} {int(empty[0])} of the batch is empty: its mask keeps nothing.")
    if not torch.equal(mask, masks.padding(lengths, mask.shape[1])):
        row = int((mask != masks.padding(lengths, mask.shape[1])).any(1).nonzero()[0])
        raise ShapeError(f"{name}_mask row {row} has a gap. Padding goes on the right, as masks.padding makes it.")


def round_up(length: int) -> int:
    """Round a length up to a multiple of 4 up to 64, of 8 up to 128, of 16 up to 256, and so on.

    With few distinct shapes, CUDA graphs can be replayed.
    """
    step = 1 << max((length - 1).bit_length() - 4, 2)
    return -(-max(length, 1) // step) * step


def check_tokens(name: str, tokens: Tensor, vocabulary: int) -> None:
    """Raise if a token is outside the vocabulary; on a GPU, where reading tokens would sync, check nothing."""
    if tokens.device.type != "cpu" or torch.compiler.is_compiling() or tokens.numel() == 0:
        return
    low, high = int(tokens.min()), int(tokens.max())
    if low < 0 or high >= vocabulary:
        wrong = low if low < 0 else high
        raise DataError(
            f"{name} holds token {wrong}, but the model's vocabulary is 0..{vocabulary - 1}. "
            "Tokenize with the tokenizer the model was built with."
        )
