"""Recipe: what a recipe file means."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from saccade.config import Config, Count, Fault, Index, Seed, Share, Width, check, merge, refuse
from saccade.data.corpora import CORPORA
from saccade.data.text import find_file
from saccade.data.tokenizer import TokenizerConfig
from saccade.errors import unknown_name
from saccade.models import CAPTIONERS, MODELS, RecurrentConfig
from saccade.recipes import RecipeText, override, read_recipe
from saccade.search.settings import SearchConfig
from saccade.train.settings import TrainConfig

__all__ = ["DataConfig", "Recipe", "TaskName", "load_recipe", "parse_recipe"]

TaskName = Literal["translation", "language", "classification", "captioning"]
METRICS = {
    "translation": ("loss", "bleu", "chrf", "ter", "aer"),
    "language": ("loss", "perplexity", "perplexity_per_word", "bits_per_character"),
    "classification": ("loss", "accuracy", "macro_f1"),
    "captioning": ("loss", "cider_d", "bleu4", "rouge_l", "meteor_lite", "exact"),
}
"""What validation can choose the best model by."""
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


class _Sections(Config):
    task: TaskName
    data: DataConfig
    tokenizer: TokenizerConfig = TokenizerConfig()
    model: dict[str, Any] = Field(default_factory=dict)
    head: HeadConfig = HeadConfig()
    vectors: VectorsConfig = VectorsConfig()
    train: TrainConfig = TrainConfig()
    search: SearchConfig = SearchConfig()
    note: str | None = None
    """What this recipe is for; `saccade recipes` shows it."""
    version: Count = 1


class Recipe(_Sections):
    """A whole recipe; `model` is complete: the family's settings, with `preset`, the row they started from."""

    @property
    def preset(self) -> str | None:
        """The paper's model this one started from."""
        return self.model.get("preset")

    def model_settings(self) -> Config:
        """The model's settings."""
        return _family(self.preset).model_validate({k: v for k, v in self.model.items() if k != "preset"})

    def dump(self) -> dict[str, Any]:
        """All settings as plain data."""
        return self.model_dump(mode="json")


def load_recipe(name: str, changes: list[str] | None = None) -> Recipe:
    """A recipe by its file or name, with settings changed as by --set."""
    return parse_recipe(override(read_recipe(name), changes or []))


def parse_recipe(text: RecipeText) -> Recipe:
    """A recipe checked as a whole; all faults are told at once."""
    sections, faults = check(_Sections, text.settings)
    model, model_faults = _complete_model(text.settings.get("model", {}))
    faults += model_faults
    if sections is not None and model is not None:
        faults += _combinations(sections, model)
    if faults or sections is None or model is None:
        raise refuse(faults, text.where, text.lines)
    return Recipe(**{**{name: getattr(sections, name) for name in _Sections.model_fields}, "model": model})


def _complete_model(settings: Any) -> tuple[dict[str, Any] | None, list[Fault]]:
    """A model's settings with the preset's and the family's filled in."""
    if not isinstance(settings, dict):
        return None, []  # told with the other sections
    preset = settings.get("preset")
    presets = {**MODELS, **CAPTIONERS}
    if preset is not None and (not isinstance(preset, str) or preset not in presets):
        return None, [Fault(("model", "preset"), str(unknown_name("preset", preset, presets)))]
    family = _family(preset)
    base = family.model_validate(presets[preset].settings if preset else {}).model_dump(mode="json")
    own = {name: value for name, value in settings.items() if name != "preset"}
    made, faults = check(family, merge(base, own), ("model",))
    if made is None:
        return None, faults
    return {"preset": preset, **made.model_dump(mode="json")}, []


def _family(preset: str | None) -> type[Config]:
    return {**MODELS, **CAPTIONERS}[preset].family if preset else RecurrentConfig


def _combinations(recipe: _Sections, model: dict[str, Any]) -> list[Fault]:
    """What single sections cannot see."""
    faults = []
    if recipe.data.corpus is not None and (made_for := CORPORA[recipe.data.corpus].task) != recipe.task:
        faults.append(Fault(("data", "corpus"), f"{recipe.data.corpus} is a corpus for {made_for}, not {recipe.task}"))
    if (preset := model["preset"]) in CAPTIONERS or recipe.task == "captioning":
        if recipe.task != "captioning":
            faults.append(Fault(("model", "preset"), f"{preset} looks at pictures, which only captioning has"))
        elif preset not in CAPTIONERS:
            known = ", ".join(CAPTIONERS)
            faults.append(Fault(("model", "preset"), f"captioning needs a model that looks at pictures: {known}"))
    if recipe.train.guided_alignment and recipe.task != "translation":
        faults.append(Fault(("train", "guided_alignment"), "only translation has gold alignments: set it to 0"))
    if recipe.train.mirror and recipe.task != "captioning":
        faults.append(Fault(("train", "mirror"), "only captioning has pictures to mirror: set it to 0"))
    if recipe.vectors.file is not None and recipe.task not in ("classification", "language"):
        faults.append(Fault(("vectors", "file"), "only classification and language take word vectors: leave it out"))
    if recipe.vectors.file is not None and recipe.tokenizer.kind != "word":
        faults.append(Fault(("vectors", "file"), "word vectors are of whole words: set tokenizer.kind to word"))
    if recipe.train.metric not in METRICS[recipe.task]:
        why = unknown_name(f"metric of {recipe.task}", recipe.train.metric, METRICS[recipe.task])
        faults.append(Fault(("train", "metric"), str(why)))
    if recipe.train.scheduled_sampling and recipe.task == "classification":
        faults.append(Fault(("train", "scheduled_sampling"), "a classifier writes no words: set it to 0"))
    tied = model.get("tied") and "heads" in (model.get("attention") or {}) and "feed_forward" in model
    if recipe.task == "translation" and tied and not recipe.tokenizer.shared:
        faults.append(
            Fault(("model", "tied"), "one matrix for both sides needs tokenizer.shared: true, or set tied to false")
        )
    return faults


_PLACE = re.compile(r"\{(\w+)\}")
"""What is to be replaced in the name of a file."""


def _listed(files: Files | None) -> list[str]:
    """One name or several."""
    return [files] if isinstance(files, str) else list(files or [])
