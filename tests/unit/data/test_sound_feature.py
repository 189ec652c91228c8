"""Frames that gold attention of speech points to: words, translations, and words without a time."""

import numpy as np
import pytest
import torch

from saccade.data.example import Example, Links
from saccade.data.features import TokenFeature
from saccade.data.sound_config import SoundConfig
from saccade.data.sound_feature import HeardLinks, SoundFeature, heard_spans
from saccade.data.sounds import Sound
from saccade.data.store import Store
from saccade.data.tokenizer import Tokenizer, TokenizerConfig
from saccade.models import build_recognizer

CONFIG = SoundConfig(rate=8000, mels=4)
SECOND = Sound(np.random.default_rng(1).normal(size=4000).astype(np.float32) * 0.1, 8000)
SAID = Example(target="two one", sound=SECOND, times=((0.1, 0.2), (0.25, 0.9)))
TRANSLATED = Example(
    source="a b c",
    target="x y z",
    sound=SECOND,
    times=((0.0, 0.1), (0.1, 0.2), (0.4, 0.5)),
    links=Links(frozenset({(0, 1), (2, 1), (1, 0)}), frozenset({(2, 2)})),
)


def batch(tmp_path, *examples):
    target = Tokenizer.train(TokenizerConfig(kind="word"), [each.target for each in examples], "text")
    features = [SoundFeature(CONFIG), TokenFeature("target", target), HeardLinks(target, CONFIG)]
    store = Store.open(tmp_path, "a", examples, features)
    made = {}
    for feature in features:
        made |= feature.collate(store.columns[feature.name], np.arange(len(examples)), len(examples) + 1, 0, made)
    return made


def frames(row):
    places = row.nonzero().flatten().tolist()
    return (places[0], places[-1], len(places)) if places else None


def test_each_word_is_linked_to_the_frames_of_its_time(tmp_path):
    links = batch(tmp_path, SAID)["links"]
    assert links.shape == (2, 3, 50)  # a row that fills the batch, and the end of the sentence
    assert [frames(row) for row in links[0]] == [(10, 19, 10), (25, 49, 25), None]  # no frame after the end
    torch.testing.assert_close(links[0].sum(1), torch.tensor([1.0, 1.0, 0.0]))
    assert not links[1].any()


def test_a_translated_word_is_linked_to_all_the_words_that_it_translates(tmp_path):
    assert heard_spans(TRANSLATED) == {1: [(0.0, 0.1), (0.4, 0.5)], 0: [(0.1, 0.2)]}
    links = batch(tmp_path, TRANSLATED)["links"]
    assert [frames(row) for row in links[0]] == [(10, 19, 10), (0, 49, 20), None, None]  # z is only a possible link
    assert heard_spans(Example(source="a", target="x", links=Links(frozenset({(0, 0)})))) == {}


@pytest.mark.parametrize("factor", [1, 2, 4])
def test_keys_have_the_share_of_their_frames(tmp_path, factor):
    made = batch(tmp_path, SAID)
    model = build_recognizer(
        "las", 4, 9, sound_encoder={"width": 3, "layers": 2, "factor": factor}, decoder={"width": 6}
    )
    found = model.linked(type("Linked", (), made)())
    assert found.shape == (2, 3, -(-50 // factor))
    torch.testing.assert_close(found.sum(2), made["links"].sum(2))
    for key in range(found.shape[2]):
        torch.testing.assert_close(found[0, :, key], made["links"][0, :, key * factor : (key + 1) * factor].sum(1))
