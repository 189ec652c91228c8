"""Trace: one prediction with its attention, steps and beams, as a JSON file; see docs/trace.md."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator
from pydantic_core import from_json

from saccade.config import Config, check, refuse
from saccade.data.pictures import open_picture
from saccade.errors import UPGRADE, DataError
from saccade.files import read_text, write_atomically
from saccade.look.glimpse_path import GlimpsePath
from saccade.look.picture import Picture
from saccade.look.sound import Spectrogram
from saccade.prediction import AttentionMaps
from saccade.prediction import Side as PlainSide
from saccade.trace.packed import Packed, check_total

__all__ = ["About", "BeamStep", "Beams", "Glimpses", "Side", "Site", "Step", "Trace"]

VERSION = 1
Candidate = Annotated[tuple[int, str, float], Field(strict=False)]
Copied = Annotated[tuple[int, float], Field(strict=False)]
Box = Annotated[tuple[float, float, float, float], Field(strict=False)]
Link = Annotated[tuple[int, int], Field(strict=False)]
_LARGEST = 64 << 20
"""Maximum bytes of a file."""
_TOKENS = 1 << 15
"""Maximum tokens of a Side; models take at most ten thousand."""
_PIXELS = 1 << 22
"""Maximum pixels of an image; models use far fewer."""
_FAR = 64
"""Maximum distance of a patch's edge, in images."""
_FAULTS = 8
"""Maximum validation errors listed: a hand-made file may have thousands."""


class About(Config):
    """The model that made the prediction."""

    name: str
    preset: str
    parameters: int = Field(ge=0)


class Side(Config):
    """What the rows or columns of attention weights stand for."""

    kind: Literal["text", "grid", "frames"] = "text"
    text: str
    tokens: list[str]
    words: list[str]
    word_of: list[int]
    marks: list[int] = Field(default_factory=list)
    """The positions of tokens that are not part of the text, such as the end token."""
    turn_of: list[int] | None = None
    """For a dialogue: each token's turn, from 0. The end token is in a turn of its own, the last."""
    grid: list[int] | None = None
    image: str | None = None
    seconds: float | None = None
    sound: str | None = None
    """For frames: the recording itself, as a data: URL of a .wav file."""

    @model_validator(mode="after")
    def _fits(self) -> Side:
        if max(len(self.tokens), len(self.words)) > _TOKENS:
            raise ValueError(f"there are more than {_TOKENS:,} tokens or words, too many to be shown")
        if len(self.word_of) != len(self.tokens):
            raise ValueError(f"word_of has {len(self.word_of)} numbers for {len(self.tokens)} tokens")
        if any(not 0 <= word <= len(self.words) for word in self.word_of):
            raise ValueError(f"word_of points outside the {len(self.words)} words")
        if any(not 0 <= mark < len(self.tokens) for mark in self.marks):
            raise ValueError(f"marks point outside the {len(self.tokens)} tokens")
        if self.turn_of is not None and len(self.turn_of) != len(self.tokens):
            raise ValueError(f"turn_of has {len(self.turn_of)} numbers for {len(self.tokens)} tokens")
        if self.grid is not None and (
            len(self.grid) != 2 or min(self.grid) < 1 or self.grid[0] * self.grid[1] != len(self.tokens)
        ):
            raise ValueError(f"grid is {self.grid}, but must be [rows, columns] whose product is {len(self.tokens)}")
        if self.image is not None and not self.image.startswith("data:image/"):
            raise ValueError("image must be a data:image/… URL, so that no network is needed")
        if self.sound is not None and not self.sound.startswith("data:audio/"):
            raise ValueError("sound must be a data:audio/… URL, so that no network is needed")
        return self

    def plain(self) -> PlainSide:
        """Return the `saccade.prediction.Side`, without marks, grid and image."""
        return PlainSide(self.tokens, self.words, self.word_of, self.turn_of or [])

    def picture(self) -> Picture | None:
        """Return the input image, if the side is an image grid and the file contains the image."""
        if self.kind != "grid" or self.grid is None or self.image is None:
            return None
        rows, columns = self.grid
        return Picture(self._pixels(), rows, columns, tiled=self.tokens[:1] == ["(query)"])

    def spectrogram(self) -> Spectrogram | None:
        """Return the spectrogram, if the side is a sound, the file contains its image and Pillow can decode it."""
        if find_spec("PIL") is None:  # a terminal needs no spectrogram
            return None
        if self.kind != "frames" or self.image is None or self.seconds is None:
            return None
        return Spectrogram(self._pixels(), self.seconds)

    def _pixels(self) -> NDArray[np.uint8]:
        assert self.image is not None
        try:
            data = b64decode(self.image.partition(";base64,")[2], validate=True)
        except ValueError as error:
            raise DataError(f"the trace's image is no base64 ({error}), so the file is damaged.") from error
        return open_picture(data, name="the trace's image", max_pixels=_PIXELS)


