"""Recipe: the settings of a recipe file, section by section."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from saccade.config import Config, Count, Fault, Index, Seed, Share, Width, check, merge
from saccade.corpora import CORPORA
from saccade.corpora.spoken import SpokenConfig
from saccade.corpora.stream import LONGEST, SHORTEST
from saccade.data.episodes import EpisodesConfig
from saccade.data.fields import FieldsConfig
from saccade.data.sound_config import SoundConfig
from saccade.data.summary_targets import SummaryConfig
from saccade.data.text import find_file
from saccade.data.tokenizer import TokenizerConfig
from saccade.data.turns import ChatConfig
from saccade.errors import unknown_name
from saccade.models import MODELS, Family, RecurrentConfig
from saccade.models.pointer import OutputConfig
from saccade.models.pointer_network import PointsConfig
from saccade.models.span_reader import SpanReaderConfig
from saccade.recipes.versions import VERSION
from saccade.search.search_config import SearchConfig
from saccade.train.train_config import TrainConfig

__all__ = ["DataConfig", "EmbeddingsConfig", "Recipe", "Sections", "complete_model"]

Files = str | list[str]
_Text = Annotated[str, Field(min_length=1, max_length=20_000)]


class DataConfig(Config):
    """Where examples come from: a built-in corpus, files, or a dataset of the Hugging Face Hub."""

    corpus: str | None = None
    """Name of a built-in corpus."""
    size: Count = 40000
    """Number of training examples of a built-in corpus."""
    seed: Seed = 1
    lengths: Annotated[tuple[Count, Count], Field(strict=False)] = (3, 20)
    """Least and most words, turns, or strokes of alphabets; default of articles: 60 to 160, of stories: 40 to 120, of
    talk: 2 to 14, of alphabets: 2 to 4."""
    train: Files | None = None
    """Files: [train.en, train.de], a .tsv, a .jsonl; each also .gz, .xz, .zst; a third one holds gold alignments."""
    valid: Files | None = None
    test: Files | None = None
    folder: str | None = None
    """Folder of relative file names; default: the folder of the recipe, or else the working directory."""
    placeholders: dict[str, str] = Field(default_factory=dict)
    """Values of placeholders in file names: with target: de, train.{target} is train.de."""
    hub: str | None = None
    """Name of a dataset on the Hugging Face Hub."""
    hub_config: str | None = None
    columns: dict[str, str] = Field(default_factory=dict)
    """For .jsonl, .tsv and the Hub: the columns of source, target, label or links; such as source: translation.en. For
    .tsv, numbers from 1, or names in the first line."""
    alignment_base: Index = 0
    """Index of the first word in gold alignments."""
    held_out: Count = 1000
    """Validation and test examples of a built-in corpus; without `valid`, maximum training examples held out for it."""
    max_length: Count = 256
    """Maximum tokens on a side of a training example; longer examples are left out."""
    captions: int = Field(4, ge=1, le=8)
    """For scenes: captions per image. The first is the plain one; with 1, each image has one correct caption."""
    unanswerable: Share = 0.0
    """For stories: share of the questions that the story does not answer."""
    spoken: SpokenConfig = SpokenConfig()
    image_size: int = Field(64, ge=8, le=1024)
    """For images: size in pixels; all images become squares of this side."""
    image_fit: Literal["crop", "pad", "squash"] = "crop"
    """How an image becomes square."""
    cache: str | None = None
    """Folder for tokenized data; default: the user's cache folder."""

    @field_validator("columns", mode="before")
    @classmethod
    def _column_numbers(cls, given: Any) -> Any:
        """Accept column numbers."""
        return {k: str(v) if type(v) is int else v for k, v in given.items()} if isinstance(given, dict) else given

    @model_validator(mode="before")
    @classmethod
    def _usual_lengths(cls, given: Any) -> Any:
        """Fill in the lengths that are usual for the corpus."""
        if isinstance(given, dict) and given.get("corpus") in [*CORPORA] and "lengths" not in given:
            return given | {"lengths": CORPORA[given["corpus"]].lengths}
        return given

    @model_validator(mode="after")
    def _one_origin(self) -> DataConfig:
        origins = [name for name in ("corpus", "train", "hub") if getattr(self, name) is not None]
        if len(origins) != 1:
            was = " and ".join(origins) if origins else "nothing"
            raise ValueError(f"say where the data come from: one of corpus, train or hub (there is {was})")
        if self.corpus is not None and self.corpus not in CORPORA:
            raise ValueError(str(unknown_name("corpus", self.corpus, CORPORA)))
        shortest, longest = CORPORA[self.corpus].bounds if self.corpus is not None else (SHORTEST, LONGEST)
        if not shortest <= self.lengths[0] <= self.lengths[1] <= longest:
            raise ValueError(
                f"lengths are {list(self.lengths)}, but must rise and lie between {shortest} and {longest}"
            )
        return self

    @model_validator(mode="after")
    def _placeholders_are_known(self) -> DataConfig:
        for file in (file for files in (self.train, self.valid, self.test) for file in _listed(files)):
            for name in _PLACE.findall(file) if self.placeholders else ():
                if name not in self.placeholders:
                    raise ValueError(
                        f"{file} needs a value for {{{name}}}, but placeholders has {', '.join(self.placeholders)}"
                    )
        return self

    def paths(self, split: str) -> list[Path]:
        """Return the files of train, valid or test: placeholders replaced, in `folder` or else in this one."""
        folder = Path(self.folder or "").expanduser()
        names = [
            _PLACE.sub(lambda place: self.placeholders.get(place[1], place[0]), f)
            for f in _listed(getattr(self, split))
        ]
        return [_present(folder, name) for name in names]


