"""Our kernels compared with torch's operations: time of forward and backward on this machine.

    python benchmarks/kernels.py                   # half a minute on an idle machine; writes benchmarks/results/

Times are the best of a few runs in one process, ours and torch's in turn, because disturbances only add to them.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from saccade.kernels.additive import additive_scores
from saccade.kernels.additive.naive import naive_scores
from saccade.kernels.cross_entropy import cross_entropy
from saccade.kernels.dropout import dropout

ROWS, WIDTH, CLASSES, SMOOTHING, P = 2048, 256, 8000, 0.1, 0.1
PADDING = 0


class Case(NamedTuple):
    """Several implementations of an operation; the first is the baseline."""

    name: str
    ways: dict[str, Callable[[], Tensor]]
    parameters: list[Tensor]


def dropout_case() -> Case:
    x = torch.randn(ROWS, 1024, requires_grad=True)
    ways = {"torch": lambda: F.dropout(x, P).sum(), "ours": lambda: dropout(x, P).sum()}
    return Case(f"dropout of {ROWS} × 1024", ways, [x])


def additive_case() -> Case:
    query, keys = (torch.randn(4, 256, 512, requires_grad=True) for _ in range(2))
    v = torch.randn(512, requires_grad=True)
    ways = {
        "torch, by definition": lambda: naive_scores(query, keys, v).sum(),
        "ours": lambda: additive_scores(query, keys, v).sum(),
    }
    return Case("additive scores, 4 × 256 × 256, width 512", ways, [query, keys, v])


def loss_case() -> Case:
    hidden = torch.randn(ROWS, WIDTH, requires_grad=True)
    weight, bias = (torch.randn(CLASSES, WIDTH) * 0.05).requires_grad_(), torch.zeros(CLASSES, requires_grad=True)
    expected = torch.randint(1, CLASSES, (ROWS,))

    def whole() -> Tensor:
        logits = F.linear(hidden, weight, bias)
        return F.cross_entropy(logits, expected, ignore_index=PADDING, label_smoothing=SMOOTHING, reduction="sum")

    def divergence() -> Tensor:
        """Compute the loss as toolkits with dense targets do."""
        target = torch.full((ROWS, CLASSES), SMOOTHING / (CLASSES - 2))
        target.scatter_(1, expected[:, None], 1 - SMOOTHING)[:, PADDING] = 0
        return F.kl_div(F.linear(hidden, weight, bias).log_softmax(-1), target, reduction="sum")

    def chunked() -> Tensor:
        return cross_entropy(hidden, weight, bias, expected, smoothing=SMOOTHING, padding=PADDING).smoothed

    ways = {"torch cross_entropy": whole, "torch kl_div on dense targets": divergence, "ours": chunked}
    return Case(f"output layer and loss, {ROWS} rows, {CLASSES} classes", ways, [hidden, weight, bias])


def seconds(way: Callable[[], Tensor], parameters: list[Tensor]) -> tuple[float, float]:
    """Return the seconds of the forward pass, and of both passes."""
    for parameter in parameters:
        parameter.grad = None
    began = time.perf_counter()
    loss = way()
    between = time.perf_counter()
    loss.backward()
    return between - began, time.perf_counter() - began


def measure(case: Case, repeats: int) -> list[str]:
    best = dict.fromkeys(case.ways, (float("inf"), float("inf")))
    for _ in range(repeats):
        for name, way in case.ways.items():
            found = seconds(way, case.parameters)
            best[name] = (min(best[name][0], found[0]), min(best[name][1], found[1]))
    first = next(iter(best.values()))
    lines = []
    for name, (ahead, both) in best.items():
        times, ratios = f"{ahead * 1e3:.1f} | {both * 1e3:.1f}", f"{first[0] / ahead:.1f} | {first[1] / both:.1f}"
        lines.append(f"| {case.name} | {name} | {times} | {ratios} |")
        figures = {"forward_ms": 1e3 * ahead, "both_ms": 1e3 * both, "speedup": first[1] / both}
        rounded = {key: round(value, 2) for key, value in figures.items()}
        print(json.dumps({"case": f"{case.name}, {name}", **rounded}), flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "kernels")
    options = parser.parse_args()
    torch.manual_seed(0)
    lines = [line for case in (dropout_case(), additive_case(), loss_case()) for line in measure(case, options.repeats)]
    machine = f"{platform.machine()} CPU, {os.cpu_count()} cores, torch {torch.__version__}, fp32"
    report = f"""# Kernels

{machine}. Made by `python benchmarks/kernels.py`.
The last two columns are the speedup over the first implementation of each operation. Our loss computes its gradients in
the forward pass, so compare only both passes together.

| operation | implementation | forward ms | both passes ms | forward × | both × |
|---|---|---:|---:|---:|---:|
"""
    report += "\n".join(lines) + "\n"
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.with_suffix(".md").write_text(report, encoding="utf-8")


if __name__ == "__main__":
    main()
