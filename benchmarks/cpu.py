"""Run all CPU benchmarks: for each case its correctness tests first, then the measurement.

    python benchmarks/cpu.py [--only kernels ...] [--data DIR] [--model MODEL --peer-python VENV/bin/python]

Writes benchmarks/results/cpu_<cores>_<yyyymm>.jsonl.xz, a line for each result with commit, torch and processor. A case
whose tests fail is not measured, and the command ends with an error. Training needs --data, the folder of Multi30k.
The comparison with CTranslate2 also needs a trained Transformer and a Python with CTranslate2; see multi30k.py and
ctranslate2.py.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from pathlib import Path

from gated import Case, record


def cases(data: Path | None, model: Path | None, peer: Path | None) -> dict[str, Case]:
    """Return the cases whose inputs were given."""
    tests = {
        name: f"tests/unit/kernels/test_{name}.py"
        for name in ("additive", "cross_entropy", "dropout", "native", "packed")
    }
    found = {
        "kernels": Case(["kernels.py"], [tests["additive"], tests["cross_entropy"], tests["dropout"]]),
        "products": Case(["products.py"], [tests["native"], tests["packed"]]),
        "growth": Case(["growth.py"], [tests["additive"]]),
    }
    if data is not None:
        wanted = ["multi30k.py", "train", "--data", str(data)]
        found["training"] = Case(wanted, [tests["cross_entropy"], tests["dropout"]])
    if data is not None and model is not None and peer is not None:
        wanted = ["ctranslate2.py", str(model), "--data", str(data), "--peer-python", str(peer)]
        found["decoding"] = Case(
            wanted, [tests["native"], tests["packed"], "tests/unit/search/test_continuous_batching.py"]
        )
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--peer-python", type=Path)
    options = parser.parse_args()
    known = cases(options.data, options.model, options.peer_python)
    if unknown := [name for name in options.only or () if name not in known]:
        parser.error(f"there is no case {unknown[0]}, or its inputs are missing. Available: {', '.join(known)}")
    device = f"{platform.machine()} CPU, {os.cpu_count()} cores"
    return int(record(known, options.only or known, device, f"cpu_{os.cpu_count()}cores") > 0)


if __name__ == "__main__":
    sys.exit(main())
