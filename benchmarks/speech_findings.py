"""Findings of the papers on speech, with small models: a JSON line for each model and test.

    python benchmarks/speech_findings.py recipe content --seeds 1 2 3 --out lines.jsonl

Every variant differs in one thing from the recipe `spoken`, here with noise and with unseen voices in the tests. All
have the same number of updates of the same batches. Tests: strings of one to seven digits; and strings of five digits
that are said 1, 2, 5 and 10 times, which make up to 50 digits. `median`: only the search changes, by a window around
the last attention, as in Chorowski et al. 2015.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import saccade
from saccade.attention.windows import WINDOWS
from saccade.config import merge
from saccade.corpora import CORPORA
from saccade.data.example import Example, Recording
from saccade.data.sounds import Sound

VARIANTS: dict[str, dict[str, Any]] = {
    "recipe": {},
    "flat": {"model": {"sound_encoder": {"factor": 1}}},
    "content": {"model": {"attention": {"score": "additive", "score_options": {"width": 96}}}},
    "no-ctc": {"model": {"ctc": False}, "objective": {"ctc": {"weight": 0.0}}},
    "gold-inputs": {"train": {"word_dropout": 0.0}},
    "sampling": {"train": {"word_dropout": 0.0, "scheduled_sampling": 0.1}},
    "letters": {"tokenizer": {"kind": "char"}},
    "letters-no-ctc": {"tokenizer": {"kind": "char"}, "model": {"ctc": False}, "objective": {"ctc": {"weight": 0.0}}},
}
VOICE = {"noise": [5, 20], "held_out_voices": True}
REPEATS, TESTED, RADIUS = (1, 2, 5, 10), 200, 25
"""RADIUS: keys on each side of the window, here one second."""


@dataclass(frozen=True)
class Repeated:
    """A recording that is played several times."""

    once: Recording
    times: int

    @property
    def name(self) -> str:
        """The name in messages."""
        return f"{self.once.name}, {self.times} times"

    def load(self) -> Sound:
        """Return the samples."""
        sound = self.once.load()
        return Sound(np.tile(sound.samples, self.times), sound.rate)


def strings(low: int, high: int, count: int) -> list[Example]:
    """Return test utterances of `low` to `high` digits."""
    return list(CORPORA["spoken"].generate("test", count, min_length=low, max_length=high, **VOICE))


def repeated(example: Example, times: int) -> Example:
    """Return an utterance said several times."""
    assert example.sound is not None
    return replace(
        example, target=" ".join([str(example.target)] * times), sound=Repeated(example.sound, times), times=()
    )


def tests(model: saccade.Model, search: dict[str, Any]) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield the name and the metrics of each test."""
    yield "strings", model.evaluate(strings(1, 7, 2 * TESTED), **search).metrics
    fives = strings(5, 5, TESTED)
    for times in REPEATS:
        count = TESTED // times
        yield f"x{times}", model.evaluate([repeated(one, times) for one in fives[:count]], **search).metrics


def validations(folder: Path) -> list[dict[str, Any]]:
    """Return the validations of a training run: step, loss and word error rate."""
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [{"step": one["step"], **{k: one["valid"][k] for k in ("loss", "wer")}} for one in lines if "valid" in one]


def run(name: str, seed: int, steps: int, folder: Path) -> Iterator[dict[str, Any]]:
    """Train a variant and yield its lines."""
    changes: dict[str, Any] = {key: dict(value) for key, value in VARIANTS[name].items()}
    changes["train"] = {
        **changes.get("train", {}), "seed": seed, "steps": steps, "validate_every": steps // 4
    }  # fmt: skip
    changes["data"] = {"size": 6000, "spoken": VOICE, "held_out": 60}
    begun = time.process_time()
    recipe = merge(saccade.Recipe("spoken").dump(), changes)
    if "score" in changes.get("model", {}).get("attention", {}):
        recipe["model"]["attention"] |= changes["model"]["attention"]  # no options of another score
    model = saccade.train(recipe, folder, progress=False)
    facts = {"variant": name, "seed": seed, "steps": steps, "cpu_seconds": round(time.process_time() - begun)}
    yield {**facts, "test": "training", "validations": validations(folder)}
    searches: dict[str, dict[str, Any]] = {"greedy": {}}
    if name == "recipe":
        searches |= {"beam 5": {"beam": 5}, "beam 5, ctc 0.3": {"beam": 5, "ctc": 0.3}}
    for search, options in searches.items():
        yield from ({**facts, "search": search, "test": test, **found} for test, found in tests(model, options))
    if name in ("recipe", "content"):
        model = saccade.load(folder)  # a new copy: searches may have captured the steps of the old one
        attention = model.task.model.attention
        attention.window = WINDOWS["median"](attention.score.query_width, radius=RADIUS)
        yield from ({**facts, "search": "median", "test": test, **found} for test, found in tests(model, {}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("variants", nargs="+", choices=VARIANTS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    for seed in asked.seeds:
        for name in asked.variants:
            with tempfile.TemporaryDirectory() as folder, asked.out.open("a") as out:
                for line in run(name, seed, asked.steps, Path(folder) / "run"):
                    print(
                        json.dumps({k: round(v, 4) if isinstance(v, float) else v for k, v in line.items()}),
                        file=out,
                        flush=True,
                    )
            print(name, seed, flush=True)


if __name__ == "__main__":
    main()
