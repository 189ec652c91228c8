"""The models in the box: they are listed, load by name and answer at once, and say what they do not know."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import saccade.pretrained
from helpers.commands import refused, run
from saccade.api import describe
from saccade.cli.commands.models import READS
from saccade.data.familiar import familiar
from saccade.pretrained import find_model, missing_extra, pretrained
from saccade.serve import app
from saccade.tasks.table import TASKS


@pytest.fixture(scope="module")
def demo():
    return saccade.load("demo", device="cpu")


def test_the_demo_translates_and_reverses_the_adjectives(demo):
    out = demo("the European Economic Area")
    assert out.text == "la zone économique européenne"
    assert out.attention.links() == [(0, 0), (3, 1), (2, 2), (1, 3)]


RIGHT = {
    "demo-captions": "a brown seven inside an orange frame",
    "demo-glimpses": "6",
    "demo": "la zone économique européenne",
    "demo-transformer": "la zone économique européenne",
    "demo-questions": "garage",
    "demo-digits": "seven six eight",
}
"""What each model answers to its first sample input; of the fixed vector, nothing is expected."""


@pytest.mark.parametrize("name", [*pretrained()])
def test_every_shipped_model_answers_its_samples(name):
    if missing_extra(name):
        pytest.skip(f"needs the extra {missing_extra(name)}")
    model = saccade.load(name, device="cpu")
    found = model(model.sample_inputs[0])
    assert found.text == RIGHT.get(name, found.text)
    assert find_model(name) == pretrained()[name]


@pytest.mark.parametrize("name", [*pretrained()])
def test_every_shipped_model_has_a_card_and_a_score(name, capsys):
    card = run(capsys, "models", name).out
    score = card.partition("one seed: ")[2].partition(".\n")[0]
    assert any(letter.isdigit() for letter in score)
    assert score in describe(name).recipe["note"]
    assert f"{(pretrained()[name] / 'model.safetensors').stat().st_size:,} bytes" in card
    assert f"{describe(name).task.facts()['parameters']:,} parameters" in card
    assert "License" in card
    if "handwriting" in card:
        assert "CC BY 4.0" in card


def test_models_in_a_folder_with_a_readme_are_listed(capsys, tmp_path):
    (tmp_path / "README.md").write_text("Notes on our runs.")
    listed = run(capsys, "models", tmp_path).out
    assert "demo-questions" in listed
    assert "Notes" not in listed


def test_they_are_listed(capsys):
    rows = run(capsys, "models").out.splitlines()
    assert [row.split()[0] for row in rows[2 : 2 + len(pretrained())]] == [*pretrained()]
    assert json.loads(run(capsys, "models", "--json").out)["demo-digits"]["reads"] == "sound"
    folders = {path.parent.name for path in Path(saccade.pretrained.__file__).parent.glob("*/model.safetensors")}
    assert folders == set(pretrained())


def test_the_list_says_what_the_models_of_all_tasks_read():
    names = {"picture": "image", "question": "question, passage", "episode": "labeled images"}
    for name, task in TASKS.items():
        assert READS[name] == names.get(task.reads.name, task.reads.name), name


def test_without_an_input_there_is_one_to_try(capsys):
    shown = run(capsys, "look")
    assert "la ███" in shown.out
    assert 'a text to try: "the European Economic Area"' in shown.err
    assert "Julia" in run(capsys, "explain", "demo-questions").out
    assert "a sound to try" in run(capsys, "look", "demo-digits").err


def test_models_that_need_an_extra_say_so_and_are_not_served(capsys, monkeypatch):
    monkeypatch.setattr("saccade.pretrained.find_spec", lambda name: None)
    assert "demo-captions needs the extra `images`" in run(capsys, "models").err
    assert [*app().models] == [name for name in pretrained() if name not in ("demo-captions", "demo-glimpses")]


def test_a_path_comes_before_a_shipped_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "demo").mkdir()
    assert find_model("demo").name == "demo"
    assert find_model("demo").absolute() == tmp_path / "demo"


def test_a_text_alone_is_for_the_demo(capsys):
    assert run(capsys, "predict", "the law", "a red car").out == "la loi\nune voiture rouge\n"
    assert "la ███" in run(capsys, "look", "the law").out
    assert "answers la loi" in run(capsys, "explain", "the law", "--step", 1).out
    assert "thelaw is not there" in refused(capsys, "look", "thelaw", "a b")


def test_capitals_are_read_and_unknown_words_are_named(capsys, demo):
    assert demo("The law .").text == demo("the law .").text
    assert demo("The law .").attention.source.words[0] == "The", "figures show the text as it was given"
    assert demo("The law .").notes == []
    note = "not in this model's vocabulary: zebra, Quux"
    assert demo("the zebra and Quux and zebra").to_dict()["notes"] == [note]
    assert demo.trace("the zebra and Quux").left_out == [note]
    assert f"note: {note}" in run(capsys, "predict", "a zebra Quux").err
    assert f"note: {note}" in run(capsys, "look", "a zebra Quux").err


def test_a_word_is_respelled_in_place(demo):
    read = familiar(demo.task.source, "THE european  zebra,in August")
    assert read.text == "the European  zebra,in August"
    assert read.unknown == ["zebra"]


def test_many_notes_are_cut(capsys):
    ran = run(capsys, "predict", *(f"the zebra{number} ." for number in range(7)))
    assert ran.err.count("not in this model's vocabulary") == 5
    assert "2 more notes" in ran.err


def test_the_first_answer_needs_neither_the_training_loop_nor_the_compiler():
    """Both imports took half of the time to the first answer."""
    code = (
        "import sys, saccade; print(saccade.load('demo', device='cpu')('the law'));"
        "print([name for name in ('torch._dynamo', 'lightning_fabric') if name in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "la loi\n[]\n"
