"""Additive attention on a GPU: reference implementation, torch.compile and our kernels, against the hardware limit.

    python benchmarks/additive_gpu.py                # a few minutes, a JSON line for each result
    python benchmarks/additive_gpu.py --only steps   # or `many`

`many`: 64 sentences, as many queries as keys, width 512, bfloat16, random data: scores, softmax, weighted sum. Times
are medians, by CUDA events. `share` compares with a limit of one special-function operation for each tanh, at 16
operations for each multiprocessor and clock cycle. Our kernels need half an operation, so it can exceed 1.
`steps` is in additive_steps.py. The kernels are checked against float64 before anything is timed.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable

import additive_steps
import torch
from torch import Tensor
from triton.testing import do_bench

from saccade.kernels.additive import additive_scores
from saccade.kernels.additive.naive import naive_scores

SENTENCES, WIDTH = 64, 512
Scores = Callable[[Tensor, Tensor, Tensor], Tensor]


def attend(scores: Scores, query: Tensor, keys: Tensor, v: Tensor, values: Tensor) -> Tensor:
    return scores(query, keys, v).softmax(-1).to(values.dtype) @ values


def check() -> None:
    """Check that the kernels' error is at most twice that of the reference implementation in the same precision."""
    parts = [torch.randn(4, n, 192, device="cuda", dtype=torch.bfloat16) for n in (100, 130)]
    v = torch.randn(192, device="cuda", dtype=torch.bfloat16)
    errors = []
    exact = naive_scores(parts[0].double(), parts[1].double(), v.double())
    for way in (additive_scores, naive_scores):
        errors.append(((way(*parts, v).double() - exact).norm() / exact.norm()).item())
    assert errors[0] <= 2 * errors[1], errors
    line = {"case": "relative error of scores against float64", "ours": errors[0], "by_definition": errors[1]}
    print(json.dumps({key: float(f"{x:.2g}") if isinstance(x, float) else x for key, x in line.items()}), flush=True)


def measure(name: str, scores: Scores, length: int, limit: float) -> None:
    parts = [torch.randn(SENTENCES, length, WIDTH, device="cuda", dtype=torch.bfloat16) for _ in range(3)]
    query, keys, values = (part.requires_grad_() for part in parts)
    v = torch.randn(WIDTH, device="cuda", dtype=torch.bfloat16).requires_grad_()
    gradient = torch.randn(SENTENCES, length, WIDTH, device="cuda", dtype=torch.bfloat16)

    def forward() -> Tensor:
        with torch.no_grad():
            return attend(scores, query, keys, v, values)

    def both() -> None:
        torch.autograd.grad(attend(scores, query, keys, v, values), (query, keys, v, values), gradient)

    times = [do_bench(each, return_mode="median") for each in (forward, both)]
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    both()
    memory = (torch.cuda.max_memory_allocated() - before) / 1e9
    figures = {"forward_ms": times[0], "both_ms": times[1], "memory_gb": memory, "share": limit / times[0]}
    rounded = {key: round(value, 3) for key, value in figures.items()}
    print(json.dumps({"case": f"{SENTENCES} x {length} x {length} x {WIDTH}, {name}", **rounded}), flush=True)


def many() -> None:
    device = torch.cuda.get_device_properties(0)
    check()
    ways = {"by definition": naive_scores, "torch.compile": torch.compile(naive_scores), "ours": additive_scores}
    for length in (256, 512):
        tanh = SENTENCES * length * length * WIDTH
        limit = tanh / (device.multi_processor_count * 16 * 1.98e9) * 1e3
        for name, scores in ways.items():
            measure(name, scores, length, limit)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["many", "steps"])
    options = parser.parse_args()
    torch.manual_seed(0)
    if options.only in (None, "many"):
        many()
    if options.only in (None, "steps"):
        additive_steps.measure()


if __name__ == "__main__":
    main()
