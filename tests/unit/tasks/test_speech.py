"""The task speech: ways to give a sound, word times, evaluation, traces, and words of the command line."""

import io
import json
import sys
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import saccade
from helpers.commands import refused, run
from helpers.recipes import translation
from helpers.sounds import tone, wav
from helpers.tasks import MODEL, speech
from saccade.attention import Tape
from saccade.batch import EOS, PAD, Batch
from saccade.data.example import Example, Links
from saccade.data.sounds import Sound
from saccade.errors import ConfigError, DataError
from saccade.recipes import RecipeText
from saccade.runs.recipe import parse_recipe
from saccade.runs.training import train
from saccade.tasks.speech import linked_times
from saccade.train.terms import Ctc

RATE = 8000
SOUND = tone(523, 0.3, RATE, noise=0.05)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("speech")
    train(parse_recipe(RecipeText(speech(place), "test")), place / "model")
    (place / "a.wav").write_bytes(wav(SOUND, RATE, bits=24))
    return place


@pytest.fixture(scope="module")
def model(folder):
    return saccade.load(folder / "model", device="cpu")


def test_the_log_has_the_course_of_attention(folder):
    lines = [json.loads(line) for line in (folder / "model" / "log.jsonl").read_text().splitlines()]
    (*_, last) = [line["valid"] for line in lines if "valid" in line]
    assert 0 <= last["attention/monotonicity"] <= 1
    assert 0 < last["attention/coverage"] <= 1


def test_every_way_to_give_a_sound_is_answered_the_same(model, folder):
    path = folder / "a.wav"
    given = [path, str(path), path.read_bytes(), Sound(SOUND, RATE)]
    expected = model(path)
    for answer in [*model(given), model(SOUND, rate=RATE), *model([SOUND, np.stack([SOUND] * 2, 1)], rate=RATE)]:
        assert answer.text == expected.text
        assert answer.score == pytest.approx(expected.score, abs=0.02)
    whole = (SOUND * 32767).astype(np.int16)
    assert model(whole, rate=RATE, beam=2).text == model(path, beam=2).text


@pytest.mark.parametrize("options", [{}, {"beam": 3}, {"nbest": 2}])
def test_silence_has_no_words(model, options):
    silent, quiet = np.zeros(4000, np.float32), np.full(4000, 5e-5, np.float32)
    first, sound, last = model([silent, SOUND, quiet], rate=RATE, **options)
    assert [(one.text, one.words, len(one.alternatives)) for one in (first, last)] == [("", [], 0)] * 2
    assert sound.text == model(SOUND, rate=RATE, **options).text
    trace = model.trace(silent, rate=RATE)
    assert trace.sides["target"].words == []
    assert model(1.1e-4 * np.sign(SOUND), rate=RATE).tokens == model(np.sign(SOUND), rate=RATE).tokens


def test_an_array_needs_its_rate(model):
    with pytest.raises(DataError, match=r"without their rate. Give it too, as in model\(samples, rate=16000\)"):
        model(SOUND)
    for wrong in (0, 8000.0, "8000"):
        with pytest.raises(DataError, match=f"^rate is {wrong!r}, but must be the samples a second"):
            model(SOUND, rate=wrong)
    with pytest.raises(DataError, match=r"is uint8 of \(4,\), but samples are"):
        model(np.zeros(4, np.uint8), rate=RATE)
    with pytest.raises(DataError, match="NaN or infinite"):
        model(np.array([0.1, np.nan], np.float32), rate=RATE)


def test_a_recording_of_one_sample_and_silence_are_answered(model):
    for samples in (np.zeros(1, np.float32), np.zeros(4000, np.float32)):
        assert np.isfinite(model(samples, rate=RATE).score)


def test_words_have_times_in_order_within_the_recording(model):
    found = model(SOUND, rate=RATE, nbest=2)
    for one in (found, *found.alternatives):
        assert [word.text for word in one.words] == one.text.split()
        for word in one.words:
            assert 0 <= word.begin < word.end <= 0.32
        assert [word.begin for word in one.words] == sorted(word.begin for word in one.words)
        said = one.to_dict().get("words", [])
        assert said == [{"text": word.text, "begin": word.begin, "end": word.end} for word in one.words]


def test_the_trace_has_a_column_for_each_key_and_no_folder(model, folder):
    trace = model.trace(folder / "a.wav")
    side = trace.sides["source"]
    assert (side.kind, side.text, side.seconds) == ("frames", "a.wav", 0.3)
    assert side.tokens[:3] == ["0.00", "0.04", "0.08"]
    assert len(side.tokens) == 8
    assert trace.sites[0].weights.shape[2] == 8
    assert str(folder) not in trace.dump()


def test_evaluation_counts_errors_and_points_at_times(model, folder):
    examples = list(model.task.form.read([Path(folder / "test.jsonl")]))[:6]
    found = model.evaluate(examples)
    assert {"wer", "cer", "exact", "pointing", "mass_inside", "time_error", "onset_error"} == set(found.metrics)
    details = found.details
    total = details["substitutions"] + details["deletions"] + details["insertions"]
    assert found.metrics["wer"] == pytest.approx(total / details["words"])
    assert details["words"] == sum(len(example.target.split()) for example in examples)
    untimed = [Example(target=example.target, sound=example.sound) for example in examples]
    assert "pointing" not in model.evaluate(untimed).metrics
    with pytest.raises(DataError, match="example 1 has no sound"):
        model.evaluate([Example(target="a")])


