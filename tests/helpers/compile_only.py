"""A pytest plugin for machines without a GPU: kernels that tests launch are compiled for one, and do not run.

Triton's interpreter, in which the tests of kernels run there, does not check types and shapes as its compiler does.
Test results are then meaningless; kernels that fail to compile are listed in the file that COMPILE_REPORT names.
"""

import json
import os
from collections import Counter
from pathlib import Path

os.environ["TRITON_INTERPRET"] = "0"
os.environ["TRITON_DEFAULT_FP_FUSION"] = "1"

from triton.backends.compiler import GPUTarget
from triton.runtime import driver
from triton.runtime.jit import JITFunction

VARIANTS = 6
"""Maximum variants of a kernel to compile: more would take minutes, and find little."""
compiled: Counter[str] = Counter()
failed: list[str] = []
seen: set[str] = set()
run = JITFunction.run


class Hopper:
    """The part of a driver that compiling needs."""

    def get_current_target(self):
        return GPUTarget("cuda", 90, 32)

    def get_current_device(self):
        return 0

    def get_current_stream(self, device=None):
        return 0


def compile_only(kernel, *given, grid, warmup=False, **options):
    name = f"{kernel.fn.__module__}.{kernel.fn.__name__}"
    if compiled[name] >= VARIANTS:
        return
    try:
        made = run(kernel, *given, grid=grid, warmup=True, **options)
    except Exception as error:
        failed.append(f"{name}: {type(error).__name__}: {error}")
        raise
    compiled[name] += made.hash not in seen
    seen.add(made.hash)


driver.set_active(Hopper())
JITFunction.run = compile_only


def pytest_sessionfinish():
    report = json.dumps({"compiled": compiled, "failed": failed})
    Path(os.environ["COMPILE_REPORT"]).write_text(report, encoding="utf-8")
