"""Recipes with a base recipe."""

import pytest

from saccade.errors import ConfigError
from saccade.recipes import override, read_recipe
from saccade.runs.recipe import load_recipe

BELOW = """
note: below
task: translation
data: {train: [a.en, a.de], valid: [b.en, b.de]}
tokenizer: {kind: bpe, size: 500}
model: {preset: bahdanau, embedding: 32}
train: {steps: 10, lr: 1e-3}
"""


def write(folder, **recipes):
    for name, text in recipes.items():
        (folder / f"{name}.yaml").write_text(text)
    return str(folder / "own.yaml")


def test_what_a_recipe_does_not_say_its_base_says(tmp_path):
    own = write(tmp_path, below=BELOW, own="base: below.yaml\nnote: own\ntrain: {lr: 5e-3}\nmodel: {embedding: 8}\n")
    recipe = load_recipe(own)
    assert (recipe.note, recipe.train.steps, recipe.train.lr) == ("own", 10, 5e-3)
    assert (recipe.preset, recipe.model["embedding"], recipe.tokenizer.size) == ("bahdanau", 8, 500)
    assert "base" not in recipe.dump()


def test_a_model_with_its_own_preset_takes_nothing_over(tmp_path):
    own = write(tmp_path, below=BELOW, own="base: below.yaml\nmodel: {preset: transformer-base, tied: false}\n")
    recipe = load_recipe(own)
    assert recipe.preset == "transformer-base"
    assert "embedding" not in recipe.model


def test_bases_may_have_bases_and_ship(tmp_path):
    own = write(
        tmp_path,
        middle="base: english-french\ntrain: {steps: 7}\n",
        own="base: middle.yaml\ntrain: {lr: 1e-4}\n",
    )
    recipe = load_recipe(own)
    assert (recipe.data.corpus, recipe.train.steps, recipe.train.lr) == ("english-french", 7, 1e-4)


def test_the_command_line_has_the_last_word(tmp_path):
    own = write(tmp_path, below=BELOW, own="base: below.yaml\ntrain: {lr: 5e-3}\n")
    assert override(read_recipe(own), ["train.lr=1"]).settings["train"] == {"steps": 10, "lr": 1}


@pytest.mark.parametrize(
    ("recipes", "message"),
    [
        ({"own": "base: other.yaml\n", "other": "base: own.yaml\n"}, r"other\.yaml: base 'own\.yaml' refers to itself"),
        ({"own": "base: 3\n"}, r"base 3 must be the name of a recipe or its file"),
        ({"own": "base: english-frensh\n"}, r"recipe 'english-frensh' does not exist. Did you mean 'english-french'"),
    ],
)
def test_a_base_that_cannot_be_stood_on_is_told(tmp_path, monkeypatch, recipes, message):
    write(tmp_path, **recipes)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=message):
        read_recipe("own.yaml")


def test_faults_of_the_own_part_keep_their_lines(tmp_path):
    own = write(tmp_path, below=BELOW, own="base: below.yaml\ntrain:\n  stepps: 3\n")
    with pytest.raises(ConfigError, match=r"line 3, train\.stepps"):
        load_recipe(own)


def test_faults_of_the_base_are_told_with_its_name_and_line(tmp_path):
    own = write(tmp_path, below=BELOW.replace("steps", "stepps"), own="base: below.yaml\n")
    with pytest.raises(ConfigError, match=r"own\.yaml cannot be used.*\n- .*below\.yaml, line \d, train\.stepps"):
        load_recipe(own)
