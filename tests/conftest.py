"""Every test starts from the same numbers, on one thread."""

import os

os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")  # before torch: see saccade._cpu

import hypothesis
import pytest
import torch

torch.set_num_threads(1)
hypothesis.settings.register_profile("saccade", deadline=None, derandomize=True, max_examples=15, database=None)
hypothesis.settings.load_profile("saccade")


@pytest.fixture(autouse=True)
def same_random_numbers_each_time():
    torch.manual_seed(1)