class ClassifierConfig(Config):
    """For classification: pooling of encoder outputs and the layers that predict the class."""

    pooling: Literal["mean", "last", "attention"] = "attention"
    hidden: Width | None = None
    dropout: Share = 0.0


class EmbeddingsConfig(Config):
    """For classification and language modeling: pretrained word vectors."""

    file: str | None = None
    """File in GloVe's text format, `word 0.1 -0.2 …`; also .gz, .xz, .zst."""
    trainable: bool = True
    """Whether training updates the vectors."""


class StartConfig(Config):
    """Fine-tuning: the trained model to start from. Settings that the recipe leaves out come from that model."""

    model: str | None = None
    """Model folder, or the name of a shipped model; `init_from: runs/first` is short for this setting alone."""
    vocabulary: Literal["keep", "extend"] = "keep"
    """Whether new words of the training data join a vocabulary of words or characters."""


class Sections(Config):
    """The sections as written; `model` and `objective` may leave out settings."""

    task: str
    """Name of a task, or import path of your own, `package.module:Class`."""
    data: DataConfig
    tokenizer: TokenizerConfig = TokenizerConfig()
    model: dict[str, Any] = Field(default_factory=dict)
    output: OutputConfig = OutputConfig()
    classifier: ClassifierConfig = ClassifierConfig()
    reader: SpanReaderConfig = SpanReaderConfig()
    chat: ChatConfig = ChatConfig()
    summary: SummaryConfig = SummaryConfig()
    points: PointsConfig = PointsConfig()
    episodes: EpisodesConfig = EpisodesConfig()
    field: FieldsConfig = FieldsConfig()
    sound: SoundConfig = SoundConfig()
    embeddings: EmbeddingsConfig = EmbeddingsConfig()
    init_from: StartConfig = StartConfig()
    train: TrainConfig = TrainConfig()
    objective: dict[str, Any] = Field(default_factory=dict)
    """Terms added to the cross-entropy, by name, each with a weight and its own settings."""
    search: SearchConfig = SearchConfig()
    examples: list[_Text | dict[str, _Text]] = Field(default_factory=list, max_length=12)
    """Inputs to try: texts, {question: …, passage: …}, or images and sounds as data: URLs; default: the corpus's."""

    @field_validator("init_from", mode="before")
    @classmethod
    def _short_start(cls, given: Any) -> Any:
        """Accept the model folder alone."""
        return {"model": given} if isinstance(given, str) else given

    note: str | None = None
    """Purpose of the recipe, shown by `saccade recipes`."""
    takes: str | None = None
    """How long training takes, such as 2 min on 2 cores, shown by `saccade recipes`; not inherited from a base."""
    version: Count = VERSION


class Recipe(Sections):
    """A complete recipe; `model` holds all settings of its model family, and `preset`, the name they started from."""

    @property
    def preset(self) -> str | None:
        """The preset, a paper's model, that the model settings started from."""
        return self.model.get("preset")

    def model_settings(self) -> Config:
        """Return the model settings, validated, without `preset`."""
        return self.family.model_validate({k: v for k, v in self.model.items() if k != "preset"})

    @property
    def family(self) -> type[Family]:
        """The model family, whose config class has these settings."""
        return _family(self.preset)

    def dump(self) -> dict[str, Any]:
        """Return all settings as JSON-compatible data."""
        return self.model_dump(mode="json")


def complete_model(settings: Any) -> tuple[dict[str, Any] | None, list[Fault]]:
    """Return a model's settings, completed from its preset and family, or None; and the faults in them."""
    if not isinstance(settings, dict):
        return None, []  # reported with the other sections
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
"""A placeholder in a file name."""


def _present(folder: Path, name: str) -> Path:
    """Return a file of the folder, or the one of the working directory if only that exists; relative if inside it."""
    found, here = find_file(folder / name), find_file(Path(name))
    if here.exists() and not found.exists():
        return here
    return found.relative_to(Path.cwd()) if found.is_relative_to(Path.cwd()) else found


def _listed(files: Files | None) -> list[str]:
    """Return one name or several as a list."""
    return [files] if isinstance(files, str) else list(files or [])
