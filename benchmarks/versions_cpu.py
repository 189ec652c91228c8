"""Compare the speed of two versions of saccade on a CPU, in alternating turns, so that other load slows both alike.

    git worktree add /tmp/old COMMIT
    python benchmarks/versions_cpu.py --old /tmp/old/src --out lines.jsonl

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

os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")
NEW = Path(__file__).parent.parent / "src"
RECIPES = ("english-french", "english-french-transformer")
STEPS, SENTENCES = 60, 400
DECODE = """
import sys, time
import saccade, torch
from saccade.corpora import CORPORA
torch.set_num_threads(1)
texts = [e.source for e in CORPORA["english-french"].generate("valid", {count}, 1, min_length=3, max_length=20)]
model = saccade.load(sys.argv[1], device="cpu")
beam = int(sys.argv[2])
list(model.stream(texts[:40], attention=False, beam=beam))
start = time.perf_counter()
list(model.stream(texts, attention=False, beam=beam))
print(time.perf_counter() - start)
"""
# older versions have saccade.data.corpora
OLD_DECODE = DECODE.replace("saccade.corpora", "saccade.data.corpora")


def run(source, *command):
    """Run Python with one version; return the last word that it prints."""
    environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    return done.stdout.split()[-1] if done.stdout.split() else ""


def train(source, recipe, out, cache):
    """Train for some steps; return the seconds of the second half, which has no start-up."""
    changes = [
        f"train.steps={STEPS}", f"train.validate_every={STEPS}", f"train.checkpoint_every={STEPS}", "train.log_every=1",
        "train.minutes=null", "train.accelerator=cpu", "data.size=4000", "data.held_out=20", f"data.cache={cache}",
    ]  # fmt: skip
    sets = [part for change in changes for part in ("--set", change)]
    run(source, "-m", "saccade", "train", recipe, "--out", str(out), *sets)
    log = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    rates = [entry["tokens_per_second"] for entry in log if "tokens_per_second" in entry]
    return 1 / statistics.median(rates[len(rates) // 2 :])


def main():
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--old", type=Path, required=True, help="Folder src of the old version.")
    asked.add_argument("--out", type=Path, required=True)
    asked.add_argument("--turns", type=int, default=3)
    options = asked.parse_args()
    versions = {"old": options.old, "new": NEW}
    moved = (options.old / "saccade" / "data" / "corpora").is_dir()
    decode = {"old": OLD_DECODE if moved else DECODE, "new": DECODE}
    with tempfile.TemporaryDirectory() as place, options.out.open("w") as file:
        for recipe in RECIPES:
            folder = Path(place) / recipe
            train(options.old, recipe, folder, Path(place) / "cache-old")
            found = {}
            for turn in range(options.turns):
                for name, source in versions.items():
                    out = Path(place) / f"{recipe}-{name}-{turn}"
                    found.setdefault("training", {}).setdefault(name, []).append(
                        train(source, recipe, out, Path(place) / f"cache-{name}")
                    )
                    for beam in (1, 5):
                        seconds = float(run(source, "-c", decode[name].format(count=SENTENCES), str(folder), str(beam)))
                        found.setdefault(f"beam {beam}", {}).setdefault(name, []).append(seconds)
            for what, times in found.items():
                ratio = statistics.median(times["new"]) / statistics.median(times["old"])
                line = {"recipe": recipe, "what": what, **times, "ratio": round(ratio, 3)}
                file.write(json.dumps(line) + "\n")
                file.flush()
                print(recipe, what, f"{ratio:.3f}", flush=True)


if __name__ == "__main__":
    main()
