"""Memory while a large corpus is tokenized and trained on: it hardly grows with the number of pairs.

    python benchmarks/corpus_memory.py                            # 100k, 1M and 10M pairs; needs 4 GB of disk
    python benchmarks/corpus_memory.py 100000 --batches 50 --out /tmp/corpus_memory   # a quick check

The script writes synthetic Moses text to a temporary folder, in blocks of lines. Then it processes it as any corpus: it
trains tokenizers, builds a store, and trains a tiny model on batches of the store. Each phase runs in its own process,
so each has its own peak.

It reports two peaks. `peak` is the largest resident set. It includes resident pages of mapped files, which the system
can reclaim, so it grows with the store if memory is free. `own` is the largest anonymous memory, sampled 50 times a
second: the memory that the process needs.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

SIZES = (20_000, 100_000, 1_000_000, 10_000_000)
SMALLEST = 100_000
WORDS, BLOCK, SEED = 20_000, 10_000, 1
TOKENIZER_SIZE, TOKENS, WIDTH = 2000, 4096, 32
STATUS = Path("/proc/self/status")


def files(folder: Path) -> list[Path]:
    return [folder / "corpus.src", folder / "corpus.trg"]


def write(folder: Path, pairs: int, batches: int) -> dict[str, Any]:
    """Write sentences of 4 to 20 Zipf-distributed words; the target has the source's words, reversed and respelled."""
    import numpy as np

    chance = np.random.default_rng(SEED)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyzéèêàçßñ"))
    lengths = chance.integers(1, 10, (2, WORDS)).tolist()
    spellings = [["".join(chance.choice(letters, length)) for length in side] for side in lengths]
    frequencies = np.cumsum(1 / np.arange(1, WORDS + 1))
    source, target = files(folder)
    with source.open("w", encoding="utf-8") as left, target.open("w", encoding="utf-8") as right:
        for start in range(0, pairs, BLOCK):
            ends = chance.integers(4, 21, min(BLOCK, pairs - start)).cumsum().tolist()
            words = np.searchsorted(frequencies, chance.random(ends[-1]) * frequencies[-1]).tolist()
            for begin, end in zip([0, *ends], ends, strict=False):
                sentence = words[begin:end]
                left.write(" ".join([spellings[0][word] for word in sentence]) + "\n")
                right.write(" ".join([spellings[1][word] for word in reversed(sentence)]) + "\n")
    return {"MB": (source.stat().st_size + target.stat().st_size) / 1e6}


def learn(folder: Path, pairs: int, batches: int) -> dict[str, Any]:
    """Train the tokenizers of both sides."""
    from saccade.data.formats import examples
    from saccade.data.tokenizer import Tokenizer, TokenizerConfig, Tokenizers

    config = TokenizerConfig(kind="bpe", size=TOKENIZER_SIZE)

    def texts(side: str) -> Iterator[str]:
        return (getattr(example, side) for example in examples("translation", files(folder)))

    source, target = (Tokenizer.train(config, texts(side), side) for side in ("source", "target"))
    made = Tokenizers(source, target)
    (folder / "tokenizer.json").write_text(made.dump(), encoding="utf-8")
    return {}


def store(folder: Path, pairs: int, batches: int) -> dict[str, Any]:
    """Build the store of all pairs as tokens."""
    from saccade.data.formats import examples
    from saccade.data.store import Store

    made = Store.open(folder / "cache", "store", examples("translation", files(folder)), tokenizers(folder))
    assert len(made) == pairs
    return {"MB": sum(file.stat().st_size for file in (folder / "cache").rglob("*.npy")) / 1e6}


def train(folder: Path, pairs: int, batches: int) -> dict[str, Any]:
    """Train a tiny model on some hundred batches, from the middle of an epoch on."""
    import torch

    from saccade.data.batch_sampler import BatchSampler, Cursor
    from saccade.data.loader import Loader, lengths_of
    from saccade.data.store import Store
    from saccade.models import build_seq2seq

    torch.set_num_threads(1)
    both = tokenizers(folder)
    assert both.source is not None
    assert both.target is not None
    kept = Store.open(folder / "cache", "store", iter(()), both)
    began = time.perf_counter()
    loads = Loader(kept, BatchSampler(lengths_of(kept), TOKENS))(Cursor(0, batches))
    first = next(loads)
    ready = time.perf_counter() - began
    torch.manual_seed(SEED)
    part = {"width": WIDTH, "layers": 1, "dropout": 0.0}
    sizes = len(both.source), len(both.target)
    model = build_seq2seq("luong-dot", *sizes, embedding=WIDTH, encoder=part, decoder=part)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    done = 0
    for load in (first, *first_of(loads, batches - 1)):
        batch = load.batch
        loss = torch.nn.functional.cross_entropy(model(batch)[batch.expected_mask], batch.expected[batch.expected_mask])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        done += batch.size
    loads.close()  # type: ignore[attr-defined]
    return {"ready": ready, "done": done}


def tokenizers(folder: Path) -> Any:
    from saccade.data.tokenizer import Tokenizers

    return Tokenizers.parse((folder / "tokenizer.json").read_text(encoding="utf-8"), "tokenizer.json")


