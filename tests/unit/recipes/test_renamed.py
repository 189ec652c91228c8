"""Settings by their old names: read as the new ones, with one warning for each file."""

import pytest

from saccade.errors import ConfigError
from saccade.recipes import RecipeText, override, parse_yaml, read_recipe, shipped
from saccade.recipes.renamed import RENAMED, TASKS, with_new_names
from saccade.runs.recipe import load_recipe, parse_recipe

OLD = """\
task: language
data: {train: "{what}.txt", names: {what: a}}
model: {decoder: {start: zero, cell: lstm}, init: {forget: 1.0}}
vectors: {tune: false}
train: {clip: 5.0, agreement: 1.0}
search: {batch: 7}
"""
WARNING = (
    r"my\.yaml: vectors is now embeddings, embeddings\.tune is now embeddings\.trainable, data\.names is now "
    r"data\.placeholders, model\.decoder\.start is now model\.decoder\.initial_state, model\.init\.forget is now "
    r"model\.init\.forget_bias, train\.clip is now train\.max_grad_norm, train\.agreement is now train\.r_drop, "
    r"search\.batch is now search\.batch_size, task language is now language-modeling; the next release removes"
)


def with_old_names(settings):
    """Return settings with every new name replaced by the old one, and the old names."""
    used = set()
    for old, new in reversed(RENAMED.items()):
        *above, name = old.split(".")
        section = settings = dict(settings)
        for part in above:
            if not isinstance(section.get(part), dict):
                break
            section[part] = dict(section[part])
            section = section[part]
        else:
            if new in section:
                section[name] = section.pop(new)
                used.add(old)
    back = {new: old for old, new in TASKS.items()}
    return settings | {"task": back.get(settings["task"], settings["task"])}, used


def test_every_shipped_recipe_in_its_old_form():
    seen = set()
    for name in shipped():
        recipe = load_recipe(name)
        written, _ = with_old_names(read_recipe(name).settings)
        assert parse_recipe(RecipeText(written | {"version": 2}, name)) == recipe, name
        complete, used = with_old_names(recipe.dump() | {"version": 2})
        assert parse_recipe(RecipeText(complete, name)) == recipe, name
        seen |= used
    assert seen == set(RENAMED)


def test_a_file_with_old_names_warns_once(tmp_path):
    (tmp_path / "my.yaml").write_text(OLD)
    with pytest.warns(FutureWarning, match=WARNING) as warned:
        recipe = load_recipe(str(tmp_path / "my.yaml"))
    assert len(warned) == 1
    assert (recipe.task, recipe.data.placeholders, recipe.embeddings.trainable) == (
        "language-modeling",
        {"what": "a"},
        False,
    )
    assert (recipe.train.max_grad_norm, recipe.train.r_drop, recipe.search.batch_size) == (5.0, 1.0, 7)
    assert (recipe.model["decoder"]["initial_state"], recipe.model["init"]["forget_bias"]) == ("zero", 1.0)


@pytest.mark.parametrize("version", [1, 2])
def test_a_file_of_an_older_version_does_not_warn(version):
    assert parse_recipe(parse_yaml(f"{OLD}version: {version}\n", "my.yaml")).train.max_grad_norm == 5.0


def test_an_old_name_overrides_the_new_one_of_the_base(tmp_path):
    (tmp_path / "my.yaml").write_text("base: english-french-fixed\nmodel: {decoder: {summary: false}}\n")
    with pytest.warns(FutureWarning, match=r"model\.decoder\.summary is now model\.decoder\.fixed_context;"):
        recipe = load_recipe(str(tmp_path / "my.yaml"))
    assert recipe.model["decoder"]["fixed_context"] is False


def test_a_base_with_old_names(tmp_path):
    (tmp_path / "old.yaml").write_text(OLD)
    (tmp_path / "my.yaml").write_text("base: old.yaml\ntrain: {max_grad_norm: 2.0}\n")
    with pytest.warns(FutureWarning, match=r"old\.yaml: vectors is now embeddings"):
        assert load_recipe(str(tmp_path / "my.yaml")).train.max_grad_norm == 2.0


def test_changes_with_old_names():
    with pytest.warns(FutureWarning, match=r"^--set train\.clip=2\.0: train\.clip is now train\.max_grad_norm;"):
        assert load_recipe("ptb-lstm", ["train.clip=2.0"]).train.max_grad_norm == 2.0
    with pytest.warns(FutureWarning, match=r"vectors is now embeddings, embeddings\.tune is now embeddings\.trainable"):
        assert load_recipe("ptb-lstm", ["vectors.tune=false"]).embeddings.trainable is False
    with pytest.warns(FutureWarning, match=r"data\.names is now data\.placeholders"):
        changed = override(read_recipe("multi30k-bahdanau"), ["data.names.target=fr"])
    assert changed.settings["data"]["placeholders"] == {"source": "en", "target": "fr"}
    assert ("data", "placeholders", "target") in changed.lines


def test_a_fault_is_on_the_line_where_it_was_written():
    text = parse_yaml("task: translation\ndata:\n  corpus: english-french\n  first_word: -1\nversion: 2\n", "my.yaml")
    with pytest.raises(ConfigError, match=r"line 4, data\.alignment_base: .*greater than or equal to 0"):
        parse_recipe(text)


def test_both_names_of_a_setting():
    text = parse_yaml("task: translation\ntrain: {clip: 1.0, max_grad_norm: 2.0}\n", "my.yaml")
    with pytest.raises(ConfigError, match=r"my\.yaml sets clip and max_grad_norm, but .*\. Leave clip out\."):
        with_new_names(text)


@pytest.mark.parametrize(
    "settings", [{"train": 5}, {"model": {"decoder": None}}, {"task": ["language"]}, {"vectorz": {"tune": 1}}]
)
def test_what_has_no_old_names_stays_as_it_is(settings):
    text = RecipeText(settings, "my.yaml")
    assert with_new_names(text) is text
