"""The Python API: `saccade.load` returns a Model, which is called with texts."""

import re
import shutil

import pytest

import saccade
from helpers.recipes import MODEL, sentences, untrained, write_folder
from saccade.api import describe
from saccade.data.example import Example
from saccade.errors import CheckpointError, ConfigError, DataError, SaccadeError
from saccade.models import MODELS
from saccade.recipes import parse_yaml, to_yaml


def test_a_text_gives_a_prediction_and_a_list_a_list(model):
    found = model("ant bee cat")
    assert found.text == "ANT BEE CAT"
    assert found.source == "ant bee cat"
    assert found.score <= 0
    assert found.attention
    assert [each.text for each in model(["dog", "", "elk fox"])] == ["DOG", "", "ELK FOX"]
    assert model([]) == []
    assert [each.text for each in model(text for text in ("ant", "bee"))] == ["ANT", "BEE"]


def test_options_change_the_search(model):
    assert len(model("ant bee", beam=4, nbest=3).alternatives) == 2
    assert len(model("ant bee", nbest=3).alternatives) == 2, "nbest widens the beam by itself"
    assert len(model("ant bee cat dog", max_length=2).tokens) == 2
    drawn = [model("ant bee cat", sample=True, temperature=3.0, seed=seed).text for seed in (1, 1, 2, 3, 4)]
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) > 1
    assert len(model("ant", sample=True, nbest=4).alternatives) == 3


def test_what_stands_beside_a_text_does_not_change_its_answer(model):
    texts = sentences(70, seed=9)
    for text, found in zip(texts, model(texts, beam=2), strict=True):
        alone = model(text, beam=2)
        assert (alone.text, alone.score) == (found.text, pytest.approx(found.score, abs=1e-4))


def test_company_changes_neither_what_is_drawn_nor_where_an_answer_is_cut(model, tmp_path):
    texts = sentences(40, seed=3)
    drawn = model(texts, sample=True, temperature=2.0, nbest=2)
    for text, found in zip(texts, drawn, strict=True):
        alone = model(text, sample=True, temperature=2.0, nbest=2)
        assert [alone.text, alone.alternatives[0].text] == [found.text, found.alternatives[0].text]
    endless = saccade.load(write_folder(untrained("translation", MODEL), tmp_path / "endless"))
    for beam in (1, 3):
        alone, beside = (
            endless("ant", beam=beam, min_length=20),
            endless(["ant", "bee " * 30], beam=beam, min_length=20),
        )
        assert len(alone.tokens) == len(beside[0].tokens) <= 24


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beem": 3}, r"beem: setting 'beem' does not exist\. Did you mean 'beam'\?"),
        ({"beam": 0}, r"beam: Input should be greater than or equal to 1 \(it is 0\)"),
        ({"beam": "5"}, r"beam: Input should be a valid integer"),
        ({"beam": 2, "nbest": 3}, r"nbest is 3, but a beam of 2 finds at most 2: raise beam"),
        ({"top_p": 1.5}, r"top_p: Input should be less than or equal to 1"),
        ({"sample": True, "temperature": 0.0}, r"temperature: Input should be greater than or equal to 0\.001"),
        ({"min_length": 9, "max_length": 5}, r"min_length is 9 words, but max_length 5"),
    ],
)
def test_options_that_cannot_be(model, options, message):
    with pytest.raises(ConfigError, match=message):
        model("ant", **options)


@pytest.mark.parametrize("wrong", [5, None, ["ant", 5], [None], b"ant", {"source": "ant"}])
def test_what_is_no_text_is_refused(model, wrong):
    with pytest.raises(DataError, match=r"input \d is .*, but this model reads text"):
        model(wrong)


def test_bytes_are_no_text(model):
    told = r"is bytes, but this model reads text\. Decode them first, as in data\.decode\(\)\."
    for wrong, name in ((b"ant" * 10**6, "input 1"), (["ant", bytearray(b"ant")], "input 2")):
        with pytest.raises(DataError, match=f"^{name} {told}$"):
            model(wrong)
    with pytest.raises(DataError, match=f"^input 2 {told}$"):
        list(model.stream(["ant", b"ant"]))
    with pytest.raises(DataError, match=f"^the input {told}$"):
        model.trace(b"ant")


def test_half_a_character_is_refused(model):
    with pytest.raises(DataError, match="holds half a character"):
        model("ant \ud800")


def test_it_says_what_it_is(model):
    assert re.fullmatch(r"Model\(translation, bahdanau, [\d,]+ parameters\)", repr(model))
    assert model.recipe["train"]["steps"] == 200
    assert model.evaluate([Example("ant", "ANT")]).metrics["ter"] == 0


def test_a_folder_moves_and_needs_no_training_data(translator, tmp_path, monkeypatch):
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    for name in ("recipe.yaml", "tokenizer.json", "model.safetensors"):
        shutil.copy(translator / name, moved / name)
    settings = parse_yaml((moved / "recipe.yaml").read_text(), "it").settings
    settings["data"]["train"] = ["/not/there.a", "/not/there.b"]
    (moved / "recipe.yaml").write_text(to_yaml(settings))
    monkeypatch.chdir(moved)
    assert saccade.load(".")("cat dog").text == "CAT DOG"
    assert saccade.load(str(moved))("cat dog").text == "CAT DOG"


