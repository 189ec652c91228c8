"""Code from outside: refused unless it is trusted, then trained and used like any other."""

import sys

import pytest
import yaml

from helpers.commands import refused, run
from helpers.recipes import write_recipe

MODULE = '''
import torch
from saccade.attention import Score

torch_loaded = True


class Mine(Score):
    """A dot product of the first entries."""

    def forward(self, query, keys, past=None):
        size = min(query.shape[-1], keys.shape[-1])
        return query[..., :size] @ keys[..., :size].mT


class Headless(Score):
    def __init__(self, query_width, key_width):
        super().__init__(query_width, key_width)


class NotOne:
    pass
'''


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A user's module, not imported yet."""
    (tmp_path / "my_scores_for_tests.py").write_text(MODULE)
    (tmp_path / "broken_for_tests.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield "my_scores_for_tests"
    sys.modules.pop("my_scores_for_tests", None)


@pytest.fixture
def recipe(text, tmp_path):
    settings = yaml.safe_load((text / "recipe.yaml").read_text())
    settings["model"]["attention"] = {"score": "my_scores_for_tests:Mine"}
    settings["train"]["steps"] = 2
    return write_recipe(tmp_path, settings)


def test_it_is_not_imported_unless_it_is_trusted(capsys, module, recipe, tmp_path):
    said = refused(capsys, "train", recipe, "--out", tmp_path / "out")
    assert "the score 'my_scores_for_tests:Mine' is code from outside saccade, which runs when it is loaded." in said
    assert "pass --trust-code (in Python, trust_code=True)." in said
    assert module not in sys.modules
    assert run(capsys, "train", recipe, "--out", tmp_path / "out", "--trust-code").code == 0
    del sys.modules[module]
    commands = (("predict", "ant"), ("look", "ant"), ("explain", "ant"), ("evaluate",), ("compare", tmp_path / "out"))
    for words in commands:
        said = refused(capsys, words[0], tmp_path / "out", *words[1:])
        assert "pass --trust-code" in said
        assert module not in sys.modules
    for words in commands:
        ran = run(capsys, words[0], tmp_path / "out", *words[1:], "--trust-code")
        assert ran.code == 0, ran
        assert ran.out
    assert "pass --trust-code" in refused(capsys, "predict", tmp_path / "out", "ant"), (
        "trust does not outlive a command"
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("my_scores_for_tests:Mien", "cannot be imported: module 'my_scores_for_tests' has no attribute 'Mien'"),
        ("not_there_for_tests:Mine", "cannot be imported: No module named 'not_there_for_tests'. Put its file beside"),
        ("broken_for_tests:Mine", "cannot be imported: ZeroDivisionError: division by zero."),
        (":Mine", "cannot be imported: ValueError"),
        (".x:Mine", "cannot be imported: TypeError"),
        ("my_scores_for_tests:NotOne", "is no Score. Derive it from saccade.attention's class."),
        ("my_scores_for_tests:torch_loaded", "is no Score."),
        ("my_scores_for_tests:Headless", "does not accept the number of heads. Let its __init__ take `heads`, by name"),
    ],
)
def test_code_that_cannot_be_used(capsys, module, recipe, tmp_path, name, message):
    change = ("--set", f'model.attention.score="{name}"')
    assert message in refused(capsys, "train", recipe, *change, "--trust-code", "--out", tmp_path / "out")


def test_code_beside_its_recipe_is_found_and_moves_with_the_model(capsys, recipe, tmp_path, monkeypatch):
    (tmp_path / "beside_for_tests.py").write_text(MODULE)
    change = ("--set", 'model.attention.score="beside_for_tests:Mine"', "--trust-code", "--out", tmp_path / "out")
    assert run(capsys, "train", recipe, *change).code == 0
    del sys.modules["beside_for_tests"]
    moved = (tmp_path / "out").rename(tmp_path / "moved")
    (tmp_path / "beside_for_tests.py").unlink()
    assert run(capsys, "predict", moved, "ant", "--trust-code").code == 0
    assert not any(str(tmp_path) in place for place in sys.path), "Python's own places stay as they were"
    del sys.modules["beside_for_tests"]