def test_the_command_line_prints_times(folder, capsys):
    out = run(capsys, "predict", folder / "model", folder / "a.wav", folder / "a.wav", "--timestamps").out
    blocks = out.split("\n\n")
    assert len(blocks) == 3
    assert blocks[0] == blocks[1]
    for line in blocks[0].splitlines():
        begin, end, word = line.split("\t")
        assert float(begin) < float(end)
        assert word
    said = json.loads(run(capsys, "predict", folder / "model", folder / "a.wav", "--format", "jsonl").out)
    assert said["source"] == str(folder / "a.wav")


def test_the_command_line_reads_a_sound_from_standard_input(folder, capsys, monkeypatch):
    named = run(capsys, "predict", folder / "model", folder / "a.wav").out
    stream = io.TextIOWrapper(io.BytesIO((folder / "a.wav").read_bytes()))
    monkeypatch.setattr(sys, "stdin", stream)
    assert run(capsys, "predict", folder / "model", "-").out == named


def test_a_wrong_file_among_others_is_named_and_the_rest_answered(folder, capsys):
    (folder / "text.wav").write_text("no sound at all")
    ran = run(capsys, "predict", folder / "model", folder / "text.wav", folder / "a.wav")
    assert ran.code == 1
    assert ran.out.startswith("\n")
    assert len(ran.out.splitlines()) == 2
    assert "text.wav is not a sound that can be opened" in " ".join(ran.err.split())


def test_times_are_for_speech_alone(folder, capsys, tmp_path):
    settings = {**translation(tmp_path), "train": {"steps": 1, "device": "cpu", "precision": "fp32"}}
    train(parse_recipe(RecipeText(settings, "test")), tmp_path / "text")
    assert "--timestamps is for models of speech" in refused(capsys, "predict", tmp_path / "text", "a", "--timestamps")


def test_a_text_model_does_not_read_sound():
    settings = {"task": "speech", "data": {"corpus": "spoken"}, "model": MODEL}
    with pytest.raises(
        ConfigError, match=r"reads texts, but speech reads sounds\. Choose las, las-transformer, chorowski"
    ):
        parse_recipe(RecipeText(settings, "test"))


def test_ctc_needs_its_layer(folder):
    settings = speech(folder)
    settings["model"] = {**settings["model"], "ctc": False}
    with pytest.raises(ConfigError, match=r"objective.ctc needs a layer .* Set model.ctc"):
        train(parse_recipe(RecipeText(settings, "test")), folder / "other")


def slow_ctc(logs, words):
    """-log of the sum over all paths, by brute force: blanks and repetitions collapse to the words."""
    total = 0.0
    for path in product(range(logs.shape[1]), repeat=len(logs)):
        kept = [token for place, token in enumerate(path) if token != PAD and (place == 0 or path[place - 1] != token)]
        if kept == words:
            total += float(np.exp(sum(logs[place, token] for place, token in enumerate(path))))
    return -np.log(total)


def test_ctc_is_the_sum_over_all_paths():
    """Two recordings of different lengths, and a row of padding, which adds nothing."""
    torch.manual_seed(0)
    heard, mask = torch.randn(3, 4, 5), torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0], [1, 0, 0, 0]]) > 0
    targets = torch.tensor([[1, 4, 4, EOS], [1, 3, EOS, PAD], [1, PAD, PAD, PAD]])

    layer, tape = torch.nn.Linear(5, 5), Tape()
    tape.tensors["heard"] = heard
    model = SimpleNamespace(ctc=layer, visible=lambda batch: {"source": batch.source_mask})
    whole = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0], [1, 0, 0, 0]]) > 0
    batch = Batch(torch.zeros(3, 4, 2), mask, targets, whole)
    logs = layer(heard).log_softmax(-1).detach().double().numpy()
    expected = slow_ctc(logs[0], [4, 4]) + slow_ctc(logs[1, :3], [3])
    assert float(Ctc().loss(model, batch, tape).detach()) == pytest.approx(expected, rel=1e-4)


def test_a_long_recording_is_transcribed_by_windows(model, folder, capsys):
    pause = np.zeros(RATE, np.float32)
    (folder / "long.wav").write_bytes(wav(np.concatenate([SOUND, pause] * 4), RATE))
    found = model.transcribe(folder / "long.wav", window=1.5)
    alone = model(np.concatenate([SOUND, pause[: RATE // 2]]), rate=RATE).text
    assert alone in found.text
    assert found.words == sorted(found.words, key=lambda word: word.begin)
    assert found.words[-1].end <= 5.2
    (folder / "text.wav").write_text("no sound at all")
    ran = run(capsys, "predict", folder / "model", folder / "text.wav", folder / "long.wav", "--window", "1.5")
    assert (ran.code, ran.out) == (1, f"\n{found.text}\n")
    with pytest.raises(ConfigError, match="window is 0, but must be from 1 to 600"):
        model.transcribe(folder / "long.wav", window=0)


def test_translations_are_scored_by_bleu_and_by_links(model):
    """Each written word should attend to the spoken words that it is linked to; words without a link do not count."""
    links = Links(frozenset({(0, 1), (1, 0), (2, 0)}))
    example = Example(source="a b c", target="low high middle", links=links, times=((0, 0.1), (0.1, 0.2), (0.2, 0.3)),
                      sound=Sound(SOUND, RATE))  # fmt: skip
    assert linked_times(example) == {0: (0.1, 0.3), 1: (0, 0.1)}
    found = model.evaluate([example])
    assert next(iter(found.metrics)) == "bleu"
    assert found.statistics["pointing"].counts[0, 0] == 2
    assert "time_error" not in found.metrics
