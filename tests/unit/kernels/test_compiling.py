"""Kernels compile for a GPU in the shapes in which their tests launch them, also where there is none."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

pytest.importorskip("triton", reason="needs Triton")

TESTS = Path(__file__).parents[2]
KERNELS = TESTS.parent / "src" / "saccade" / "kernels"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there they are compiled and run")
def test_every_kernel_compiles_for_a_gpu(tmp_path):
    report = tmp_path / "report.json"
    here = {"COMPILE_REPORT": str(report), "TRITON_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(TESTS)}
    options = ["-p", "helpers.compile_only", "-p", "no:cacheprovider", "-q", "--tb=no", "--no-header"]
    others = sorted(set(Path(__file__).parent.glob("test_*.py")) - {Path(__file__)})
    launching = [str(path) for path in others if "triton" in path.read_text()]
    command = [sys.executable, "-m", "pytest", *options, *launching]
    subprocess.run(command, env={**os.environ, **here}, capture_output=True, check=False, timeout=600, cwd=TESTS.parent)
    found = json.loads(report.read_text(encoding="utf-8"))
    assert found["failed"] == []
    written = {
        f"{path.parent.name}.{path.stem}.{name}"
        for path in KERNELS.glob("*/*.py")
        for name in re.findall(r"^@triton\.jit.*\ndef (\w+_kernel)\(", path.read_text(), re.MULTILINE)
    }
    assert {".".join(name.split(".")[-3:]) for name in found["compiled"]} == written
