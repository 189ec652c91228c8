"""Additive attention of one query in each decoding step; run by additive_gpu.py.

Prints a line of JSON for each case. `bytes` is the minimal memory traffic. `share` is the time of a plain copy of so
many bytes, measured in the same run, divided by the device's busy time; it can exceed 1 if keys and values stay in the
L2 cache. `cold_ms` is one step with cold caches, launched from Python. `loop_ms` is the wall time of 50 steps, each of
which uses the previous step's context in its query. `busy_ms` is the device time in them, without the gaps.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from limits import copy_speed
from torch import Tensor
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile
from triton.testing import do_bench

from saccade.kernels.additive import one_query
from saccade.kernels.additive.collect import attend, collect
from saccade.kernels.additive.parts import Parts, Way

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))  # for the reference implementations
from helpers import additive_by_torch as by_torch
from helpers.naive_kernels import naive_attend

STEPS = 50
Attend = Callable[..., tuple[Tensor, Tensor]]


def measure() -> None:
    """Run all cases and print their results."""

    def say(**line: Any) -> None:
        rounded = {name: round(x, 5) if isinstance(x, float) else x for name, x in line.items()}
        print(json.dumps(rounded), flush=True)

    speed = copy_speed()
    say(case="a plain copy", gb_per_s=speed / 1e9)
    for dtype, features in itertools.product((torch.float32, torch.bfloat16, torch.float16), (0, 1, 10)):
        check(dtype, features, say)
    for features, rows in itertools.product((0, 1, 10), ((1024, 1), (128, 1), (16, 1), (1, 1), (1, 5))):
        one_step(features, *rows, speed, say)
    for width, rows in itertools.product((256, 512), ((1024, 1), (128, 1), (128, 5))):
        one_step(0, *rows, speed, say, width=width)
    for features in (0, 1, 10):
        loops(features, speed, say)


def inputs(batch: int, length: int, features: int, dtype: torch.dtype, width: int = 1024, size: int = 50) -> Parts:
    """Make random inputs; in every other sentence the last third of the keys is masked."""

    def some(*shape: int) -> Tensor:
        return torch.randn(*shape, device="cuda").to(dtype)

    mask = torch.ones(batch, 1, 1, size, dtype=torch.bool, device="cuda")
    mask[::2, ..., size - size // 3 :] = False
    return Parts(
        some(batch, 1, length, width), some(batch, 1, size, width), some(batch, 1, size, width),
        some(1, width) / width**0.5, mask,
        some(batch, 1, length, size, features) if features else None,
        some(1, width, features) if features else None,
    )  # fmt: skip


def run_steps(
    way: Way | None, parts: Parts, steps: int, *, collected: bool = True, attended: Attend = naive_attend
) -> Tensor:
    """Run steps whose query depends on the previous context; `way` None is the reference implementation."""
    query, keys, values, v, mask, features, matrix = parts
    if way is not None and collected:
        keys, values = collect(way, keys, values, v, matrix)
    total = query
    for _ in range(steps):
        if way is None:
            context, weights = attended(query, keys, values, v, mask, features, matrix)
        else:
            context, weights = attend(way, Parts(query, keys, values, v, mask, features, matrix))
        query = query + context
        total = total + context
        if features is not None:
            features = features + weights.unsqueeze(-1)
    return total


def leaves(parts: Parts) -> tuple[Parts, list[Tensor]]:
    """Copy the inputs with requires_grad, and return them and the list of those tensors."""
    own = Parts(*(x if x is None or x.dtype == torch.bool else x.detach().requires_grad_() for x in parts))
    return own, [x for x in own if x is not None and x.requires_grad]


def check(dtype: torch.dtype, features: int, say: Callable[..., None]) -> None:
    """Check three steps and all gradients against float64: at most twice the error of the reference implementation."""
    given = inputs(6, 2, features, dtype, width=200, size=37)
    gradient = torch.randn_like(given.query)
    exact = Parts(*(x if x is None or x.dtype == torch.bool else x.double() for x in given))
    ways: dict[str, tuple[Way | None, Parts]] = {
        "exact": (None, exact),
        "usual": (None, given),
        "ours": (one_query, given),
    }
    found = {}
    for name, (way, parts) in ways.items():
        own, wanted = leaves(parts)
        total = run_steps(way, own, 3)
        found[name] = [total, *torch.autograd.grad(total, wanted, gradient.to(total.dtype))]
    names = ["context"] + [
        f"to_{name}" for name, x in zip(Parts._fields, given, strict=True) if x is not None and name != "mask"
    ]
    errors: dict[str, dict[str, float]] = {}
    for way_name in ("usual", "ours"):
        pairs = zip(names, found[way_name], found["exact"], strict=True)
        errors[way_name] = {name: ((x.double() - y).norm() / y.norm()).item() for name, x, y in pairs}
    right = all(errors["ours"][name] <= max(2 * errors["usual"][name], 4 * torch.finfo(dtype).eps) for name in names)
    shown = {way_name: {name: f"{x:.1e}" for name, x in row.items()} for way_name, row in errors.items()}
    say(case="check", dtype=str(dtype), features=features, right=right, **shown)
    assert right, "the kernels are less exact than the reference allows: see the line above"


def one_step(
    features: int, batch: int, length: int, speed: float, say: Callable[..., None], *, width: int = 1024
) -> None:
    """Measure forward and gradients of one step, with cold caches and repeated."""
    parts = inputs(batch, length, features, torch.bfloat16, width)
    context, _, kept = one_query.attend(parts)
    to_context = torch.randn_like(context)
    to_scores = one_query.slopes(parts, kept, to_context, None).scores
    bytes_moved = sum(x.nbytes for x in parts if x is not None) + context.nbytes + kept.nbytes
    ways: dict[str, Callable[[], Any]] = {
        "by definition": lambda: naive_attend(*parts),
        "ours": lambda: one_query.attend(parts),
        "ours, slopes": lambda: one_query.slopes(parts, kept, to_context, None),
        "ours, gather": lambda: one_query.gather(parts, to_scores),
    }
    if batch > 100:  # compilation is slow
        compiled = torch.compile(naive_attend, dynamic=False)
        ways["torch.compile"] = lambda: compiled(*parts)
    with torch.no_grad():
        for name, way in ways.items():
            cold, during = do_bench(way, return_mode="median"), busy(way, 20) / 20
            say(
                case="one step", way=name, features=features, batch=batch, queries=length, width=width,
                bytes=bytes_moved, cold_ms=cold, busy_ms=during, share=bytes_moved / speed * 1e3 / during,
            )  # fmt: skip


def loops(features: int, speed: float, say: Callable[..., None]) -> None:
    """Measure 50 steps of 128 sentences: forward, and forward with backward."""
    parts = inputs(128, 1, features, torch.bfloat16)
    gradient = torch.randn_like(parts.query)
    read = parts.keys.nbytes + parts.values.nbytes
    ways: dict[str, tuple[Way | None, bool]] = {
        "by definition": (None, False), "ours, not collected": (one_query, False), "ours": (one_query, True),
        "ours in torch": (by_torch, True),
    }  # fmt: skip
    for name, (way, collected) in ways.items():
        own, wanted = leaves(parts)

        def forward(way: Way | None = way, own: Parts = own) -> None:
            with torch.no_grad():
                run_steps(way, own, STEPS)

        def both(
            way: Way | None = way, own: Parts = own, collected: bool = collected, to: list[Tensor] = wanted
        ) -> None:
            torch.autograd.grad(run_steps(way, own, STEPS, collected=collected), to, gradient)

        for passes, work, times in (("forward", forward, 1), ("both", both, 2)):
            clock = by_clock(work)
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
            work()
            torch.cuda.synchronize()
            memory = (torch.cuda.max_memory_allocated() - before) / 1e9
            moved = STEPS * times * read
            active = busy(work, 3) / 3
            say(
                case="loop", passes=passes, way=name, features=features, bytes=moved, loop_ms=clock, busy_ms=active,
                share=moved / speed * 1e3 / active, memory_gb=memory,
            )  # fmt: skip


def by_clock(work: Callable[[], Any]) -> float:
    """Return wall milliseconds, launches included: a median of six runs after two warm-ups."""
    times = []
    for _ in range(8):
        torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) * 1e3)
    return sorted(times[2:])[3]


def busy(work: Callable[[], Any], times: int) -> float:
    """Return milliseconds of device time, summed over all repetitions."""
    work()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as found:
        for _ in range(times):
            work()
        torch.cuda.synchronize()
    events = [event for event in found.key_averages() if event.device_type == DeviceType.CUDA]
    return float(sum(event.self_device_time_total for event in events)) / 1e3
