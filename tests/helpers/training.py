"""A tiny parallel text, a tiny recipe for it, and what a training run leaves in its folder."""

import json
import random
from pathlib import Path

import torch
import yaml

from helpers.recipes import recipe_of
from saccade.runs.training import train
from saccade.train.checkpoint import latest
from saccade.train.loop import Outcome

WORDS = ["ant", "bee", "cat", "dog", "elk", "fox", "gnu", "hen", "ibis", "jay", "kite", "lark"]
MODEL = {
    "preset": "bahdanau",
    "embedding": 8,
    "encoder": {"width": 8, "dropout": 0.0},
    "decoder": {"width": 8, "output_width": 8, "dropout": 0.0},
    "init": {"kind": "default"},
}
DROPOUT = {"encoder": {"dropout": 0.2}, "decoder": {"dropout": 0.2}}
TIMES = ("seconds", "tokens_per_second")


def write_text(folder: Path, lines: int = 300, seed: int = 1) -> list[str]:
    """Two files: sentences, and the same with their words in reverse."""
    chance = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    sentences = [[chance.choice(WORDS) for _ in range(chance.randint(1, 7))] for _ in range(lines)]
    paths = [folder / "train.a", folder / "train.b"]
    paths[0].write_text("".join(" ".join(words) + "\n" for words in sentences))
    paths[1].write_text("".join(" ".join(reversed(words)) + "\n" for words in sentences))
    return [str(path) for path in paths]


def merged(base: dict, changes: dict) -> dict:
    return base | {
        name: merged(base[name], value) if isinstance(value, dict) and isinstance(base.get(name), dict) else value
        for name, value in changes.items()
    }


def settings(folder: Path, model: dict | None = None, **train) -> dict:
    """A recipe that trains in a second, its data and cache in the folder."""
    return {
        "task": "translation",
        "data": {"train": write_text(folder / "text"), "cache": str(folder / "cache"), "held_out": 6},
        "tokenizer": {"kind": "word"},
        "model": merged(MODEL, model or {}),
        "train": {
            "steps": 20,
            "tokens_per_batch": 64,
            "lr": 0.01,
            "precision": "fp32",
            "device": "cpu",
            "validate_every": 10,
            "checkpoint_every": 5,
            "log_every": 1,
            **train,
        },
    }


def write_recipe(folder: Path, model: dict | None = None, **train) -> Path:
    path = folder / "recipe.yaml"
    made = settings(folder, model, **train)
    path.write_text(yaml.safe_dump(made))
    return path


def steps_logged(out: Path) -> int:
    path = out / "log.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def log_of(out: Path) -> list[dict]:
    """The log without what depends on the clock."""
    entries = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    return [{name: value for name, value in entry.items() if name not in TIMES} for entry in entries]


def end_of(out: Path) -> dict[str, bytes]:
    """All that two equal runs must have in common at their end, as bytes."""
    last = latest(out / "checkpoints")
    assert last is not None
    names = [path for path in sorted(last.iterdir()) if path.suffix == ".safetensors"]
    return {
        **{path.name: path.read_bytes() for path in names},
        "step": last.name.encode(),
        "model": (out / "model.safetensors").read_bytes(),
    }


def leftovers(out: Path) -> list[str]:
    """The unfinished files that a killed writer leaves."""
    return sorted(path.name for path in out.rglob("*.part"))


def same_weights(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def train_here(
    folder: Path, out: str = "out", *, resume: bool = False, model: dict | None = None, **changes
) -> Outcome:
    """Train in this process."""
    return train(recipe_of(settings(folder, model, **changes)), folder / out, resume=resume)
