"""Recipe files: safe YAML, and errors with line numbers."""

import contextlib
import os
import time

import pytest

from saccade.errors import ConfigError, DataError
from saccade.recipes import RecipeText, find_recipe, override, parse_yaml, read_recipe, shipped, to_yaml


def value(text):
    return parse_yaml(f"value: {text}", "here").settings["value"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1e-3", 0.001),
        ("1E5", 1e5),
        ("3.", 3.0),
        (".5", 0.5),
        ("-2.5e+3", -2500.0),
        ("1_000", 1000),
        ("+7", 7),
        ("-7", -7),
        ("010", 10),
        ("true", True),
        ("false", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("[1, 2e0, x]", [1, 2.0, "x"]),
        ("{a: {b: 1}}", {"a": {"b": 1}}),
    ],
)
def test_values_are_what_they_look_like(text, wanted):
    found = value(text)
    assert found == wanted
    assert type(found) is type(wanted)


@pytest.mark.parametrize(
    "text", ["no", "yes", "on", "off", "True", "2001-12-14", "12:30:45", "0x1F", "1.2.3", "e5", "'1'", "1e", "a b"]
)
def test_what_is_no_plain_number_or_truth_value_is_text(text):
    assert value(text) == text.strip("'")


def test_keys_are_text_too():
    assert parse_yaml("on: 1\nno: 2\n1: 3", "here").settings == {"on": 1, "no": 2, "1": 3}


def test_every_setting_has_its_line():
    found = parse_yaml("# a comment\na: 1\nb:\n  c: 2\n\n  d: [5,\n   {e: 6}]\n", "here")
    assert found.lines == {("a",): 2, ("b",): 3, ("b", "c"): 4, ("b", "d"): 6, ("b", "d", "1", "e"): 7}


def test_nothing_is_no_setting():
    assert parse_yaml("# only a comment\n", "here").settings == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3", r"here, line 3: a is set twice\. Keep one"),
        ("t:\n  x: 1\n  x: 1", r"here, line 3: x is set twice"),
        ("a: [1, 2\nb: 3", r"here, line 2 is not YAML: "),
        ("a: b: c", r"here, line 1 is not YAML: mapping values"),
        ("a: 1\n---\nb: 2", r"here, line 2 is not YAML"),
        ("- a\n- b", r"here must hold settings as `key: value`, but is \['a', 'b'\]"),
        ("just words", r"must hold settings as `key: value`, but is 'just words'"),
        ("a: !!int x", r"here, line 1: 'x' cannot be read"),
        ("a: !!bool maybe", r"'maybe' cannot be read"),
        ("a: !!timestamp soon", r"'soon' cannot be read"),
        ("a: !!python/name:os.system x", r"'x' cannot be read"),
        ("a: &x [1]\nb: *x", r"here uses an alias \(\*name\), which recipes do not have\. Write it out"),
        ("a: &x [*x]", r"here uses an alias"),
        ("b: 1\na: " + "[" * 33, r"here, line 2 holds settings inside settings, more than 32 deep"),
        ("? [a]\n: 1", r"here, line 1: the name of a setting must be text"),
        ("b: 1\na: 'x" + "x" * 2**16 + "'", r"here has more than 65,536 letters"),
        ('a: "b\\0c"', r"here, line 1: 'b\\x00c' holds a NUL or half a character"),
        ('"b\\uD83Dc": 1', r"here, line 1: 'b\\ud83dc' holds a NUL or half a character"),
        ("a: !!float " + "x" * 100, r"here, line 1: 'x{59}… cannot be read"),
        ("a: " + "1" * 5000, r"here, line 1: '1{59}… cannot be read"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_line(text, message):
    with pytest.raises(ConfigError, match=message):
        parse_yaml(text, "here")


def test_settings_may_be_deep_and_long_within_the_limits():
    deep = "a: " + "[" * 31 + "]" * 31
    assert parse_yaml(deep, "here").settings["a"] == eval("[" * 31 + "]" * 31)
    long = "a: '" + "x" * (2**16 - 5) + "'"
    assert len(long) == 2**16
    assert len(parse_yaml(long, "here").settings["a"]) == 2**16 - 5


@pytest.mark.parametrize(
    "text",
    [
        "1" * 30_000,
        "1" * 30_000 + "x",
        "1_" * 15_000 + "x",
        "-." + "1" * 30_000 + "x",
        "[" * 10_000 + "]" * 10_000,
        "{a: " * 10_000,
        "- " * 10_000,
    ],
    ids=lambda text: text[:6],
)
def test_no_text_makes_the_parser_slow(text):
    """Such digits and brackets used to take eight seconds and more."""
    begun = time.process_time()
    with contextlib.suppress(ConfigError):
        parse_yaml(f"value:\n  {text}", "here")
    assert time.process_time() - begun < 2


def test_tags_run_no_code(tmp_path):
    made = tmp_path / "made"
    found = parse_yaml(f"a: !!python/object/apply:os.system ['touch {made}']", "here")
    assert found.settings == {"a": [f"touch {made}"]}
    assert not made.exists()


def change(*changes, **settings):
    return override(RecipeText(settings, "here", {("train", "lr"): 7, ("note",): 1}), list(changes))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("3e-4", 3e-4),
        ("5", 5),
        ("[3,60]", [3, 60]),
        ("[a, b c]", ["a", "b c"]),
        ("{kind: bpe, size: 90}", {"kind": "bpe", "size": 90}),
        ("null", None),
        ("true", True),
        ("no", "no"),
        ("", ""),
        ("two words", "two words"),
        ("a=b", "a=b"),
        ("'5'", "5"),
        ("été", "été"),
    ],
)
def test_a_setting_is_changed_on_the_command_line(text, wanted):
    assert change(f"train.x={text}", train={"lr": 1}).settings == {"train": {"lr": 1, "x": wanted}}


