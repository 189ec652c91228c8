"""Run all GPU benchmarks: for each case its correctness tests first, then the measurement.

    python benchmarks/gpu.py [--only decoding ...]

Writes benchmarks/results/gpu_<device>_<yyyymm>.jsonl.xz, a line for each result with commit, torch and device. A case
whose tests fail is not measured, and the command ends with an error. About fifteen minutes.
"""

from __future__ import annotations

import argparse
import sys

import torch
from gated import Case, record

KERNELS = "tests/unit/kernels/test_"


def _tests(*names: str) -> list[str]:
    return [f"{KERNELS}{name}.py" for name in names]


CASES = {
    "additive": Case(["additive_gpu.py", "--only", "many"], _tests("additive", "additive_fused")),
    "steps": Case(["additive_gpu.py", "--only", "steps"], _tests("additive_one_query", "additive_collect")),
    "recurrent": Case(
        ["recurrent_gpu.py"],
        [
            *_tests(
                "cells",
                "deferred_weight_grad",
                "dot_few",
                "additive_one_query",
                "additive_collect",
                "cross_entropy_fused",
            ),
            "tests/unit/train/test_graphed_update.py",
        ],
    ),
    "transformer": Case(
        ["transformer_gpu.py", "check", "ops", "step"],
        _tests("residual", "dot_short", "linear", "columns", "cross_entropy_fused"),
    ),
    "small": Case(["small_gpu.py"], _tests("cells", "ranking", "step")),
    "peers": Case(["peers_gpu.py"], []),
    "decoding": Case(
        ["decoding_gpu.py"], [*_tests("step", "ranking", "search_update"), "tests/unit/search/test_graphed_search.py"]
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES))
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit(f"torch {torch.__version__} finds no GPU; these benchmarks need one.")
    device = torch.cuda.get_device_name()
    return int(record(CASES, options.only, device, f"gpu_{device.split()[-1].lower()}") > 0)


if __name__ == "__main__":
    sys.exit(main())
