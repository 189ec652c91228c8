"""How decoding grows with the lengths of source and target: O(l1 + l2) without attention, O(l1·l2) with it.

    python benchmarks/growth.py                    # a few minutes on an idle machine; writes benchmarks/results/
    python benchmarks/growth.py --lengths 32 64 128 --repeats 1 --out /tmp/growth     # a quick check

Each point is a real greedy search of the library, forced to generate exactly l2 words from l1 source words. Time is the
best of a few runs, because disturbances only add to it. Memory is the bytes of the tensors that the search keeps:
encoder output, decoder state and returned attention.

There are two fits. On the diagonal, l1 = l2 = l, the slope of log time over log l at the three longest lengths gives
the exponent of growth. Over all points, the fit time = a + b·l1 + c·l2 + d·l1·l2 separates the terms: the share of the
last one is the cost of attention.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from saccade import pytree
from saccade.batch import UNK, Batch
from saccade.models import Seq2Seq, build_seq2seq
from saccade.search import SearchConfig, decode

BATCH, VOCABULARY, WIDTH = 16, 32, 64


class Point(NamedTuple):
    """One measurement."""

    model: str
    source: int
    target: int
    seconds: float
    kept_bytes: int


def models() -> dict[str, Seq2Seq]:
    """Build the same encoder and decoder with one fixed vector, and with two kinds of attention."""
    torch.manual_seed(0)
    sizes = {
        "embedding": WIDTH,
        "encoder": {"width": WIDTH, "layers": 1, "dropout": 0.0},
        "decoder": {"width": WIDTH, "layers": 1, "dropout": 0.0},
    }
    names = {"no attention": "sutskever", "additive": "luong-concat", "dot": "luong-dot"}
    return {name: build_seq2seq(preset, VOCABULARY, VOCABULARY, **sizes).eval() for name, preset in names.items()}


def measure(name: str, model: Seq2Seq, source: int, target: int, repeats: int) -> Point:
    batch = Batch.from_lists(torch.randint(UNK + 1, VOCABULARY, (BATCH, source)).tolist())
    best = float("inf")
    for _ in range(repeats):
        began = time.perf_counter()
        found = decode(model, batch, SearchConfig(min_length=target, max_length=target + 1))
        best = min(best, time.perf_counter() - began)
        assert all(len(hypothesis.tokens) >= target for (hypothesis,) in found)
    memory = model.encode(batch)
    kept = [*pytree.leaves(memory), *pytree.leaves(model.init_state(memory, target))]
    kept += [weights for (hypothesis,) in found for weights in hypothesis.attention.values()]
    return Point(name, source, target, best, sum(t.numel() * t.element_size() for t in kept))


def exponent_of(points: list[Point], attribute: str) -> float:
    """Fit the exponent on the diagonal, over its three longest lengths."""
    diagonal = sorted((p for p in points if p.source == p.target), key=lambda p: p.source)[-3:]
    xs = np.log([p.source for p in diagonal])
    exponent = np.polyfit(xs, np.log([getattr(p, attribute) for p in diagonal]), 1)[0]
    return round(float(exponent), 4) + 0.0  # avoids -0.0


def product_share(points: list[Point]) -> float:
    """Return the share of l1·l2 in the time of the longest point, by a least-squares fit of the relative error."""
    columns = np.array([[1, p.source, p.target, p.source * p.target] for p in points], dtype=float)
    seconds = np.array([p.seconds for p in points])
    solution, *_ = np.linalg.lstsq(columns / seconds[:, None], np.ones(len(points)), rcond=None)
    longest = columns[columns[:, 3].argmax()]
    return float(max(0.0, solution[3] * longest[3]) / (longest @ solution))


def table(points: list[Point]) -> str:
    lines = ["| model | source | target | seconds | kept MB |", "|---|---:|---:|---:|---:|"]
    for p in points:
        lines.append(f"| {p.model} | {p.source} | {p.target} | {p.seconds:.3f} | {p.kept_bytes / 1e6:.3f} |")
    return "\n".join(lines)


def summary(points: list[Point]) -> str:
    lines = [
        "| model | exponent of time, equal lengths | exponent of memory | share of source·target in the longest time |",
        "|---|---:|---:|---:|",
    ]
    for name in dict.fromkeys(p.model for p in points):
        own = [p for p in points if p.model == name]
        of_time, of_memory = exponent_of(own, "seconds"), exponent_of(own, "kept_bytes")
        lines.append(f"| {name} | {of_time:.2f} | {of_memory:.2f} | {product_share(own):.0%} |")
    return "\n".join(lines)


def draw(points: list[Point], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FuncFormatter, LogLocator

    styles = {"no attention": ("#7a7a7a", "o-"), "additive": ("#0072b2", "o-"), "dot": ("#d55e00", "s--")}
    longest = max(p.source for p in points)
    panels = [
        ("both grow: l1 = l2", lambda p: p.source == p.target, "source", "seconds"),
        (f"source grows, l2 = {longest}", lambda p: p.target == longest, "source", "seconds"),
        ("memory kept, l1 = l2", lambda p: p.source == p.target, "source", "kept_bytes"),
    ]
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
    for axis, (title, keep, x, y) in zip(axes, panels, strict=True):
        for name, (color, line) in styles.items():
            own = sorted((p for p in points if p.model == name and keep(p)), key=lambda p: getattr(p, x))
            label = f"{name}  (slope {exponent_of(own, y):.2f})" if "l1 = l2" in title else name
            values = [getattr(p, y) / (1e6 if y == "kept_bytes" else 1) for p in own]
            axis.plot([getattr(p, x) for p in own], values, line, color=color, label=label, markersize=4)
        axis.set(
            xscale="log", yscale="log", title=title, xlabel="words", ylabel="MB" if y == "kept_bytes" else "seconds"
        )
        ticks = sorted({p.source for p in points})
        axis.set_xticks(ticks, [str(tick) for tick in ticks])
        axis.minorticks_off()
        axis.yaxis.set_major_locator(LogLocator(subs=(1, 3)))
        axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.grid(alpha=0.25)
        axis.legend(frameon=False, fontsize=8)
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", type=int, nargs="+", default=[128, 256, 512, 1024, 2048])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "growth")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    points = []
    for name, model in models().items():
        measure(name, model, options.lengths[0], options.lengths[0], 1)  # warm up
        for source in options.lengths:
            for target in options.lengths:
                points.append(measure(name, model, source, target, options.repeats))
                print(json.dumps(points[-1]._asdict()), flush=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    draw(points, options.out.with_suffix(".png"))
    config = (
        f"{platform.machine()} CPU, {options.threads} thread, torch {torch.__version__}, float32, batch {BATCH}, "
        f"width {WIDTH}, vocabulary {VOCABULARY}, best of {options.repeats}"
    )
    command = f"python benchmarks/growth.py --lengths {' '.join(map(str, options.lengths))} --repeats {options.repeats}"
    report = f"# Growth of decoding\n\n{config}. Made by `{command}`.\n\n{summary(points)}\n\n{table(points)}\n"
    options.out.with_suffix(".md").write_text(report)
    print(summary(points))


if __name__ == "__main__":
    main()
