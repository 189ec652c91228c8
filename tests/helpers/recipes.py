"""A tiny parallel text, recipes for it, and tasks without training."""

import random
from pathlib import Path

import yaml

from saccade.data.batch_sampler import BatchSampler
from saccade.data.loader import Loader, lengths_of
from saccade.data.tokenizer import Tokenizer, TokenizerConfig, Tokenizers
from saccade.recipes import RecipeText
from saccade.recipes.schema import Recipe
from saccade.runs.folder import build_task, write_description, write_model
from saccade.runs.recipe import parse_recipe
from saccade.tasks.base import Task
from saccade.train.checkpoint import weights_of
from saccade.train.objective import mean_loss

WORDS = ["ant", "bee", "cat", "dog", "elk", "fox", "gnu", "hen"]
MODEL = {
    "preset": "bahdanau",
    "embedding": 16,
    "encoder": {"width": 16},
    "decoder": {"width": 24, "output_width": 16},
    "init": {"kind": "default", "embedding": 1.0},  # eight words, each seen hundreds of times
}
LINES = {
    "language-modeling": ["the cat sat down .", "a dog ran .", "it is so ."],
    "classification": ["good cat", "bad dog"],
}


def sentences(count: int, seed: int = 1) -> list[str]:
    """Distinct words in any order, which a tiny model can learn perfectly."""
    chance = random.Random(seed)
    return [" ".join(chance.sample(WORDS, chance.randint(1, 5))) for _ in range(count)]


def write_lines(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def write_pair(folder: Path, name: str, count: int, seed: int = 1) -> list[str]:
    """Sentences, and the same in capitals; links join each word with its own."""
    lines = sentences(count, seed)
    links = [" ".join(f"{n}-{n}" for n in range(len(line.split()))) for line in lines]
    parts = {"a": lines, "b": [line.upper() for line in lines], "align": links}
    return [str(write_lines(folder / f"{name}.{end}", text)) for end, text in parts.items()]


def translation(folder: Path, **train) -> dict:
    """The settings of a translator into capitals that learns in a second or two."""
    return {
        "task": "translation",
        "data": {
            "train": write_pair(folder, "train", 400),
            "test": write_pair(folder, "test", 20, seed=2),
            "cache": str(folder / "cache"),
            "held_out": 6,
        },
        "tokenizer": {"kind": "word"},
        "model": MODEL,
        "objective": {"guided_alignment": {"weight": 3.0}},
        "train": {
            "steps": 200,
            "tokens_per_batch": 256,
            "lr": 0.01,
            "precision": "fp32",
            "device": "cpu",
            "validate_every": 200,
            "checkpoint_every": 100,
            **train,
        },
    }


def write_recipe(folder: Path, settings: dict | None = None, name: str = "recipe.yaml") -> Path:
    path = folder / name
    path.write_text(yaml.safe_dump(translation(folder) if settings is None else settings))
    return path


def recipe_of(settings: dict) -> Recipe:
    return parse_recipe(RecipeText(settings, "recipe"))


def untrained(
    task: str, model: dict, *, kind: str = "word", classifier: dict | None = None, size: int | None = None
) -> Task:
    """A task with an untrained model."""
    config = TokenizerConfig(kind=kind, size=size)
    lines = LINES.get(task, sentences(50))
    source = Tokenizer.train(config, lines, "source")
    sides = {
        "translation": Tokenizers(source, Tokenizer.train(config, [line.upper() for line in lines], "target")),
        "language-modeling": Tokenizers(None, source),
        "classification": Tokenizers(source, None, ["bad", "good", "so-so"]),
    }
    settings = {"task": task, "data": {"train": "unused.tsv"}, "model": model, "tokenizer": {"kind": kind}}
    return build_task(recipe_of({**settings, **({"classifier": classifier} if classifier else {})}), sides[task])


def write_folder(task: Task, folder: Path) -> Path:
    write_description(folder, task.recipe, task.tokenizers)
    write_model(folder, weights_of(task.model), task.tokenizers)
    return folder


def validation_loss(task, store, objective, tokens_per_batch):
    """The metrics of a store, as training computes them."""
    plan = BatchSampler(lengths_of(store), tokens_per_batch, shuffle=True)
    return mean_loss(objective, Loader(store, plan, count=objective.count).epoch(), task.device)