class Site(Config):
    """An attention site: one attention module of the model, with its weights."""

    name: str
    layer: int | None = None
    rows: str
    columns: str
    score: str
    align: str
    formula: str
    heads: int = Field(ge=1)
    weights: Packed = Field(repr=False)
    scores: Packed | None = Field(None, repr=False)

    @model_validator(mode="after")
    def _fits(self) -> Site:
        for name, part in (("weights", self.weights), ("scores", self.scores)):
            if part is not None and (len(part.shape) != 3 or part.shape[0] != self.heads):
                raise ValueError(f"{name} have the shape {part.shape}, but must be [{self.heads}, rows, columns]")
        if self.scores is not None and self.scores.shape != self.weights.shape:
            raise ValueError(f"scores have the shape {self.scores.shape}, but the weights {self.weights.shape}")
        return self


class Step(Config):
    """A generated token, and the most likely candidates of its step."""

    token: int
    text: str
    log_probability: float
    candidates: list[Candidate]
    norms: dict[str, float] = Field(default_factory=dict)
    copies: list[Copied] | None = None
    """For models that copy: positions of source tokens, each with the probability that the token is its copy."""


class BeamStep(Config):
    """The hypotheses of the beam after a step."""

    tokens: list[int]
    texts: list[str]
    parents: list[int]
    scores: list[float]


class Beams(Config):
    """The beam after each step, and the best hypothesis's index in it at each step."""

    width: int = Field(ge=1)
    steps: list[BeamStep]
    best: list[int]

    @model_validator(mode="after")
    def _fits(self) -> Beams:
        for number, step in enumerate(self.steps):
            for name, part in step:
                if len(part) != self.width:
                    raise ValueError(f"step {number} has {len(part)} {name} for a beam of {self.width}")
            if any(not 0 <= parent < self.width for parent in step.parents):
                raise ValueError(f"step {number} has parents outside a beam of {self.width}")
        if len(self.best) > len(self.steps) or any(not 0 <= slot < self.width for slot in self.best):
            raise ValueError("best has more steps than the beam, or an index outside of it")
        return self


class Glimpses(Config):
    """The glimpses of an image: what each patch covers, in fractions of the image, and the ink seen, from 0 to 1."""

    boxes: list[list[Box]]
    """For each glimpse, and each scale from the finest on: left, top, right, bottom. May lie outside of the image."""
    patches: Packed = Field(repr=False)
    """(glimpses, scales, size, size)."""
    labels: list[str]

    @model_validator(mode="after")
    def _fits(self) -> Glimpses:
        shape = self.patches.shape
        for step in self.boxes:
            if any(not -_FAR <= value <= _FAR for box in step for value in box):
                raise ValueError(f"a glimpse lies more than {_FAR} images away")
        if len(shape) != 4 or shape[0] != len(self.boxes) or any(len(each) != shape[1] for each in self.boxes):
            raise ValueError(f"patches have the shape {shape}, which does not fit the boxes")
        return self


