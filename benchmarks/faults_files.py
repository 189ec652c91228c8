"""Fuzzing with damaged recipes, corpora, traces and model folders, through the command line.

    python benchmarks/faults.py files 200 --seed 1                  # 200 of each kind
    python benchmarks/faults.py files 50 --kinds trace --keep /tmp/found

Each case runs a real command in its own process, forked after all imports, with limits of 4 GB and 20 seconds. A case
is a fault if the command prints a traceback or reports an internal error, is ended by a signal, exceeds a limit, or
answers with changed weights or a changed tokenizer. Correct outcomes are an answer, or an error that names the problem.
"""

from __future__ import annotations

import argparse
import gzip
import json
import lzma
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # threads do not survive a fork
os.environ.setdefault("OMP_NUM_THREADS", "1")

# commands import these lazily; import them once, before forking
import matplotlib.backends.backend_agg
import matplotlib.figure  # noqa: F401
import numpy as np
import torch
import yaml
import zstandard
from faults_mutations import damage_bytes, damage_tree, plain
from faults_report import Record, Section

import saccade.api
import saccade.cli.demo
import saccade.look.page
import saccade.runs.training
import saccade.tasks.base
import saccade.trace.explain
from saccade.cli.main import main as command
from saccade.look.picture import data_address

SECONDS, MEMORY = 20, 4 << 30
WORDS = ["ant", "bee", "cat", "dog", "elk", "fox", "gnu", "hen"]
MODEL = {"preset": "bahdanau", "embedding": 8, "encoder": {"width": 8}, "decoder": {"width": 8, "output_width": 8}}
ONE_STEP = ["train.steps=1", "train.metric=loss", "train.devices=1", "train.nodes=1", "train.device=cpu"]
SUFFIXES: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}


class Case(NamedTuple):
    """A command, the damaged files, and whether an answer would be a fault."""

    words: list[str]
    damaged: list[Path]
    must_fail: bool = False


class Ended(NamedTuple):
    """How a command ended."""

    verdict: str
    code: int
    seconds: float
    said: str


class Result(NamedTuple):
    """Results of the cases of a kind: counts of verdicts, and messages of the faults."""

    kind: str
    verdicts: Counter[str]
    faults: list[str]
    slowest: float


def seeds(folder: Path) -> Path:
    """Write small valid files of every kind: a corpus, a recipe, a trained model, traces."""
    chance = random.Random(1)
    lines = [" ".join(chance.choices(WORDS, k=chance.randint(1, 6))) for _ in range(120)]
    (folder / "train.a").write_text("\n".join(lines) + "\n")
    (folder / "train.b").write_text("\n".join(lines).upper() + "\n")
    (folder / "train.tsv").write_text("".join(f"{line}\t{line.upper()}\n" for line in lines))
    (folder / "train.jsonl").write_text(
        "".join(json.dumps({"source": line, "target": line.upper()}) + "\n" for line in lines)
    )
    recipe = {
        "task": "translation",
        "data": {"train": [str(folder / "train.a"), str(folder / "train.b")], "cache": str(folder / "cache")},
        "tokenizer": {"kind": "word"},
        "model": MODEL,
        "train": {"steps": 1, "tokens_per_batch": 256, "device": "cpu", "precision": "fp32"},
    }
    (folder / "recipe.yaml").write_text(yaml.safe_dump(recipe))
    for kind, model in (("word", "word"), ("bpe", "bpe")):
        _prepare(["train", folder / "recipe.yaml", "--set", f"tokenizer.kind={kind}", "--out", folder / model])
    _prepare(["look", folder / "word", "ant bee", "-o", folder / "trace.json"])
    _prepare(["look", folder / "word", "ant bee", "--beam", "3", "-o", folder / "beam.json"])
    seen = json.loads((folder / "trace.json").read_text())
    source, pixels = seen["sides"]["source"], np.zeros((8, 12, 3), np.uint8)
    regions = len(source["tokens"])
    source |= {"kind": "grid", "grid": [1, regions], "words": source["tokens"], "word_of": list(range(regions))}
    source |= {"image": data_address(pixels), "marks": []}
    (folder / "picture.json").write_text(json.dumps(seen))
    _prepare(["look", folder / "picture.json", "--style", "overlay"])
    return folder


def _prepare(words: list[Any]) -> None:
    ended = run_command([str(word) for word in words])
    if ended.code:
        raise SystemExit(f"a valid file could not be made: {ended.said}")


def recipes(folder: Path, work: Path, chance: random.Random) -> Case:
    """Train one step with a damaged recipe."""
    path = work / "recipe.yaml"
    if chance.random() < 0.5:
        path.write_bytes(damage_bytes((folder / "recipe.yaml").read_bytes(), chance))
    else:
        settings = damage_tree(yaml.safe_load((folder / "word" / "recipe.yaml").read_text()), chance)
        path.write_text(plain(settings) if chance.random() < 0.3 else yaml.dump(settings))
    changes = [*ONE_STEP, f"data.cache={folder / 'cache'}"]
    return Case(["train", str(path), "--out", str(work / "out"), *(w for c in changes for w in ("--set", c))], [path])


