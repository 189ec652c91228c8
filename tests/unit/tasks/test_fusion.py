"""Searches with CTC scores and with a language model, from model folders."""

import pytest

import saccade
from helpers.commands import refused, run
from helpers.recipes import sentences, translation, write_lines
from helpers.sounds import tone, wav
from helpers.tasks import TRAIN, speech
from saccade.errors import ConfigError
from saccade.recipes import RecipeText
from saccade.runs.recipe import parse_recipe
from saccade.runs.training import train


def trained(settings, folder):
    train(parse_recipe(RecipeText(settings, "test")), folder)
    return folder


def language(folder, kind, lines):
    path = write_lines(folder / f"{kind}.txt", lines)
    data = {"train": str(path), "test": str(path), "held_out": 4, "cache": str(folder / "cache")}
    model = {"preset": "lstmn", "embedding": 8, "width": 8}
    task = {"task": "language-modeling", "tokenizer": {"kind": kind, "size": 300 if kind == "bpe" else None}}
    return trained({**task, "data": data, "model": model, "train": TRAIN}, folder / f"lm-{kind}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("fusion")
    trained(speech(place), place / "model")
    language(place, "char", ["low", "middle high", "high low"] * 60)
    (place / "a.wav").write_bytes(wav(tone(523, 0.3, 8000, noise=0.05), 8000))
    return place


def test_weights_change_the_scores_of_a_search(folder):
    model, path = saccade.load(folder / "model", device="cpu"), folder / "a.wav"
    plain = model(path, beam=3)
    fusion = {"model": str(folder / "lm-char"), "weight": 0.0}
    assert model(path, beam=3, fusion=fusion).score == pytest.approx(plain.score, abs=1e-5)
    found = model(path, beam=3, ctc=0.3, fusion={**fusion, "weight": 0.5})
    assert found.score != pytest.approx(plain.score, abs=1e-3)
    assert found.attention.matrix().shape[1] == plain.attention.matrix().shape[1]


def test_the_command_line_takes_them(folder, capsys):
    options = ("--beam", "3", "--ctc", "0.3", "--fusion", folder / "lm-char", "--fusion-weight", "0.2")
    assert run(capsys, "predict", folder / "model", folder / "a.wav", *options).code == 0


def test_a_language_model_needs_the_same_kind_of_tokens(folder, capsys):
    wrong = language(folder, "word", sentences(120))
    said = refused(capsys, "predict", folder / "model", folder / "a.wav", "--fusion", wrong)
    assert "has other tokens (word" in said
    said = refused(capsys, "predict", folder / "model", folder / "a.wav", "--fusion", folder / "model")
    assert "must be a language model" in said
    assert "is not there" in refused(capsys, "predict", folder / "model", folder / "a.wav", "--fusion", folder / "none")


def test_translation_is_fused_with_a_language_model_and_has_no_ctc(tmp_path):
    quick = {"steps": 1, "accelerator": "cpu", "precision": "fp32"}
    model = saccade.load(trained({**translation(tmp_path), "train": quick}, tmp_path / "model"), device="cpu")
    kind = model.task.target.kind
    beside = language(tmp_path, kind, [line.upper() for line in sentences(120)])
    assert model("ant bee", beam=2, fusion={"model": str(beside)}).score < model("ant bee", beam=2).score
    with pytest.raises(ConfigError, match=r"search.ctc needs a model of speech with a CTC layer"):
        model("ant bee", ctc=0.3)
    with pytest.raises(ConfigError, match="ctc and fusion are for greedy and beam search"):
        model("ant bee", ctc=0.3, sample=True)
