"""Settings: checked all at once, in plain words."""

import pytest
from pydantic import Field, ValidationError, model_validator

from saccade.config import Config, merge, parse
from saccade.errors import ConfigError


class Inner(Config):
    width: int = Field(8, gt=0)
    dropout: float = 0.0


class Outer(Config):
    name: str
    inner: Inner = Inner()
    other: Inner | None = None

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
    assert "inner.width: Input should be greater than 0 (it is -1)" in text
    assert "inner.dropout:" in text
    assert "(it is 'much')" in text
    assert "- name: Field required" in text
    assert "nmae: setting 'nmae' does not exist. Did you mean 'name'? Known: inner, name, other." in text


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
