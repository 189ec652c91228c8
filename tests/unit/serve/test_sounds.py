"""A model of speech on the server: sounds in base64 or as the body, and its limits."""

from base64 import b64encode

import numpy as np
import pytest
import torch

from helpers.asgi import application, ask, post, run
from helpers.sounds import tone, wav
from helpers.tasks import speech
from saccade.api import Model
from saccade.data.tokenizer import Tokenizer, TokenizerConfig, Tokenizers
from saccade.recipes import RecipeText
from saccade.runs.folder import build_task
from saccade.runs.recipe import parse_recipe
from saccade.serve.models import Served

RATE = 8000
WHOLE = wav(tone(523, 0.3, RATE, noise=0.05), RATE)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    recipe = parse_recipe(RecipeText(speech(tmp_path_factory.mktemp("speech"), 1), "test"))
    torch.manual_seed(0)
    return Model(build_task(recipe, Tokenizers(None, Tokenizer.train(TokenizerConfig(kind="char"), ["a c e"]))))


def text_of(data):
    return b64encode(data).decode()


def asked(model, given, path="/v1/predict", **settings):
    return run(post(application(Served("tiny", model), **settings), given, path=path))


def test_sounds_are_answered_as_in_python(model):
    other = wav(tone(440, 0.2, 44100), 44100)
    direct = [model(WHOLE), model(other)]
    got = asked(model, {"sounds": [text_of(WHOLE), f"data:audio/wav;base64,{text_of(other)}"], "attention": True})
    assert got.status == 200
    for found, answer in zip(got.json["predictions"], direct, strict=True):
        assert found["text"] == answer.text
        assert found["score"] == pytest.approx(answer.score, abs=1e-4)
        assert found.get("words", []) == answer.to_dict().get("words", [])
        assert len(found["attention"]["source"]) == len(answer.attention.source.tokens)
    single = asked(model, {"sound": text_of(WHOLE)})
    assert single.json["predictions"][0]["text"] == direct[0].text
    app, kind = application(Served("tiny", model)), {"content-type": "audio/wav"}
    body = run(ask(app, "POST", "/v1/predict", body=WHOLE, headers=kind, query=b"beam=1"))
    assert body.json["predictions"][0]["text"] == direct[0].text


def test_a_trace_has_the_time(model):
    got = asked(model, {"sound": text_of(WHOLE)}, "/v1/trace")
    side = got.json["sides"]["source"]
    assert (side["kind"], side["seconds"], side["text"]) == ("frames", 0.3, "a recording")


@pytest.mark.parametrize("path", ["/v1/predict", "/v1/trace"])
@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "The sound is empty"),
        (b"hello, no sound", "The sound is not a sound that can be opened"),
        (WHOLE[:-9], "The sound is cut"),
        (wav(np.zeros(9000), RATE), "The sound lasts 1 s, but at most 0 s"),
        (wav(np.zeros(30_000), RATE), "The sound has more than 0.05 MB"),
        (wav([np.nan], RATE, kind=3, bits=32), "The sound has samples that are NaN"),
    ],
)
def test_what_is_no_sound_is_one_paragraph(model, path, data, told):
    got = asked(model, {"sound": text_of(data)}, path, max_seconds=0.4, max_sound_bytes=50_000)
    assert got.status == 422
    assert got.error.startswith(told)
    assert "\n" not in got.error


def test_other_inputs_are_refused(model):
    got = asked(model, {"input": "/etc/hostname"})
    assert (got.status, got.error) == (422, "tiny reads sounds. Send sound, a sound file in base64, instead of a text.")
    assert asked(model, {"image": text_of(WHOLE)}).status == 422
    assert asked(model, {"sounds": [text_of(WHOLE)] * 3}, max_inputs=2).status == 422
    assert asked(model, {"sound": "!"}).error.startswith("The sound is not base64")
    assert asked(model, {"sound": text_of(WHOLE), "input": "a"}).status == 400


def test_the_model_says_what_it_reads(model):
    assert Served("tiny", model).facts()["input"] == "sound"
