"""How large a model may be, and how much memory there is."""

import os
import resource

import pytest
import torch

from saccade.errors import ConfigError
from saccade.models import size
from saccade.models.size import build_within, memory_here


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """Fake a machine with a gigabyte and without limits; arguments name limits that it has."""
    monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1 << 18}.__getitem__)

    def limited(container: str = "max", older: str | None = None, process: int = resource.RLIM_INFINITY) -> int:
        places = [tmp_path / "memory.max", tmp_path / "limit_in_bytes"]
        places[0].write_text(f"{container}\n")
        places[1].unlink(missing_ok=True)
        if older is not None:
            places[1].write_text(f"{older}\n")
        monkeypatch.setattr(size, "_LIMITS", tuple(map(str, places)))
        hard = {resource.RLIMIT_AS: 7}
        monkeypatch.setattr(resource, "getrlimit", lambda kind: (process, hard[kind]))
        return memory_here()

    return limited


def test_memory_is_the_machines_or_the_least_of_the_limits_there_are(machine):
    assert machine() == 1 << 30
    assert machine(container="5000") == 5000
    assert machine(process=6000) == 6000
    assert machine(container="5000", process=4000) == 4000
    assert machine(container="5000", older="3000", process=4000) == 3000
    assert machine(process=1 << 40) == 1 << 30


def test_a_model_may_be_as_large_as_the_room_and_no_byte_larger():
    make = lambda: torch.nn.Linear(999, 1000)  # noqa: E731
    assert build_within(make, 4_000_000, "the desk has").weight.shape == (1000, 999)
    with pytest.raises(ConfigError, match=r"would have 1,000,000 parameters, which are 0\.0 GB, but the desk has 0\.0"):
        build_within(make, 3_999_999, "the desk has")
    huge = lambda: torch.nn.Linear(99_999, 10_000)  # noqa: E731
    with pytest.raises(ConfigError, match=r"would have 1,000,000,000 parameters, which are 4\.0 GB, but here are 2\.5"):
        build_within(huge, 2_500_000_000, "here are")


def test_parameters_are_counted_whatever_their_precision():
    make = lambda: torch.nn.Linear(99_999, 10_000, dtype=torch.float64)  # noqa: E731
    with pytest.raises(ConfigError, match=r"would have 1,000,000,000 parameters, which are 8\.0 GB, but here are 2\.5"):
        build_within(make, 2_500_000_000, "here are")


def test_what_makes_no_sense_is_refused_in_its_own_words():
    def make():
        raise ConfigError("no such width")

    with pytest.raises(ConfigError, match=r"^no such width$"):
        build_within(make, 10**9, "here are")