def corpora(folder: Path, work: Path, chance: random.Random) -> Case:
    """Train on a damaged corpus, or predict its lines; compressed before or after the damage."""
    name = chance.choice(("train.a", "train.b", "train.tsv", "train.jsonl"))
    suffix = chance.choice([*SUFFIXES])
    data, path = (folder / name).read_bytes(), work / f"{name}{suffix}"
    damaged = damage_bytes(SUFFIXES[suffix](data), chance)
    if suffix == "" or chance.random() < 0.5:
        lines = data.decode().splitlines()
        if name.endswith(".jsonl") and chance.random() < 0.5:
            place = chance.randrange(len(lines))
            lines[place] = plain(damage_tree(json.loads(lines[place]), chance))
            damaged = SUFFIXES[suffix](("\n".join(lines) + "\n").encode())
        else:
            damaged = SUFFIXES[suffix](damage_bytes(data, chance))
    path.write_bytes(damaged)
    if chance.random() < 0.3:
        return Case(["predict", str(folder / "word"), "--file", str(path)], [path])
    files = [str(path)]
    if name in ("train.a", "train.b"):
        files = [str(path if part == name else folder / part) for part in ("train.a", "train.b")]
    changes = [*ONE_STEP, f"data.cache={work / 'cache'}", f"data.train={json.dumps(files)}"]
    words = ["train", str(folder / "recipe.yaml"), "--out", str(work / "out")]
    return Case([*words, *(word for change in changes for word in ("--set", change))], [path])


def traces(folder: Path, work: Path, chance: random.Random) -> Case:
    """Draw a damaged trace in one of the styles."""
    data, path = (folder / chance.choice(("trace.json", "beam.json", "picture.json"))).read_bytes(), work / "trace.json"
    if chance.random() < 0.3:
        path.write_bytes(damage_bytes(data, chance))
    else:
        path.write_text(plain(damage_tree(json.loads(data), chance)))
    out = chance.choice(([], [], *(["-o", str(work / f"x{end}")] for end in (".svg", ".png", ".html", ".json"))))
    styles = ("matrix", "overlay", "reading", "arcs", "heads")
    whole = bool(out) and out[1].endswith((".html", ".json"))
    style = [] if whole or chance.random() < 0.4 else ["--style", chance.choice(styles)]
    return Case(["look", str(path), *out, *style], [path])


def folders(folder: Path, work: Path, chance: random.Random) -> Case:
    """Predict with a model folder that has a damaged file."""
    made = work / "model"
    shutil.copytree(folder / chance.choice(("word", "bpe")), made, ignore=shutil.ignore_patterns("checkpoints"))
    path = made / chance.choice(("recipe.yaml", "tokenizer.json", "tokenizer.json", "model.safetensors"))
    sums = made / "SHA256SUMS"
    checked = sums.exists()
    if checked and chance.random() < 0.2:
        path = sums
    elif chance.random() < 0.5:  # like an attacker, without checksums: any valid weights are accepted
        checked = False
        sums.unlink(missing_ok=True)
    before = path.read_bytes()
    if path.suffix == ".json" and chance.random() < 0.7:
        path.write_text(plain(damage_tree(json.loads(before), chance)))
    elif path.suffix == ".yaml" and chance.random() < 0.7:
        path.write_text(yaml.dump(damage_tree(yaml.safe_load(before), chance)))
    elif path.suffix == ".safetensors" and chance.random() < 0.5:  # damage the header: a length, then JSON
        path.write_bytes(damage_bytes(before[:600], chance) + before[600:])
    else:
        path.write_bytes(damage_bytes(before, chance))
    must_fail = _differs(path, before) and (checked or path.name == "tokenizer.json")
    return Case(["predict", str(made), "ant bee", "--format", "jsonl"], [path], must_fail)


def _differs(path: Path, before: bytes) -> bool:
    """Return whether the weights or the JSON content changed; any change of a recipe is allowed."""
    after = path.read_bytes()
    if path.suffix != ".json":
        return path.suffix == ".safetensors" and after != before
    try:
        return bool(json.loads(after) != json.loads(before))
    except (ValueError, RecursionError):
        return True


KINDS: dict[str, Callable[[Path, Path, random.Random], Case]] = {
    "recipe": recipes,
    "corpus": corpora,
    "trace": traces,
    "folder": folders,
}


