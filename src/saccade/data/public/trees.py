"""The Stanford Sentiment Treebank, converted from trees to sentences with a leading label."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from saccade.data.example import Example
from saccade.data.text import find_file, numbered, shorten
from saccade.errors import DataError
from saccade.files import writing

__all__ = ["convert_trees", "sentence_of"]

_NEUTRAL = "2"
_LEAF = re.compile(r"\((\d) ([^()\s]+)\)")
_ROOT = re.compile(r"\((\d) ")


def convert_trees(origin: Path, out: Path) -> list[Path]:
    """Write stsa.fine.* with the five grades, and stsa.binary.* with 0 and 1 and without neutral sentences."""
    written = []
    for split in ("train", "dev", "test"):
        path = find_file(origin / f"{split}.txt")
        if split == "test" and not path.exists():
            continue
        examples = list(_sentences(path))
        binary = [
            Example(source=example.source, label=str(int((example.label or "") > _NEUTRAL)))
            for example in examples
            if example.label != _NEUTRAL
        ]
        for kind, part in (("fine", examples), ("binary", binary)):
            place = out / f"stsa.{kind}.{split}"
            with writing(place) as file:
                file.writelines(f"{example.label} {example.source}\n" for example in part)
            written.append(place)
    return written


def sentence_of(tree: str, where: str = "tree") -> Example:
    """Return the sentence of a tree such as (3 (2 It) (4 (2 's) (4 great))), with the label of the root.

    The trees write brackets in the text as -LRB- and -RRB-; these become brackets again.
    """
    root, words = _ROOT.match(tree), [word for _, word in _LEAF.findall(tree)]
    if root is None or not words or tree.count("(") != tree.count(")"):
        raise DataError(f"{where} is no labelled tree, such as (3 (2 It) (4 works)): {shorten(tree)}.")
    text = " ".join(words).replace("-LRB-", "(").replace("-RRB-", ")").replace("\\/", "/")
    return Example(source=text, label=root[1])


def _sentences(path: Path) -> Iterator[Example]:
    for number, line in numbered(path):
        if line.strip():
            yield sentence_of(line.strip(), f"{path}, line {number}")