def test_every_task_is_loaded_as_it_was_saved(tmp_path):
    cases = {
        "translation": ({"preset": "transformer-base", **MODELS["transformer-base"].tiny, "tied": False}, "ant bee"),
        "language-modeling": ({"preset": "lstmn", **MODELS["lstmn"].tiny}, "the cat"),
        "classification": (MODEL, "good cat"),
    }
    for name, (settings, text) in cases.items():
        task = untrained(name, settings)
        loaded = saccade.load(write_folder(task, tmp_path / name))
        assert loaded.task.recipe == task.recipe
        (wanted,) = task.predict([text], loaded.search(max_length=5))
        found = loaded(text, max_length=5)
        assert (found.text, found.score) == (wanted.text, wanted.score)
        assert not loaded.task.model.training


def test_a_device_that_does_not_exist_is_told_before_anything_is_read(translator):
    with pytest.raises(ConfigError, match=r"device 'cdua' does not exist\. Did you mean 'cuda'\?"):
        saccade.load("nowhere", device="cdua")
    with pytest.raises(CheckpointError, match=r"nowhere is not there, or not a folder"):
        saccade.load("nowhere")


def test_a_training_that_has_no_model_yet(translator, tmp_path):
    folder = shutil.copytree(translator, tmp_path / "begun")
    (folder / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"no model\.safetensors yet.* run it again with --resume: saccade train"):
        saccade.load(folder)
    shutil.rmtree(folder / "checkpoints")
    with pytest.raises(CheckpointError, match=r"no model\.safetensors yet.* If it was copied, copy it again"):
        saccade.load(folder)


@pytest.mark.parametrize("name", ["recipe.yaml", "tokenizer.json", "model.safetensors", "SHA256SUMS"])
def test_a_model_folder_with_a_flipped_bit_is_not_loaded(translator, tmp_path, name):
    folder = shutil.copytree(translator, tmp_path / "damaged", ignore=shutil.ignore_patterns("checkpoints"))
    saccade.load(folder)
    whole = bytearray((folder / name).read_bytes())
    whole[len(whole) // 2] ^= 1
    (folder / name).write_bytes(whole)
    with pytest.raises(
        CheckpointError, match=rf"damaged/{name} is damaged or was changed: .*Copy the .*folder\s+again"
    ):
        saccade.load(folder)
    (folder / "SHA256SUMS").unlink()
    if name == "SHA256SUMS":
        assert saccade.load(folder)("cat dog").text == "CAT DOG"


@pytest.mark.parametrize("begin", [saccade.load, describe])
def test_code_that_a_folder_names_is_imported_only_where_it_is_trusted(translator, tmp_path, begin):
    folder = shutil.copytree(translator, tmp_path / "outside", ignore=shutil.ignore_patterns("checkpoints", "SHA256*"))
    settings = parse_yaml((folder / "recipe.yaml").read_text(), "it").settings
    settings["model"]["attention"] = {"score": "not_there_for_tests:Mine"}
    (folder / "recipe.yaml").write_text(to_yaml(settings))
    with pytest.raises(SaccadeError, match=r"'not_there_for_tests:Mine' is code from outside saccade"):
        begin(folder)
    with pytest.raises(SaccadeError, match=r"cannot be imported: No module named 'not_there_for_tests'"):
        begin(folder, trust_code=True)


def test_inputs_are_counted_without_the_pauses_between_them(model):
    answers = model.stream([None, "ant", None, 5])
    assert next(answers).text == "ANT"
    with pytest.raises(DataError, match=r"^input 2 is "):
        next(answers)


def test_several_answers_widen_a_beam_that_is_too_small(model, monkeypatch):
    usual = model.search().beam
    assert model.search(nbest=usual + 2).beam == usual + 2
    assert model.search(beam=usual + 5, nbest=2).beam == usual + 5
    monkeypatch.setitem(vars(model.task.recipe.search), "beam", 4)
    assert model.search(nbest=2).beam == 4, "the recipe's own is wide enough"


@pytest.mark.parametrize("blank", ["", " \t"])
def test_a_trace_is_of_a_text_that_says_something(model, blank):
    with pytest.raises(DataError, match=r"a trace needs one text that is not empty, but got '"):
        model.trace(blank)


def test_a_trace_is_named_after_the_folder(model, translator):
    assert model.trace("ant").model.name == translator.name
    assert saccade.Model(model.task).trace("ant").model.name == "model"


def test_workers_are_started_only_where_there_are_several_and_a_folder(model, translator, monkeypatch):
    started = []

    class Here:
        """Replaces worker processes: records its arguments, and answers in this process."""

        def __init__(self, folder, count, *, trust_code):
            started.append((folder, count, trust_code))
            self.count = count

        def predict(self, batches, search, attention, prefix):
            return (model.task.predict(batch, search) for batch in batches)

        def __enter__(self):
            return self

        def __exit__(self, *error):
            started.append("ended")

    monkeypatch.setattr("saccade.api.Workers", Here)
    alone, trusted = saccade.Model(model.task), saccade.Model(model.task, translator, trust_code=True)
    for used, count in ((model, 1), (alone, 3), (model, 2), (trusted, 3)):
        assert [answer.text for answer in used.stream(["ant", "bee"], workers=count)] == ["ANT", "BEE"]
    assert started == [(translator, 2, False), "ended", (translator, 3, True), "ended"]


def test_workers_are_for_models_on_the_cpu(translator):
    with pytest.raises(ConfigError, match=r"workers are for the CPU, but the model is on meta\. Use one of the two"):
        next(describe(translator).stream(["ant"], workers=2))
