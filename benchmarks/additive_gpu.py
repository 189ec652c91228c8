"""Additive attention on a GPU: by definition, compiled, and by our kernels, beside what the hardware allows.

    python benchmarks/additive_gpu.py                # a few minutes; writes benchmarks/results/
    python benchmarks/additive_gpu.py --only steps   # of `many`, `steps` and `blocks` one

`many`: 64 sentences, as many queries as keys, width 512, bfloat16, random data: scores, softmax, weighted sum. Times
are medians, by CUDA events. The limit counts one special function for each tanh, 16 for each multiprocessor and clock.
`steps` and `blocks` are in additive_steps.py. The kernels are checked against float64 before anything is timed.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import additive_steps
import torch
import triton
from torch import Tensor
from triton.testing import do_bench

from saccade.kernels.additive import additive_scores
from saccade.kernels.additive.naive import naive_scores

SENTENCES, WIDTH = 64, 512
Scores = Callable[[Tensor, Tensor, Tensor], Tensor]


def attend(scores: Scores, query: Tensor, keys: Tensor, v: Tensor, values: Tensor) -> Tensor:
    return scores(query, keys, v).softmax(-1).to(values.dtype) @ values


def check() -> str:
    """How exact the kernels are beside the definition in the same precision."""
    parts = [torch.randn(4, n, 192, device="cuda", dtype=torch.bfloat16) for n in (100, 130)]
    v = torch.randn(192, device="cuda", dtype=torch.bfloat16)
    errors = []
    exact = naive_scores(parts[0].double(), parts[1].double(), v.double())
    for way in (additive_scores, naive_scores):
        errors.append(((way(*parts, v).double() - exact).norm() / exact.norm()).item())
    assert errors[0] <= 2 * errors[1], errors
    return f"Relative error of bfloat16 scores against float64: ours {errors[0]:.1e}, by definition {errors[1]:.1e}."


def measure(name: str, scores: Scores, length: int, limit: float) -> str:
    parts = [torch.randn(SENTENCES, length, WIDTH, device="cuda", dtype=torch.bfloat16) for _ in range(3)]
    query, keys, values = (part.requires_grad_() for part in parts)
    v = torch.randn(WIDTH, device="cuda", dtype=torch.bfloat16).requires_grad_()
    slope = torch.randn(SENTENCES, length, WIDTH, device="cuda", dtype=torch.bfloat16)

    def forward() -> Tensor:
        with torch.no_grad():
            return attend(scores, query, keys, v, values)

    def both() -> None:
        torch.autograd.grad(attend(scores, query, keys, v, values), (query, keys, v, values), slope)

    times = [do_bench(each, return_mode="median") for each in (forward, both)]
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    both()
    memory = (torch.cuda.max_memory_allocated() - before) / 1e9
    figures = {"forward_ms": times[0], "both_ms": times[1], "memory_gb": memory, "share": limit / times[0]}
    rounded = {key: round(value, 3) for key, value in figures.items()}
    print(json.dumps({"case": f"{SENTENCES} x {length} x {length} x {WIDTH}, {name}", **rounded}), flush=True)
    return f"| {length} | {name} | {times[0]:.2f} | {times[1]:.2f} | {memory:.2f} | {limit / times[0]:.0%} |"


def many(out: Path) -> None:
    device = torch.cuda.get_device_properties(0)
    exactness = check()
    ways = {"by definition": naive_scores, "torch.compile": torch.compile(naive_scores), "ours": additive_scores}
    lines = []
    for length in (256, 512):
        tanh = SENTENCES * length * length * WIDTH
        limit = tanh / (device.multi_processor_count * 16 * 1.98e9) * 1e3
        for name, scores in ways.items():
            lines.append(measure(name, scores, length, limit))
    report = f"""# Additive attention on a GPU

{device.name}, torch {torch.__version__}, Triton {triton.__version__}. Made by `python benchmarks/additive_gpu.py`.
{SENTENCES} sentences, width {WIDTH}, bfloat16. {exactness}

| words | way | forward ms | both passes ms | memory GB | special-function limit / forward |
|---:|---|---:|---:|---:|---:|
"""
    report += "\n".join(lines) + "\n"
    report += "\nMore than 100 % is possible, since our kernels need half a special function for a tanh.\n"
    out.with_suffix(".md").write_text(report, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "additive_gpu")
    parser.add_argument("--only", choices=["many", "steps", "blocks", "sweep"])
    options = parser.parse_args()
    torch.manual_seed(0)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    if options.only in (None, "many"):
        many(options.out)
    if options.only == "sweep":
        additive_steps.sweep()
    cases = [case for case in ("steps", "blocks") if options.only in (None, case)]
    if cases:
        lines = additive_steps.measure(cases)
        options.out.with_name("additive_steps.jsonl").write_text("".join(f"{x}\n" for x in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
