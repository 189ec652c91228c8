"""Recipe: the settings that a recipe file may have, section by section."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from saccade.config import Config, Count, Fault, Index, Seed, Share, Width, check, merge
from saccade.corpora import CORPORA
from saccade.data.text import find_file
from saccade.data.tokenizer import TokenizerConfig
from saccade.errors import unknown_name
from saccade.models import MODELS, Family, RecurrentConfig
from saccade.recipes.versions import VERSION
from saccade.search.settings import SearchConfig
from saccade.train.settings import TrainConfig

__all__ = ["DataConfig", "Recipe", "Sections", "VectorsConfig", "complete_model"]

Files = str | list[str]


class DataConfig(Config):
    """Where examples come from: a built-in corpus, files, or a data set of the Hub."""

    corpus: str | None = None
    """A built-in corpus by name."""
    size: Count = 40000
    """Training examples of a built-in corpus."""
    seed: Seed = 1
    lengths: Annotated[tuple[Count, Count], Field(strict=False)] = (3, 20)
    """The shortest and the longest sentence of a built-in corpus, in words."""
    train: Files | None = None
    """Files: [train.en, train.de], a .tsv, a .jsonl; each also .gz, .xz, .zst; a third one holds gold alignments."""
    valid: Files | None = None
    test: Files | None = None
    folder: str | None = None
    """The folder that relative names of files start from; left out, the one you are in."""
    names: dict[str, str] = Field(default_factory=dict)
    """What stands for {target} and the like in names of files: with target: de, train.{target} is train.de."""
    hub: str | None = None
    """A data set of the Hugging Face Hub."""
    hub_config: str | None = None
    columns: dict[str, str] = Field(default_factory=dict)
    """Of JSON lines and the Hub: which column is source, target, label or links; such as source: translation.en."""
    first_word: Index = 0
    """The number of the first word in gold alignments."""
    held_out: Count = 1000
    """Validation and test examples of a built-in corpus; training examples set aside where no valid is given."""
    max_length: Count = 256
    """Training examples with more tokens than this on a side are left out."""
    captions: int = Field(4, ge=1, le=8)
    """Of scenes: the captions of each picture. The first is the plain one; with 1 there is one right answer."""
    picture_size: int = Field(64, ge=8, le=1024)
    """For captioning: pictures are brought to squares of so many pixels."""
    picture_fit: Literal["crop", "pad", "squash"] = "crop"
    """For captioning: how a picture that is no square becomes one."""
    cache: str | None = None
    """The folder for tokenised data; the user's cache folder if left out."""

    @model_validator(mode="after")
    def _one_origin(self) -> DataConfig:
        origins = [name for name in ("corpus", "train", "hub") if getattr(self, name) is not None]
        if len(origins) != 1:
            was = " and ".join(origins) if origins else "nothing"
            raise ValueError(f"say where the data come from: one of corpus, train or hub (there is {was})")
        if self.corpus is not None and self.corpus not in CORPORA:
            raise ValueError(str(unknown_name("corpus", self.corpus, CORPORA)))
        if not 3 <= self.lengths[0] <= self.lengths[1] <= 80:
            raise ValueError(f"lengths are {list(self.lengths)}, but must rise and lie between 3 and 80")
        return self

    @model_validator(mode="after")
    def _names_are_known(self) -> DataConfig:
        for file in (file for files in (self.train, self.valid, self.test) for file in _listed(files)):
            for name in _PLACE.findall(file) if self.names else ():
                if name not in self.names:
                    raise ValueError(f"{file} needs a name for {{{name}}}, but names has {', '.join(self.names)}")
        return self

    def paths(self, split: str) -> list[Path]:
        """The files of train, valid or test: in their folder, under the names they have there."""
        folder = Path(self.folder or "").expanduser()
        names = [_PLACE.sub(lambda place: self.names.get(place[1], place[0]), f) for f in _listed(getattr(self, split))]
        return [find_file(folder / name) for name in names]


class HeadConfig(Config):
    """For classification: from annotations to a class."""

    pooling: Literal["mean", "last", "attention"] = "attention"
    hidden: Width | None = None
    dropout: Share = 0.0


class VectorsConfig(Config):
    """For classification and language: word vectors to begin with."""

    file: str | None = None
    """In GloVe's text form, `word 0.1 -0.2 …`; also .gz, .xz, .zst."""
    tune: bool = True
    """Whether training changes them."""


class Sections(Config):
    """The sections as they are written; `model` and `objective` may leave settings out."""

    task: str
    """A task by name, or one of your own, `package.module:Class`."""
    data: DataConfig
    tokenizer: TokenizerConfig = TokenizerConfig()
    model: dict[str, Any] = Field(default_factory=dict)
    head: HeadConfig = HeadConfig()
    vectors: VectorsConfig = VectorsConfig()
    train: TrainConfig = TrainConfig()
    objective: dict[str, Any] = Field(default_factory=dict)
    """What training adds to the likelihood: terms by name, each with a weight and settings of its own."""
    search: SearchConfig = SearchConfig()
    note: str | None = None
    """What this recipe is for; `saccade recipes` shows it."""
    version: Count = VERSION


class Recipe(Sections):
    """A whole recipe; `model` is complete: the family's settings, with `preset`, the row they started from."""

    @property
    def preset(self) -> str | None:
        """The paper's model this one started from."""
        return self.model.get("preset")

    def model_settings(self) -> Config:
        """The model's settings."""
        return self.family.model_validate({k: v for k, v in self.model.items() if k != "preset"})

    @property
    def family(self) -> type[Family]:
        """The family of models that its settings are of."""
        return _family(self.preset)

    def dump(self) -> dict[str, Any]:
        """All settings as plain data."""
        return self.model_dump(mode="json")


def complete_model(settings: Any) -> tuple[dict[str, Any] | None, list[Fault]]:
    """A model's settings with the preset's and the family's filled in."""
    if not isinstance(settings, dict):
        return None, []  # told with the other sections
    preset = settings.get("preset")
    if preset is not None and (not isinstance(preset, str) or preset not in MODELS):
        return None, [Fault(("model", "preset"), str(unknown_name("preset", preset, MODELS)))]
    family = _family(preset)
    base = family.model_validate(MODELS[preset].settings if preset else {}).model_dump(mode="json")
    own = {name: value for name, value in settings.items() if name != "preset"}
    made, faults = check(family, merge(base, own), ("model",))
    if made is None:
        return None, faults
    return {"preset": preset, **made.model_dump(mode="json")}, []


def _family(preset: str | None) -> type[Family]:
    return MODELS[preset].family if preset else RecurrentConfig


_PLACE = re.compile(r"\{(\w+)\}")
"""What is to be replaced in the name of a file."""


def _listed(files: Files | None) -> list[str]:
    """One name or several."""
    return [files] if isinstance(files, str) else list(files or [])