def run_command(words: list[str]) -> Ended:
    """Run a command in a forked process, within the limits."""
    with tempfile.TemporaryFile() as said:
        begun = time.monotonic()
        child = os.fork()
        if child == 0:
            _be_the_command(words, said.fileno())
        status, most = _wait(child, begun + SECONDS)
        seconds = time.monotonic() - begun
        said.seek(0)
        text = said.read(1 << 20).decode(errors="replace")
    code = os.waitstatus_to_exitcode(status)
    return Ended(_verdict(code, seconds, most, text), code, seconds, text)


def _be_the_command(words: list[str], said: int) -> None:
    """Run the command in the child process and exit; never return."""
    code = 70
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(said, 1)
        os.dup2(said, 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (mapped + MEMORY, mapped + MEMORY))
        torch.set_num_threads(1)
        saccade.tasks.base.memory_here = lambda: 1 << 26  # refuse larger models: valid, but slow
        command(words)
        code = 0
    except SystemExit as ending:
        code = ending.code if isinstance(ending.code, int) else int(ending.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _wait(child: int, deadline: float) -> tuple[int, int]:
    """Return the status and peak memory in bytes of a child; kill it after the deadline."""
    pause = 0.001
    while True:
        ended, status, usage = os.wait4(child, os.WNOHANG)
        if ended:
            return status, usage.ru_maxrss << 10
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            _, status, usage = os.wait4(child, 0)
            return status, usage.ru_maxrss << 10
        time.sleep(pause)
        pause = min(2 * pause, 0.05)


def _verdict(code: int, seconds: float, most: int, text: str) -> str:
    if seconds >= SECONDS:
        return "hang"
    if code < 0:
        return "crash"
    if most > MEMORY or "not enough memory" in text:
        return "memory"
    if "Traceback" in text or "should not have" in text:
        return "traceback"
    return "answered" if code == 0 else "refused"


FINE = ("answered", "refused")


def fuzz(kind: str, count: int, seed: int, folder: Path, keep: Path | None = None) -> Result:
    """Run `count` cases of a kind; copy files that cause a fault to `keep`."""
    verdicts: Counter[str] = Counter()
    faults, slowest = [], 0.0
    for number in range(count):
        chance = random.Random(f"{kind} {seed} {number}")
        with tempfile.TemporaryDirectory() as work:
            case = KINDS[kind](folder, Path(work), chance)
            ended = run_command(case.words)
            verdict = "accepted" if ended.verdict == "answered" and case.must_fail else ended.verdict
            verdicts[verdict] += 1
            slowest = max(slowest, ended.seconds)
            if verdict not in FINE:
                last = [line for line in ended.said.splitlines() if line.strip()][-1:] or [""]
                faults.append(f"{verdict}: {kind} {seed} {number}, {case.damaged[0].name}: {last[0][:200]}")
                print(faults[-1], file=sys.stderr, flush=True)
                _keep(keep, f"{kind}-{seed}-{number}", case, ended)
    return Result(kind, verdicts, faults, slowest)


def _keep(keep: Path | None, name: str, case: Case, ended: Ended) -> None:
    if keep is None:
        return
    place = keep / name
    place.mkdir(parents=True, exist_ok=True)
    (place / "said.txt").write_text(f"{' '.join(case.words)}\n\n{ended.said}", errors="replace")
    for path in case.damaged:
        shutil.copy(path, place)


def fuzz_all(count: int, seed: int, kinds: list[str] | None = None, keep: Path | None = None) -> Iterator[Result]:
    """Run `count` cases of each kind."""
    with tempfile.TemporaryDirectory() as folder:
        seeds(Path(folder))
        for kind in kinds or KINDS:
            yield fuzz(kind, count, seed, Path(folder), keep)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this part of faults.py."""
    parser.add_argument("count", type=int, nargs="?", default=200, help="cases of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", nargs="*", choices=[*KINDS])
    parser.add_argument("--keep", type=Path, help="folder for files that cause faults")


def table(results: list[Result]) -> str:
    """Return the verdicts as a Markdown table."""
    names = (*FINE, "traceback", "hang", "memory", "crash", "accepted")
    lines = [f"| damaged | {' | '.join(names)} | slowest (s) |", f"|---|{'---|' * (len(names) + 1)}"]
    for result in results:
        cells = " | ".join(str(result.verdicts[name]) for name in names)
        lines.append(f"| {result.kind} | {cells} | {result.slowest:.1f} |")
    return "\n".join(lines)


def run(options: argparse.Namespace, record: Record) -> Section:
    """Run commands on damaged files."""
    results = []
    for result in fuzz_all(options.count, options.seed, options.kinds, options.keep):
        record({"seed": options.seed, **result._asdict()})
        results.append(result)
    kinds = f" --kinds {' '.join(options.kinds)}" if options.kinds else ""
    text = f"{table(results)}\n\nEach case had {SECONDS} s and {MEMORY >> 30} GB.\n"
    faults = sum(len(result.faults) for result in results)
    return Section("Damaged files", f"files {options.count} --seed {options.seed}{kinds}", text, faults)