def first_of(items: Iterator[Any], count: int) -> Iterator[Any]:
    return (item for _, item in zip(range(count), items, strict=False))


PHASES: dict[str, Callable[[Path, int, int], dict[str, Any]]] = {
    "write the text": write,
    "learn the tokenizers": learn,
    "make the store": store,
    "train": train,
}


class OwnMemory(threading.Thread):
    """Samples this process's anonymous memory, if the system reports it."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak, self._done = 0.0, threading.Event()

    def run(self) -> None:
        while STATUS.exists() and not self._done.wait(0.02):
            found = re.search(r"^RssAnon:\s*(\d+) kB", STATUS.read_text(), re.MULTILINE)
            self.peak = max(self.peak, int(found[1]) * 1024 / 1e6 if found else 0.0)

    def finish(self) -> float | None:
        self._done.set()
        self.join()
        return self.peak or None


def child(phase: str, folder: Path, pairs: int, batches: int) -> None:
    """Run one phase and print its time and memory."""
    watch = OwnMemory()
    watch.start()
    began = time.perf_counter()
    found = PHASES[phase](folder, pairs, batches)
    seconds = time.perf_counter() - began
    own = watch.finish()
    unit = 1 if sys.platform == "darwin" else 1024  # unit of ru_maxrss, in bytes
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
    print(json.dumps({"pairs": pairs, "phase": phase, "seconds": seconds, "peak": peak, "own": own, **found}))


def measure(pairs: int, batches: int, scratch: Path | None) -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="saccade-", dir=scratch) as folder:
        for phase in PHASES:
            command = [sys.executable, __file__, str(pairs), "--phase", phase, "--folder", folder]
            done = subprocess.run([*command, "--batches", str(batches)], stdout=subprocess.PIPE, check=True, text=True)
            yield json.loads(done.stdout)


def table(points: list[dict[str, Any]]) -> str:
    lines = [
        "| pairs | phase | seconds | pairs/s | peak MB | own MB | MB on disk |",
        "|---:|---|---:|---:|---:|---:|---:|",
    ]
    for p in points:
        speed = p.get("done", p["pairs"]) / (p["seconds"] - p.get("ready", 0.0))
        own = "" if p["own"] is None else f"{p['own']:,.0f}"
        disk = f"{p['MB']:,.0f}" if "MB" in p else ""
        numbers = f"{p['seconds']:,.1f} | {speed:,.0f} | {p['peak']:,.0f} | {own} | {disk}"
        lines.append(f"| {p['pairs']:,} | {p['phase']} | {numbers} |")
    return "\n".join(lines)


def summary(points: list[dict[str, Any]]) -> str:
    """Summarize the growth of own memory per pair for each phase, and the time to the first batch."""
    fewest, most = min(p["pairs"] for p in points), max(p["pairs"] for p in points)
    lines = []
    for phase in PHASES:
        ends = {p["pairs"]: p for p in points if p["phase"] == phase}
        if fewest < most and ends[most]["own"] is not None:
            growth = (ends[most]["own"] - ends[fewest]["own"]) * 1e6 / (most - fewest)
            lines.append(f"- {phase}: {growth:.1f} bytes of own memory for each further pair")
    waits = {p["pairs"]: p["ready"] for p in points if "ready" in p}
    lines += [f"- the first batch of {pairs:,} pairs was ready after {wait:.2f} s" for pairs, wait in waits.items()]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=int, nargs="?", default=SIZES[-1], help="pairs of the largest corpus")
    parser.add_argument("--batches", type=int, default=300, help="number of training batches")
    parser.add_argument("--scratch", type=Path, help="folder for temporary files")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "corpus_memory")
    parser.add_argument("--phase", choices=PHASES, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.phase:
        child(options.phase, options.folder, options.pairs, options.batches)
        return
    smaller = [size for size in SIZES if size < options.pairs and (size >= SMALLEST or options.pairs <= SMALLEST)]
    points = []
    for pairs in (*smaller, options.pairs):
        for point in measure(pairs, options.batches, options.scratch):
            points.append(point)
            print(json.dumps(point), file=sys.stderr, flush=True)
    import tokenizers as library
    import torch

    config = (
        f"{platform.machine()} CPU, {os.cpu_count()} cores, torch {torch.__version__}, tokenizers "
        f"{library.__version__}; BPE of {TOKENIZER_SIZE} subwords, {TOKENS} tokens per batch, {options.batches} "
        f"batches of a recurrent model of width {WIDTH}"
    )
    command = f"python benchmarks/corpus_memory.py {options.pairs} --batches {options.batches}"
    explanation = (
        "Each phase runs in its own process. `peak` is its largest resident set, including pages of mapped files, "
        "which the system can reclaim; `own` is the largest anonymous memory, which it cannot."
    )
    report = f"# Memory of a large corpus\n\n{config}. Made by `{command}`.\n\n{explanation}\n"
    report += f"\n{table(points)}\n\n{summary(points)}\n"
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.with_suffix(".md").write_text(report, encoding="utf-8")
    print(report)


if __name__ == "__main__":
    main()
