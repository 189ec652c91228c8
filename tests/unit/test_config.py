"""Settings: checked all at once, in plain words."""

import pytest
from pydantic import Field, ValidationError, model_validator

from saccade.config import (
    Config,
    Count,
    Depth,
    Fault,
    Index,
    Positive,
    Seed,
    Share,
    Weight,
    Width,
    check,
    merge,
    parse,
    refuse,
)
from saccade.errors import ConfigError


class Inner(Config):
    width: int = Field(8, gt=0)
    dropout: float = 0.0


class Outer(Config):
    name: str
    inner: Inner = Inner()
    other: Inner | None = None
    files: str | list[str] | None = None
    loud: bool = False

    @model_validator(mode="after")
    def _names_fit(self):
        if self.name == "bad":
            raise ValueError("'bad' is no name")
        return self


def test_good_settings_become_a_model():
    settings = parse(Outer, {"name": "a", "inner": {"width": 3}}, "recipe.yaml")
    assert settings.inner.width == 3
    assert settings.inner.dropout == 0.0


def test_settings_are_frozen():
    settings = Inner()
    with pytest.raises(ValidationError, match="frozen"):
        settings.width = 2


def test_every_fault_is_told_at_once():
    wrong = {"inner": {"width": -1, "dropout": "much"}, "nmae": "a"}
    with pytest.raises(ConfigError) as caught:
        parse(Outer, wrong, "recipe.yaml")
    first, *faults = str(caught.value).splitlines()
    assert first == "recipe.yaml cannot be used as it is:"
    assert len(faults) == 4
    text = "\n".join(faults)
    assert "inner.width: Input should be greater than 0 (it is -1); for example width: 8" in text
    assert "inner.dropout:" in text
    assert "(it is 'much')" in text
    assert "- name: this setting is needed" in text
    assert "nmae: setting 'nmae' does not exist. Did you mean 'name'? Known: files, inner, loud, name, other." in text


@pytest.mark.parametrize("place", ["inner", "other"])
def test_the_nearest_name_is_looked_for_where_the_wrong_one_stands(place):
    with pytest.raises(ConfigError, match=rf"{place}.widht.*mean 'width'\? Known: dropout, width\."):
        parse(Outer, {"name": "a", place: {"widht": 3}}, "recipe.yaml")


def test_types_are_not_guessed():
    with pytest.raises(ConfigError, match=r"inner.width: .*integer.*it is '3'"):
        parse(Outer, {"name": "a", "inner": {"width": "3"}}, "recipe.yaml")


def test_a_fault_of_the_whole_has_no_place():
    with pytest.raises(ConfigError, match=r"\n- 'bad' is no name$"):
        parse(Outer, {"name": "bad"}, "recipe.yaml")


def test_merge_lays_changes_over_nested_settings():
    base = {"a": {"b": 1, "c": 2}, "d": 3}
    assert merge(base, {"a": {"b": 9}, "e": 4}) == {"a": {"b": 9, "c": 2}, "d": 3, "e": 4}
    assert base == {"a": {"b": 1, "c": 2}, "d": 3}, "what was merged stays as it was"


def test_merge_replaces_what_is_not_nested_on_both_sides():
    assert merge({"a": {"b": 1}}, {"a": 2}) == {"a": 2}
    assert merge({"a": 2}, {"a": {"b": 1}}) == {"a": {"b": 1}}


def test_a_truth_value_is_shown_as_it_is_written():
    with pytest.raises(ConfigError, match=r"loud: .*\(it is 'on'\); for example loud: false"):
        parse(Outer, {"name": "a", "loud": "on"}, "recipe.yaml")


def test_where_several_types_would_do_there_is_one_fault():
    found, faults = check(Outer, {"name": "a", "files": ["x", 5]}, ("data",))
    assert found is None
    assert [fault.path for fault in faults] == [("data", "files"), ("data", "files", "1")]
    _, faults = check(Outer, {"name": "a", "files": 5})
    (fault,) = faults
    assert fault.path == ("files",)
    assert "a valid string (it is 5), or: Input should be a valid list" in fault.text


