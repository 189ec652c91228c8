"""The oneDNN setting made before torch's first matmul."""

import os
import subprocess
import sys

import pytest

from saccade._cpu import keep_onednn_off_amx

VARIABLE = "ONEDNN_MAX_CPU_ISA"


@pytest.fixture
def cpu(tmp_path, monkeypatch):
    """A machine whose processor has these flags."""
    monkeypatch.delenv(VARIABLE, raising=False)

    def machine(flags):
        path = tmp_path / "cpuinfo"
        path.write_text(f"processor\t: 0\nmodel name\t: some amx_bf16 hypervisor\nflags\t\t: {flags}\nbogomips\t: 1\n")
        return path

    return machine


def test_a_virtual_machine_with_amx_is_kept_off_it(cpu):
    keep_onednn_off_amx(cpu("fpu hypervisor avx512f amx_bf16 amx_tile"))
    assert os.environ.pop(VARIABLE) == "AVX512_CORE_BF16"


@pytest.mark.parametrize("flags", ["fpu avx512f amx_bf16", "fpu hypervisor avx512f", "fpu"])
def test_other_machines_are_left_alone(cpu, flags):
    keep_onednn_off_amx(cpu(flags))
    assert VARIABLE not in os.environ


def test_the_users_own_value_stays(cpu, monkeypatch):
    monkeypatch.setenv(VARIABLE, "AVX512_CORE_AMX")
    keep_onednn_off_amx(cpu("hypervisor amx_bf16"))
    assert os.environ[VARIABLE] == "AVX512_CORE_AMX"


def test_a_machine_without_cpuinfo_is_left_alone(cpu, tmp_path):
    keep_onednn_off_amx(tmp_path / "missing")
    assert VARIABLE not in os.environ


def test_importing_saccade_loads_no_torch():
    code = "import sys, saccade; sys.exit('torch' in sys.modules or 'pydantic' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
