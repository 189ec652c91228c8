"""All figures of a GPU in one command: the tests that vouch for a case, then the case.

    python benchmarks/gpu.py [--only decoding ...]

Writes benchmarks/results/gpu_<device>_<yyyymm>.jsonl, a line for each figure with commit, torch and device. A case
whose tests fail is not measured. About ten minutes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import torch

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Case:
    """A script with its arguments, and the tests without which its figures mean nothing."""

    command: list[str]
    tests: list[str]


CASES = {
    "additive": Case(["additive_gpu.py"], ["tests/unit/kernels/test_additive_fused.py"]),
    "recurrent": Case(
        ["recurrent_gpu.py"],
        ["tests/unit/kernels/test_cells.py", "tests/unit/kernels/test_deferred.py", "tests/unit/train/test_graphs.py"],
    ),
    "transformer": Case(
        ["transformer_gpu.py", "check", "step"],
        ["tests/unit/kernels/test_residual.py", "tests/unit/kernels/test_dot_short.py"],
    ),
    "decoding": Case(
        ["decoding_gpu.py"],
        [
            "tests/unit/kernels/test_step.py",
            "tests/unit/kernels/test_ranking.py",
            "tests/unit/search/test_recorded.py",
        ],
    ),
}


def vouched_for(case: Case) -> bool:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-n0", *case.tests]
    return subprocess.run(command, cwd=HERE.parent, stdout=subprocess.DEVNULL, check=False).returncode == 0


def measured(case: Case) -> list[dict[str, object]]:
    script, *arguments = case.command
    done = subprocess.run([sys.executable, str(HERE / script), *arguments], capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode:
        print(done.stderr[-2000:], file=sys.stderr)
    return [json.loads(line) for line in lines]


def commit() -> str:
    command = ["git", "-C", str(HERE), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() or "unknown"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=CASES, default=list(CASES))
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit(f"torch {torch.__version__} finds no GPU here, and these figures are a GPU's.")
    device = torch.cuda.get_device_name()
    name = device.split()[-1].lower()
    facts = {"commit": commit(), "torch": torch.__version__, "device": device, "day": time.strftime("%Y-%m-%d")}
    out = HERE / "results" / f"gpu_{name}_{time.strftime('%Y%m')}.jsonl"
    with out.open("a", encoding="utf-8") as lines:
        for label in options.only:
            if not vouched_for(CASES[label]):
                print(f"{label}: its tests fail, so it is not measured", file=sys.stderr)
                continue
            for figures in measured(CASES[label]):
                if "torch" not in figures:
                    entry = {"benchmark": label, **figures, **facts}
                    print(json.dumps({"benchmark": label, **figures}), flush=True)
                    lines.write(json.dumps(entry) + "\n")


if __name__ == "__main__":
    main()