class Trace(Config):
    """One prediction with its attention, steps and beams."""

    saccade_trace: int = VERSION
    task: str
    model: About
    options: dict[str, Any] = Field(default_factory=dict)
    text: str
    score: float
    sides: dict[str, Side]
    sites: list[Site]
    steps: list[Step] = Field(default_factory=list)
    vectors: dict[str, Packed] = Field(default_factory=dict, repr=False)
    beams: Beams | None = None
    gold: list[Link] | None = None
    left_out: list[str] = Field(default_factory=list)
    default_site: str | None = None
    """The site to show first; None: the last one that attends to the source."""
    glimpses: Glimpses | None = None
    """For a model of glimpses: these. The candidates of a step are its belief after the glimpse."""

    @model_validator(mode="after")
    def _fits(self) -> Trace:
        for site in self.sites:
            for side, size in ((site.rows, site.weights.shape[1]), (site.columns, site.weights.shape[2])):
                if side not in self.sides:
                    raise ValueError(f"the site {site.name} names the side {side!r}, which the trace lacks")
                tokens = len(self.sides[side].tokens)
                if size != tokens:
                    raise ValueError(f"the site {site.name} has {size} weights for the {tokens} tokens of {side}")
        if self.default_site is not None and self.default_site not in {site.name for site in self.sites}:
            raise ValueError(f"default_site is {self.default_site!r}, which is no site of the trace")
        source = len(self.sides["source"].tokens) if "source" in self.sides else 0
        if any(not 0 <= place < source for step in self.steps for place, _ in step.copies or ()):
            raise ValueError(f"copies point outside the {source} source tokens")
        if self.glimpses is not None:
            if len(self.glimpses.boxes) != len(self.steps):
                raise ValueError(f"there are {len(self.glimpses.boxes)} glimpses, but {len(self.steps)} steps")
            labels = len(self.glimpses.labels)
            if any(not 0 <= place < labels for step in self.steps for place, *_ in step.candidates):
                raise ValueError(f"a candidate is none of the {labels} labels")
        if "target" in self.sides and self.steps and len(self.steps) != len(self.sides["target"].tokens):
            raise ValueError(f"there are {len(self.steps)} steps for {len(self.sides['target'].tokens)} target tokens")
        return self

    @property
    def attention(self) -> AttentionMaps:
        """The attention maps, as `Prediction.attention` has them."""
        empty = Side(text="", tokens=[], words=[], word_of=[])
        source, target = (self.sides.get(name, empty).plain() for name in ("source", "target"))
        cross = tuple(site.name for site in self.sites if (site.rows, site.columns) == ("target", "source"))
        weights = {site.name: np.nan_to_num(site.weights.unpack(), copy=False) for site in self.sites}
        others = {name: side.plain() for name, side in self.sides.items() if name not in ("source", "target")}
        between = {site.name: (site.rows, site.columns) for site in self.sites}
        picture = self.sides["source"].picture() if "source" in self.sides else None
        if picture is not None and self.task == "drawing":
            picture = replace(picture, drawn=True)
        sound = self.sides["source"].spectrogram() if "source" in self.sides else None
        seen = (picture, sound, self.model.preset, self.default_site, self._path)
        return AttentionMaps(source, target, weights, cross, between, others, *seen)

    @property
    def _path(self) -> GlimpsePath | None:
        if self.glimpses is None:
            return None
        labels = self.glimpses.labels
        beliefs = np.zeros((len(self.steps), len(labels)))
        for row, step in zip(beliefs, self.steps, strict=True):
            for place, _, score in step.candidates:
                row[place] = np.exp(score)
        return GlimpsePath(np.array(self.glimpses.boxes), self.glimpses.patches.unpack(), beliefs, tuple(labels))

    def dump(self) -> str:
        """Return the trace as JSON text."""
        return json.dumps(self.model_dump(), ensure_ascii=False, separators=(",", ":"), allow_nan=False)

    def save(self, path: str | Path) -> None:
        """Write the file atomically. Raise DataError if it would be too large to be opened."""
        text = self.dump()
        if len(text.encode()) > _LARGEST:
            raise DataError(f"{path} would be larger than {_LARGEST >> 20} MB. Trace a shorter text.")
        write_atomically(Path(path), text)

    @classmethod
    def parse(cls, text: str, where: str = "the trace") -> Trace:
        """Parse the text that `dump` returns; `where` names the file in errors."""
        try:
            found = from_json(text, allow_inf_nan=False)
        except ValueError as error:
            raise DataError(
                f"{where} is not JSON ({error}). A trace is made by saccade look … -o trace.json."
            ) from error
        version = found.get("saccade_trace") if isinstance(found, dict) else None
        if not isinstance(version, int):
            raise DataError(f"{where} is not a trace: it has no saccade_trace. saccade look … -o trace.json makes one.")
        if version < VERSION:
            raise DataError(f"{where} has the trace version {version}, which does not exist. The first is {VERSION}.")
        if version > VERSION:
            raise DataError(
                f"{where} was written by a newer saccade (trace version {version}, this one knows {VERSION}). {UPGRADE}"
            )
        check_total(_shapes(found), f"{where} cannot be shown.")
        trace, faults = check(cls, found)
        if trace is None:
            raise DataError(str(refuse(faults[:_FAULTS], where)))
        return trace

    @classmethod
    def open(cls, path: str | Path) -> Trace:
        """Read a trace file."""
        try:
            return cls.parse(read_text(Path(path), _LARGEST, "a trace"), str(path))
        except UnicodeDecodeError as error:
            raise DataError(f"{path} is not UTF-8 text, so it is not a trace.") from error


def _shapes(found: dict[str, Any]) -> Iterator[list[int]]:
    """Yield the shapes that a file's arrays declare; skip malformed ones, which validation rejects later."""
    sites, vectors = found.get("sites"), found.get("vectors")
    arrays = [site.get(part) for site in _listed(sites) if isinstance(site, dict) for part in ("weights", "scores")]
    arrays += vectors.values() if isinstance(vectors, dict) else ()
    for array in arrays:
        shape = _listed(array.get("shape")) if isinstance(array, dict) else []
        if shape and all(type(size) is int and size >= 0 for size in shape):
            yield shape


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