def test_later_changes_win_and_nothing_else_moves():
    recipe = RecipeText({"a": {"b": 1, "c": 2}, "d": 3}, "here")
    assert override(recipe, ["a.b=5", "a.b=6", "e.f.g=7"]).settings == {
        "a": {"b": 6, "c": 2},
        "d": 3,
        "e": {"f": {"g": 7}},
    }
    assert recipe.settings == {"a": {"b": 1, "c": 2}, "d": 3}


@pytest.mark.parametrize("text", ["train.lr", "", "=5", ".=5", "train..lr=3", "train.=3", ".lr=3", "a=1\nb: 2"])
def test_what_is_no_setting_is_refused(text):
    with pytest.raises(ConfigError, match=r"is no setting\. Write it as section\.name=value, such as train\.lr=3e-4"):
        change(text)


@pytest.mark.parametrize("text", ["a=[1", "a={", "a=b: c"])
def test_a_value_that_is_no_yaml_is_refused(text):
    with pytest.raises(ConfigError, match=r"--set a=.* is not YAML"):
        change(text)


def test_a_changed_setting_has_no_line_of_the_file():
    assert change("train.lr=5", "other=1").lines == {("train", "lr"): 0, ("note",): 1, ("other",): 0}


@pytest.mark.parametrize(
    "text",
    ["1e-3", "08", "no", "on", "2001-12-14", "0x1F", "null", "true", "", " a", "a: b", "#", "'", "é\u2028\n\t", "-"],
)
def test_text_that_looks_like_something_else_survives_a_file(text):
    settings = {"note": text, "deep": {"list": [text, 1e-8, 5, None, True, 0.1]}}
    assert parse_yaml(to_yaml(settings), "here").settings == settings


def test_letters_stay_letters_in_a_file():
    assert to_yaml({"note": "été 語"}) == "note: été 語\n"


def test_a_recipe_is_found_by_path_or_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").write_text("task: language-modeling")
    assert find_recipe("mine").name == "mine"
    assert find_recipe("english-french") == shipped()["english-french"]
    assert find_recipe("not-there.yaml").name == "not-there.yaml", "reading it reports that it is missing"
    (tmp_path / "english-french").mkdir()
    assert find_recipe("english-french") == shipped()["english-french"], "a folder is no recipe"
    with pytest.raises(ConfigError, match=r"recipe 'english-frensh' does not exist\. Did you mean 'english-french'\?"):
        find_recipe("english-frensh")


def test_files_that_are_no_recipes(tmp_path):
    with pytest.raises(DataError, match=r"none\.yaml does not exist\. Check the path"):
        read_recipe(str(tmp_path / "none.yaml"))
    with pytest.raises(DataError, match=r"is a folder, but a file is needed"):
        read_recipe(str(tmp_path))
    (tmp_path / "latin.yaml").write_bytes(b"note: caf\xe9")
    with pytest.raises(ConfigError, match=r"latin\.yaml is not UTF-8 text \(byte 9\), so it is no recipe"):
        read_recipe(str(tmp_path / "latin.yaml"))


@pytest.mark.parametrize("name", ["/dev/zero", "pipe", "folder", "large.yaml"])
def test_recipes_are_files_of_a_moderate_size(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "large.yaml").write_text("# " + "x" * 2**16)
    (tmp_path / "on.yaml").write_text(f"base: {name}\ntask: language-modeling")
    message = (
        r"is a device or a pipe|is a folder, but a file|large\.yaml has more than 65,536 bytes, the most that a rec"
    )
    for recipe in (name, "on.yaml"):
        with pytest.raises(DataError, match=message):
            read_recipe(recipe)


def test_settings_keep_their_order_in_a_file():
    assert to_yaml({"task": "language-modeling", "data": {"train": "b", "cache": "a"}}) == (
        "task: language-modeling\ndata:\n  train: b\n  cache: a\n"
    )


@pytest.mark.parametrize(("letters", "shown"), [(58, "'" + "x" * 58 + "'"), (59, "'" + "x" * 59 + "…")])
def test_a_wrong_value_is_cut_only_where_it_is_too_long(letters, shown):
    with pytest.raises(ConfigError) as caught:
        parse_yaml("x" * letters, "here")
    assert str(caught.value) == f"here must hold settings as `key: value`, but is {shown}."
