"""Speed and quality on Multi30k English-German, two CPU threads.

    python benchmarks/multi30k.py train    --data DIR    target tokens/s without padding, steady state, three models
    python benchmarks/multi30k.py decode   --data DIR    sentences/s, beams 1 and 5, of models trained by `quality`
    python benchmarks/multi30k.py quality  --data DIR    trains for ten minutes, then BLEU on test_2016_flickr

DIR holds the data set's {train,val,test_2016_flickr}.{en,de}.gz. With --pieces it holds subword text,
{train,val}.sp.{en,de}, as input for other toolkits too, so that all count the same tokens. Prints a JSON line for each
result. Run it on an otherwise idle machine, and compare only runs of one session. It uses a GPU if there is one; then
--set '{"tokens_per_batch": 4096, "precision": "bf16"}' and --batch 128 are more typical. --plain disables our kernels
and CUDA graphs.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch

from saccade import kernels
from saccade.api import load
from saccade.data.formats import pairs
from saccade.recipes import RecipeText
from saccade.recipes.schema import Recipe
from saccade.runs.folder import load_task
from saccade.runs.recipe import parse_recipe
from saccade.runs.training import train
from saccade.runs.workers import Workers
from saccade.search.search_config import SearchConfig
from saccade.tasks.batching import stream
from saccade.train.log import TrainingCallback

MODELS: dict[str, dict[str, Any]] = {
    "transformer": {
        "preset": "transformer-base",
        "width": 256,
        "feed_forward": 1024,
        "layers": 3,
        "norm": "pre",
        "dropout": 0.1,
        "attention": {"heads": 4},
    },
    "bahdanau": {
        "embedding": 256,
        "encoder": {"cell": "gru", "width": 256, "bidirectional": True, "dropout": 0.2},
        "decoder": {"cell": "gru", "width": 512, "attend_from": "previous", "dropout": 0.2},
        "attention": {"score": "additive"},
    },
    "luong": {
        "embedding": 256,
        "encoder": {"cell": "lstm", "width": 256, "bidirectional": True, "dropout": 0.2},
        "decoder": {
            "cell": "lstm",
            "width": 512,
            "attend_from": "current",
            "input_feeding": True,
            "dropout": 0.2,
        },
        "attention": {"score": "general"},
    },
}
TRAIN = {
    "tokens_per_batch": 2048,
    "optimizer": "adam",
    "lr": 1e-3,
    "schedule": "inverse-sqrt",
    "warmup": 400,
    "label_smoothing": 0.1,
    "precision": "fp32",
    "validate_every": 10**6,
    "checkpoint_every": 10**6,
    "steps": 10**6,
}


def recipe(model: dict[str, Any], data: Path, pieces: bool, **changes: Any) -> Recipe:
    tokenizer: dict[str, Any] = {"kind": "bpe", "size": 8000, "shared": True}
    names = [f"{{}}.{side}.gz" for side in ("en", "de")]
    if pieces:
        tokenizer = {"kind": "word", "punctuation": "keep", "shared": True}
        names = [f"{{}}.sp.{side}" for side in ("en", "de")]
    files = {
        split: [str(data / name.format(part)) for name in names]
        for split, part in (("train", "train"), ("valid", "val"))
    }
    settings = {
        "task": "translation",
        "data": files,
        "tokenizer": changes.pop("tokenizer", tokenizer),
        "model": model,
        "train": {**TRAIN, **changes},
    }
    return parse_recipe(RecipeText(settings, "benchmark"))


def train_speed(arguments: argparse.Namespace) -> None:
    for name in arguments.models:
        folder = Path(tempfile.mkdtemp())
        changes = json.loads(arguments.set or "{}") | ({"cuda_graphs": False} if arguments.plain else {})
        model = {**MODELS[name], **changes.pop("model", {})}
        made = recipe(model, arguments.data, arguments.pieces, minutes=arguments.seconds / 60, **changes)
        watcher = Clock()
        with torch_alone() if arguments.plain else nullcontext():
            outcome = train(made, folder, watcher=watcher)
        shutil.rmtree(folder)
        steady = [m for m in watcher.marks if m[0] - watcher.marks[0][0] > arguments.warm]
        seconds, tokens = steady[-1][0] - steady[0][0], steady[-1][1] - steady[0][1]
        say(
            what="train",
            model=name,
            plain=arguments.plain,
            target_tokens_per_second=round(tokens / seconds),
            tokens_per_update=round(tokens / (len(steady) - 1)),
            steady_seconds=round(seconds, 1),
            steps=outcome.progress.step,
            parameters=watcher.facts["parameters"],
        )


@contextmanager
def torch_alone() -> Iterator[None]:
    """Disable our kernels, and CUDA graphs for decoding."""
    with kernels.disable_fused(), patch("saccade.search.decoding.graphed_search", lambda *given, **options: None):
        yield


class Clock(TrainingCallback):
    """Records the time of each step and the cumulative target tokens."""

    def __init__(self) -> None:
        self.marks: list[tuple[float, float]] = []
        self.facts: dict[str, Any] = {}
        self._began = time.perf_counter()

    def on_train_begin(self, steps: int, first: int, facts: dict[str, Any]) -> None:
        self.facts, self._began = facts, time.perf_counter()

    def step(self, entry: dict[str, Any]) -> None:
        self.marks.append((time.perf_counter(), entry["tokens"]))


def quality(arguments: argparse.Namespace) -> None:
    for name in arguments.models:
        changes = json.loads(arguments.set or "{}")
        model = {**MODELS[name], **changes.pop("model", {})}
        made = recipe(model, arguments.data, False, minutes=arguments.seconds / 60, **changes)
        folder = arguments.out / name
        shutil.rmtree(folder, ignore_errors=True)
        outcome = train(made, folder)
        task = load_task(folder)
        examples = list(pairs(*(arguments.data / f"test_2016_flickr.{side}.gz" for side in ("en", "de"))))
        scores = {
            f"bleu_beam_{width}": round(
                task.evaluate(examples, SearchConfig(beam=width, length_penalty=1.0)).metrics["bleu"], 2
            )
            for width in (1, 5)
        }
        progress = outcome.progress
        say(
            what="quality",
            model=name,
            seconds=round(progress.seconds),
            steps=progress.step,
            tokens=progress.tokens,
            **scores,
        )


def decode(arguments: argparse.Namespace) -> None:
    sources = [
        example.source or "" for example in pairs(*(arguments.data / f"test_2016_flickr.{s}.gz" for s in ("en", "de")))
    ]
    for name in arguments.models:
        task = load_task(arguments.out / name) if arguments.workers > 1 else load(arguments.out / name).task
        for beam in (1, 5):
            search = SearchConfig(beam=beam, batch_size=arguments.batch, max_length=60, length_penalty=1.0)
            with (
                Workers(arguments.out / name, 2) if arguments.workers == 2 else nullcontext() as pool,
                torch_alone() if arguments.plain else nullcontext(),
            ):
                list(stream(task, sources[:64], search, workers=pool))
                times = []
                for _ in range(5):  # on a GPU, the first two capture CUDA graphs
                    began = time.perf_counter()
                    found = list(stream(task, sources, search, workers=pool))
                    times.append(time.perf_counter() - began)
            first, times = times[0], times[2:]
            seconds = statistics.median(times)
            tokens = sum(len(prediction.tokens) - 1 for prediction in found)
            say(
                what="decode",
                model=name,
                device=task.device.type,
                beam=beam,
                batch=arguments.batch,
                workers=arguments.workers,
                plain=arguments.plain,
                sentences_per_second=round(len(sources) / seconds, 1),
                tokens_per_second=round(tokens / seconds),
                first_time=round(len(sources) / first, 1),
                spread=round((max(times) - min(times)) / seconds, 2),
            )


def say(**result: Any) -> None:
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(
        json.dumps({**result, "threads": torch.get_num_threads(), "torch": torch.__version__, "peak_mb": memory}),
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["train", "decode", "quality"])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--pieces", action="store_true")
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    parser.add_argument("--seconds", type=float, default=None)
    parser.add_argument("--workers", type=int, choices=[1, 2], default=1, help="decode: processes of one thread each")
    parser.add_argument("--batch", type=int, default=32, help="decode: sentences in a batch")
    parser.add_argument("--plain", action="store_true", help="use only torch's own operations")
    parser.add_argument("--warm", type=float, default=15)
    parser.add_argument("--out", type=Path, default=Path("runs/multi30k"))
    parser.add_argument("--set", help="JSON: changes to `train`; changes to the model under `model`")
    arguments = parser.parse_args()
    arguments.seconds = arguments.seconds or (600 if arguments.what == "quality" else 60)
    torch.set_num_threads(2)
    {"train": train_speed, "decode": decode, "quality": quality}[arguments.what](arguments)


if __name__ == "__main__":
    sys.exit(main())
