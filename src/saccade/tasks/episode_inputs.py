"""Inputs of few-shot learning: labeled images, the support, and an image to classify."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.data.labeled_images import read_folder
from saccade.errors import DataError
from saccade.tasks.inputs import IMAGE, Modality, Opened, json_object, shown

__all__ = ["EPISODE", "EpisodeInput", "EpisodeModality", "Support"]

_HELP = '{"support": a folder with a folder of images for each label, or {"label": [images]}, "query": an image}'


class Support:
    """Labeled images, given as a folder of folders or as lists of images by label. They are read once, when needed."""

    def __init__(self, given: Any) -> None:
        self.given = given
        self._pairs: list[tuple[str, Any]] | None = None
        self._read: dict[Any, Any] = {}

    def fault(self) -> str | None:
        """Return what is wrong with it; None if nothing is."""
        if isinstance(self.given, str | Path):
            return None
        if not isinstance(self.given, Mapping) or not self.given:
            return f"has {shown(self.given)} as its support, but this model reads {_HELP}."
        for label, images in self.given.items():
            if not isinstance(label, str) or not isinstance(images, list | tuple) or not images:
                return f"has {shown(images)} as the images of {shown(label)}, but that is a list of one or more."
            for image in images:
                if (why := IMAGE.fault(image)) is not None:
                    return f"has an image of {shown(label)} that {why}"
        return None

    @property
    def pairs(self) -> list[tuple[str, Any]]:
        """The labels and their images, sorted by label."""
        if self._pairs is None:
            if isinstance(self.given, str | Path):
                if not Path(self.given).is_dir():
                    raise DataError(f"{self.given} is no folder. Name one that has a folder of images for each label.")
                found = [(example.label or "", _path(example.image)) for example in read_folder(Path(self.given))]
            else:
                found = [(label, image) for label, images in sorted(self.given.items()) for image in images]
            self._pairs = found
        return self._pairs

    @property
    def labels(self) -> list[str]:
        """The different labels, sorted."""
        return sorted({label for label, _ in self.pairs})

    def pixels(self, how: Any, read: Any) -> NDArray[np.uint8]:
        """Return all images, read by `read` and cached by `how`."""
        if how not in self._read:
            self._read[how] = np.stack([read(image) for _, image in self.pairs])
        found: NDArray[np.uint8] = self._read[how]
        return found


class EpisodeInput(NamedTuple):
    """An opened input."""

    support: Support
    images: NDArray[np.uint8]
    """Images of the support (S, H, W, C)."""
    query: NDArray[np.uint8]

    @property
    def nbytes(self) -> int:
        """Bytes of the query; the images of a support are shared by its queries."""
        return self.query.nbytes


class EpisodeModality(Modality):
    """Labeled images and an image to classify."""

    name = "episode"
    large = True

    def is_one(self, given: Any) -> bool:
        return isinstance(given, Mapping) or super().is_one(given)

    def fault(self, given: Any) -> str | None:
        if isinstance(given, Opened):
            return None
        if not isinstance(given, Mapping):
            return f"is {shown(given)}, but this model reads {_HELP}."
        if more := [name for name in given if name not in ("support", "query")]:
            return f"has the field {shown(more[0])}, but this model reads {_HELP}."
        support = given.get("support")
        if (why := (support if isinstance(support, Support) else Support(support)).fault()) is not None:
            return why
        why = IMAGE.fault(given.get("query"))
        return None if why is None else f"has a query that {why}"

    def of_line(self, line: str) -> Any:
        """Return the input of a line of JSON; return anything else unchanged, for `fault` to report."""
        found = json_object(line)
        return line if found is None else found

    def of_words(self, words: Sequence[str]) -> list[Any]:
        """Return the inputs of a folder of labeled images and the images to classify, or of JSON objects."""
        if len(words) < 2 or words[0].lstrip().startswith("{"):
            return super().of_words(words)
        support = Support(words[0])
        return [{"support": support, "query": word} for word in words[1:]]


EPISODE = EpisodeModality()


def _path(image: Any) -> Path:
    found: Path = image.path
    return found
