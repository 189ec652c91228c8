"""Compare the speed of two versions of saccade in turns, so that both meet the same machine.

    git worktree add /tmp/old COMMIT
    python benchmarks/versions.py --old /tmp/old/src --out lines.jsonl
    python benchmarks/versions.py --old /tmp/old/src --out lines.jsonl --multi30k FOLDER     on a GPU

Each turn trains two built-in recipes for some steps and decodes with their models, greedily and with a beam. The model
folders are trained once, by the old version. A line has the seconds of both versions; the ratio is new to old.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")
NEW = Path(__file__).parent.parent / "src"
SENTENCES = 400


class Place(NamedTuple):
    """What is compared on a device."""

    recipes: tuple[str, ...]
    steps: int
    every: int  # steps between lines of the log
    changes: tuple[str, ...]


CPU = Place(
    ("english-french", "english-french-transformer"),
    60,
    1,
    ("train.device=cpu", "data.size=4000", "data.held_out=20"),
)
DECODE = """
import sys, time
import saccade, torch
{texts}
torch.set_num_threads(1)
model = saccade.load(sys.argv[1])
for beam in (1, 5):
    list(model.stream(texts, attention=False, beam=beam))
    times = []
    for repeat in range(3):
        start = time.perf_counter()
        list(model.stream(texts, attention=False, beam=beam))
        times.append(time.perf_counter() - start)
    print(min(times))
"""
BUILT_IN = """
from saccade.corpora import CORPORA
texts = [e.source for e in CORPORA["english-french"].generate("valid", {count}, 1, min_length=3, max_length=20)]
"""


def run(source, *command):
    """Run Python with one version; return the words that it prints."""
    others = [
        part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part and Path(part).resolve() != NEW
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(source), *others]), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    return done.stdout.split()


def train(source, recipe, out, cache, place):
    """Train for some steps; return the seconds per token in the second half, which has no start-up."""
    changes = [
        f"train.steps={place.steps}", f"train.validate_every={place.steps}", f"train.checkpoint_every={place.steps}",
        f"train.log_every={place.every}", "train.minutes=null", f"data.cache={cache}", *place.changes,
    ]  # fmt: skip
    sets = [part for change in changes for part in ("--set", change)]
    run(source, "-m", "saccade", "train", recipe, "--out", str(out), *sets)
    log = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    rates = [entry["tokens_per_second"] for entry in log if "tokens_per_second" in entry]
    return 1 / statistics.median(rates[len(rates) // 2 :])


def decoding(old, texts):
    """Return the program that decodes, for each version; the module of the corpora moved."""
    made = DECODE.format(texts=texts)
    moved = (old / "saccade" / "data" / "corpora").is_dir()
    return {"old": made.replace("saccade.corpora", "saccade.data.corpora") if moved else made, "new": made}


def on_gpu(folder):
    """Return what is compared on a GPU, and the lines that give the texts to decode."""
    changes = (
        f"data.folder={folder}",
        "data.train=[train.en.gz,train.de.gz]",
        "data.valid=[val.en.gz,val.de.gz]",
        "data.test=null",
        "train.metric=loss",
    )
    texts = f"import gzip\ntexts = gzip.open('{folder}/val.en.gz', 'rt').read().splitlines()[:1000] * 4"
    return Place(("multi30k-luong-general", "multi30k-transformer"), 300, 20, changes), texts


def main():
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--old", type=Path, required=True, help="Folder src of the old version.")
    asked.add_argument("--out", type=Path, required=True)
    asked.add_argument("--turns", type=int, default=3)
    asked.add_argument("--multi30k", type=Path, help="Compare on a GPU, with Multi30k from this folder.")
    options = asked.parse_args()
    versions = {"old": options.old, "new": NEW}
    place, texts = on_gpu(options.multi30k.resolve()) if options.multi30k else (CPU, BUILT_IN.format(count=SENTENCES))
    decode = decoding(options.old, texts)
    with tempfile.TemporaryDirectory() as draft, options.out.open("w") as file:
        for recipe in place.recipes:
            folder = Path(draft) / recipe
            train(options.old, recipe, folder, Path(draft) / "cache-old", place)
            found = {}
            for turn in range(options.turns):
                for name, source in versions.items():
                    out = Path(draft) / f"{recipe}-{name}-{turn}"
                    found.setdefault("training", {}).setdefault(name, []).append(
                        train(source, recipe, out, Path(draft) / f"cache-{name}", place)
                    )
                    seconds = map(float, run(source, "-c", decode[name], str(folder)))
                    for beam, each in zip((1, 5), seconds, strict=True):
                        found.setdefault(f"beam {beam}", {}).setdefault(name, []).append(each)
            for what, times in found.items():
                ratio = statistics.median(times["new"]) / statistics.median(times["old"])
                line = {"recipe": recipe, "what": what, **times, "ratio": round(ratio, 3)}
                file.write(json.dumps(line) + "\n")
                file.flush()
                print(recipe, what, f"{ratio:.3f}", flush=True)


if __name__ == "__main__":
    main()
