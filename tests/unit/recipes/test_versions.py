"""Recipes of version 1 keep their meaning; test_renamed.py is about names that later versions changed."""

import pytest

from saccade.errors import ConfigError
from saccade.recipes import RecipeText, parse_yaml
from saccade.recipes.versions import VERSION, upgraded
from saccade.runs.recipe import parse_recipe

HEAD = "task: translation\ndata: {corpus: english-french}\n"


def objective(train, more=""):
    found = parse_recipe(parse_yaml(f"{HEAD}train: {train}\n{more}", "here.yaml")).objective
    assert {term.pop("after") for term in found.values()} <= {0.0}
    return found


@pytest.mark.parametrize(
    ("train", "terms"),
    [
        ("{guided_alignment: 0.5}", {"guided_alignment": {"weight": 0.5, "site": None, "head": None}}),
        (
            "{guided_alignment: 0.5, guided_site: decoder.attention, guided_head: 1}",
            {"guided_alignment": {"weight": 0.5, "site": "decoder.attention", "head": 1}},
        ),
        ("{guided_head: 1}", {"guided_alignment": {"weight": 0.0, "site": None, "head": 1}}),
        ("{doubly_stochastic: 2.0}", {"doubly_stochastic": {"weight": 2.0}}),
        ("{reinforce_expected: 0.25}", {"reinforce": {"weight": 0.1, "entropy": 0.002, "expected": 0.25}}),
        (
            "{guided_alignment: 0.0, guided_site: null, guided_head: null, doubly_stochastic: 0.0, reinforce: 0.1, "
            "reinforce_entropy: 0.002, reinforce_expected: 0.5}",
            {},
        ),
    ],
)
def test_settings_of_train_become_terms(train, terms):
    assert objective(train) == terms


def test_the_old_name_switches_a_term_off():
    assert objective("{guided_alignment: 0}", "objective: {guided_alignment: {weight: 1.0}, coverage: {}}\n") == {
        "coverage": {"weight": 1.0}
    }


def test_a_term_can_be_taken_back():
    assert objective("{}", "objective: {coverage: null}\n") == {}


def test_a_fault_is_on_the_line_where_it_was_written():
    with pytest.raises(ConfigError, match=r"line 3, objective\.guided_alignment\.weight: .*greater than or equal to 0"):
        objective("{guided_alignment: -1.0}")


def test_what_is_of_today_stays_as_it_is():
    text = RecipeText({"task": "translation", "objective": {"coverage": {"weight": 2.0}}}, "here.yaml", {("task",): 1})
    assert upgraded(text) == text


@pytest.mark.parametrize(("version", "becomes"), [(1, VERSION), (VERSION, VERSION), (VERSION + 1, VERSION + 1)])
def test_versions_only_rise(version, becomes):
    assert upgraded(RecipeText({"version": version}, "here.yaml")).settings["version"] == becomes


@pytest.mark.parametrize("settings", [{"train": 5}, {"train": {"reinforce": 1.0}, "objective": [1]}])
def test_wrong_sections_are_left_for_the_checks(settings):
    assert upgraded(RecipeText(settings, "here.yaml")).settings == settings


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ("{coverag: {}}", "objective.coverag: term 'coverag' does not exist. Did you mean 'coverage'"),
        ("{coverage: {wieght: 1}}", "objective.coverage.wieght"),
        ("{coverage: {weight: x}}", "objective.coverage.weight: "),
        ("{coverage: 1.0}", "objective.coverage: "),
        ("{other.module:Term: {}}", "is code from outside saccade"),
        ("5", "objective: "),
    ],
)
def test_wrong_terms_are_refused(terms, said):
    with pytest.raises(ConfigError) as caught:
        objective("{}", f"objective: {terms}\n")
    assert said in str(caught.value)
