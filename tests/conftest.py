"""Every test starts from the same seed, on one thread; tests share one tiny trained model."""

import os

os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")  # before torch: see saccade._cpu

import hypothesis
import pytest
import torch

if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")  # before Triton: its kernels then run on the CPU, slowly
torch.set_num_threads(1)
hypothesis.settings.register_profile("saccade", deadline=None, derandomize=True, max_examples=15, database=None)
hypothesis.settings.load_profile("saccade")
LONG = ("test_every_kernel_compiles_for_a_gpu", "test_two_processes_are_killed")
"""Tests of half a minute and more, which begin first: at the end, one worker would wait for them."""


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: not item.name.startswith(LONG))


@pytest.fixture(autouse=True)
def same_random_numbers_each_time():
    torch.manual_seed(1)


@pytest.fixture(scope="session")
def text(tmp_path_factory):
    """A folder with a tiny parallel text and its recipe."""
    from helpers.recipes import write_recipe

    folder = tmp_path_factory.mktemp("text")
    write_recipe(folder)
    return folder


@pytest.fixture(scope="session")
def translator(text):
    """The folder of a model that writes words in capitals; not to be changed."""
    from saccade.runs.recipe import load_recipe
    from saccade.runs.training import train

    folder = text / "translator"
    train(load_recipe(str(text / "recipe.yaml")), folder)
    return folder


@pytest.fixture
def copied(translator, tmp_path):
    """A copy of the model folder for tests that damage it; without checksums, as older versions wrote it."""
    import shutil

    return shutil.copytree(translator, tmp_path / "copied", ignore=shutil.ignore_patterns("SHA256SUMS"))


@pytest.fixture(scope="session")
def model(translator):
    """The same model, loaded."""
    import saccade

    return saccade.load(translator, device="cpu")
