"""Parts from outside the package: named by module and class, imported only where they are trusted."""

import sys
from types import SimpleNamespace

import pytest
import torch

from saccade.attention import SCORES, Score, build_attention
from saccade.errors import ConfigError
from saccade.outside import find_factory, find_part, is_outside, trusting


class First(Score):
    """The first entries compared; takes whatever else a Score takes."""

    def __init__(self, query_width, key_width, **options):
        super().__init__(query_width, key_width, **options)

    def forward(self, query, keys, past=None):
        return query[..., :1] @ keys[..., :1].mT


class Headless(Score):
    def __init__(self, query_width, key_width):
        super().__init__(query_width, key_width)


def make():
    return "made"


constant = 3


@pytest.fixture
def trusted():
    with trusting():
        yield


@pytest.fixture(autouse=True)
def module(monkeypatch):
    """A user's module, ready to be imported."""
    places = {"First": First, "Headless": Headless, "make": make, "constant": constant, "Plain": object}
    monkeypatch.setitem(sys.modules, "parts_for_tests", SimpleNamespace(**places))


def test_a_part_from_outside_is_built_like_any_other(trusted):
    attention = build_attention("parts_for_tests:First", 4, 4, heads=2)
    assert type(attention.inner.score) is First
    assert attention(torch.randn(1, 2, 4), attention.bank(torch.randn(1, 3, 4))).context.shape == (1, 2, 4)


def test_trust_ends_with_its_block_and_is_not_taken_back_inside_it():
    with trusting():
        with trusting(False):
            assert find_part("score", "parts_for_tests:First", SCORES) is First
        assert find_part("score", "parts_for_tests:First", SCORES) is First
    with pytest.raises(ConfigError, match="--trust-code"):
        find_part("score", "parts_for_tests:First", SCORES)
    with trusting(False), pytest.raises(ConfigError, match="--trust-code"):
        find_factory("grid", "parts_for_tests:make")


def test_names_without_a_colon_are_those_of_the_table():
    assert is_outside("package:Name")
    assert not is_outside("additive")
    assert find_part("score", "additive", SCORES) is SCORES["additive"]


def test_something_to_call_is_found_by_its_place(trusted):
    assert find_factory("grid", "parts_for_tests:make")() == "made"
    with pytest.raises(ConfigError, match="cannot be called"):
        find_factory("grid", "parts_for_tests:constant")


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("parts_for_tests:Headless", "does not accept the number of heads"),
        ("parts_for_tests:Plain", "is no Score"),
        ("parts_for_tests:make", "is no Score"),
        ("parts_for_tests:Missing", "cannot be imported"),
        ("no_such_module_for_tests:First", "cannot be imported.*PYTHONPATH"),
    ],
)
def test_what_does_not_fit_is_refused(trusted, name, match):
    with pytest.raises(ConfigError, match=match):
        find_part("score", name, SCORES)