@pytest.mark.parametrize("number", [float("inf"), float("nan")])
def test_numbers_are_finite(number):
    with pytest.raises(ConfigError, match=r"inner\.dropout: Input should be a finite number"):
        parse(Outer, {"name": "a", "inner": {"dropout": number}}, "recipe.yaml")


def test_a_long_value_is_cut():
    with pytest.raises(ConfigError) as caught:
        parse(Outer, {"name": ["x" * 1000]}, "recipe.yaml")
    assert len(str(caught.value)) < 250


def test_faults_have_the_line_of_the_nearest_setting_that_has_one():
    faults = [Fault(("a", "b", "c"), "deep"), Fault(("d",), "none"), Fault((), "whole"), Fault(("e",), "changed")]
    lines = {("a",): 3, ("a", "b"): 4, ("e",): 0}
    assert str(refuse(faults, "here", lines)).splitlines()[1:] == [
        "- line 4, a.b.c: deep",
        "- d: none",
        "- whole",
        "- e: changed",
    ]


@pytest.mark.parametrize(("letters", "shown"), [(76, "['" + "x" * 76 + "']"), (77, "['" + "x" * 77 + "'…")])
def test_a_value_is_cut_only_where_it_is_too_long(letters, shown):
    with pytest.raises(ConfigError) as caught:
        parse(Outer, {"name": ["x" * letters]}, "recipe.yaml")
    assert str(caught.value).endswith(f"(it is {shown})")


def test_a_number_that_cannot_be_written_out_is_described():
    with pytest.raises(ConfigError, match=r"name: .*string \(it is a number of thousands of digits\)"):
        parse(Outer, {"name": 10**5000}, "recipe.yaml")


def test_a_line_of_another_file_is_named_as_it_is_given():
    lines = {("a",): "below.yaml, line 3", ("b",): 2, ("c",): ""}
    faults = [Fault(("a", "x"), "there"), Fault(("b",), "here"), Fault(("c",), "nowhere")]
    assert str(refuse(faults, "own.yaml", lines)).splitlines() == [
        "own.yaml cannot be used as it is:",
        "- below.yaml, line 3, a.x: there",
        "- line 2, b: here",
        "- c: nowhere",
    ]


def test_faults_of_the_whole_are_listed_one_by_one():
    class Pair(Config):
        first: Inner | Outer

    _, faults = check(Pair, {"first": 5}, ("a",))
    assert [fault.path for fault in faults] == [("a", "first")]
    _, faults = check(Outer, 5, ("a",))
    assert [fault.path for fault in faults] == [("a",)]


@pytest.mark.parametrize(
    ("kind", "least", "below", "above"),
    [
        (Count, 1, 0, 2**31),
        (Index, 0, -1, 2**31),
        (Seed, 0, -1, 2**63),
        (Width, 1, 0, 2**40),
        (Depth, 1, 0, 2**20),
        (Positive, 1e-9, 0.0, 1e30),
        (Weight, 0.0, -1e-9, 1e30),
        (Share, 0.0, -1e-9, 1.0),
    ],
)
def test_numbers_have_a_least_and_a_largest_value(kind, least, below, above):
    class Setting(Config):
        value: kind

    assert parse(Setting, {"value": least}, "it").value == least
    for wrong in (below, above):
        with pytest.raises(ConfigError, match=r"- value: Input should be (greater|less) than "):
            parse(Setting, {"value": wrong}, "it")


@pytest.mark.parametrize(("kind", "largest"), [(Count, 2**31 - 1), (Index, 2**31 - 1), (Seed, 2**63 - 1)])
def test_whole_numbers_may_fill_their_bytes(kind, largest):
    class Setting(Config):
        value: kind

    assert parse(Setting, {"value": largest}, "it").value == largest
