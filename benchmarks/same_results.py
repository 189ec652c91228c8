"""Check that a code change leaves all results bit-identical.

Trains every shipped recipe for a few updates on a small built-in data set, with its own model, objective and search. It
writes one line of digests for each recipe: losses, weights, predictions, attention. Run two versions and compare:

    PYTHONPATH=OLD/src python benchmarks/same_results.py old.jsonl
    PYTHONPATH=src     python benchmarks/same_results.py new.jsonl
    diff old.jsonl new.jsonl && echo the same

It runs on one CPU thread in float32, where equal code gives equal bits. `--recipes a,b` selects recipes.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")
SENTENCES = 300
COMMON = [
    "train.steps=6", "train.validate_every=3", "train.checkpoint_every=6", "train.log_every=1",
    "train.tokens_per_batch=400", "train.device=cpu", "train.precision=fp32",
    "train.warmup=2", "train.minutes=null", "data.held_out=20",
]  # fmt: skip


def write_data(folder):
    """Write small files of each kind, from the built-in grammar."""
    from saccade.corpora import CORPORA

    for split, size in (("train", SENTENCES), ("valid", 20), ("test", 20)):
        pairs = list(CORPORA["english-french"].generate(split, size, 1, min_length=3, max_length=14))
        parts = {
            "en": [p.source for p in pairs],
            "fr": [p.target for p in pairs],
            "align": [str(p.links) for p in pairs],
        }
        parts["tsv"] = [f"{'short' if len(p.source.split()) < 8 else 'long'}\t{p.source}" for p in pairs]
        for name, lines in parts.items():
            (folder / f"{split}.{name}").write_text("\n".join(lines) + "\n")


def data_settings(recipe, folder):
    """Write a variant of the recipe for the small files; return its path and task."""
    import yaml

    from saccade.recipes import read_recipe

    settings = read_recipe(recipe).settings
    task = settings["task"]
    if settings["data"].get("corpus") or task == "captioning":
        chosen = {
            "corpus": {"translation": "english-french", "language-modeling": "reading"}.get(task, "scenes"),
            "size": SENTENCES,
        }
        kept = {
            name: settings["data"][name] for name in ("lengths", "image_size", "captions") if name in settings["data"]
        }
        data = {**kept, **chosen, "train": None, "valid": None, "test": None}
        data["image_size"] = min(48, kept.get("image_size", 48))
    else:
        endings = {"translation": ["en", "fr", "align"], "language-modeling": ["en"], "classification": ["tsv"]}[task]
        files = {split: [str(folder / f"{split}.{end}") for end in endings] for split in ("train", "valid", "test")}
        data = {**files, "folder": None, "placeholders": {}, "columns": {}}
    if settings.get("tokenizer", {}).get("size"):
        settings["tokenizer"]["size"] = 400  # the small text does not support more
    settings["data"] = {**data, "cache": str(folder / "cache")}
    path = folder / f"{recipe}.yaml"
    path.write_text(yaml.safe_dump(settings))
    return path, task


def digest(*parts):
    made = hashlib.sha256()
    for part in parts:
        made.update(part if isinstance(part, bytes) else repr(part).encode())
    return made.hexdigest()[:16]


def tensors(path):
    from safetensors.numpy import load_file

    found = load_file(path)
    return digest(*(part for name in sorted(found) for part in (name, found[name].tobytes())))


def run_one(recipe, folder):
    """Train and predict; return the digests."""
    import torch

    import saccade
    from saccade.cli import main

    torch.set_num_threads(1)
    path, task = data_settings(recipe, folder)
    out, printed = folder / f"run-{recipe}", folder / f"{recipe}.out"
    command = ["train", str(path), "--out", str(out), *(part for change in COMMON for part in ("--set", change))]
    with printed.open("w+") as file:
        sys.argv, sys.stdout = ["saccade", *command], file
        try:
            main()
        except SystemExit as end:
            if end.code:
                raise RuntimeError(f"{recipe}: saccade train failed, see above") from end
        finally:
            sys.stdout = sys.__stdout__
    log = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    kept = [
        {k: v for k, v in entry.items() if "second" not in k and "memory" not in k and k != "elapsed"} for entry in log
    ]
    model = saccade.load(out, device="cpu")
    inputs = pictures() if task == "captioning" else [line.strip() for line in (folder / "valid.en").open()][:6]
    found = {"recipe": recipe, "log": digest(kept), "weights": tensors(out / "model.safetensors")}
    for name, options in {"greedy": {"beam": 1}, "beam": {"beam": 3}, "sample": {"sample": True, "seed": 5}}.items():
        answers = model(inputs, **options) if task != "classification" else model(inputs)
        found[name] = digest([(one.text, one.score, one.tokens) for one in answers])
        weights = [one.attention.weights[site].tobytes() for one in answers for site in sorted(one.attention.weights)]
        found[f"{name}-attention"] = digest(*weights)
    found["trace"] = digest(model.trace(inputs[0]).dump())
    return found


def pictures():
    from saccade.corpora import CORPORA

    scenes = CORPORA["scenes"].generate("valid", 6, 1, min_length=3, max_length=20)
    return [one.image.load() for one in scenes]


def main_():
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("out", type=Path)
    asked.add_argument("--recipes")
    asked.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = asked.parse_args()
    if options.folder is not None:  # a child process: one recipe
        print(json.dumps(run_one(options.recipes, options.folder)))
        return
    from saccade.recipes import shipped

    names = options.recipes.split(",") if options.recipes else list(shipped())
    with tempfile.TemporaryDirectory() as place, options.out.open("w") as file:
        write_data(Path(place))
        for name in names:
            command = [sys.executable, __file__, str(options.out), "--recipes", name, "--folder", place]
            done = subprocess.run(command, capture_output=True, text=True)
            line = (
                done.stdout.splitlines()[-1]
                if done.returncode == 0
                else json.dumps({"recipe": name, "error": done.stderr[:900]})
            )
            file.write(line + "\n")
            file.flush()
            print(line[:150] if done.returncode == 0 else done.stderr[:900], flush=True)


if __name__ == "__main__":
    main_()
