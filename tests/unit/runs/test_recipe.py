"""Recipes across sections: invalid combinations, and bounds of data settings."""

import pytest

from helpers.recipes import recipe_of
from saccade.errors import ConfigError
from saccade.models import presets_for

CAPTIONERS = presets_for("captioner")

CAPTIONER = next(iter(CAPTIONERS))
TRANSFORMER = {"preset": "transformer-base"}


def settings(task, **sections):
    corpus = {"translation": "english-french", "language-modeling": "reading", "captioning": "scenes"}.get(task)
    data = {"corpus": corpus} if corpus is not None else {"train": "a.tsv"}
    model = {"preset": CAPTIONER} if task == "captioning" else {}
    return {"task": task, "model": model, **sections, "data": {**data, **sections.get("data", {})}}


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (
            settings("translation", embeddings={"file": "v.txt"}, tokenizer={"kind": "word"}),
            "embeddings.file: translation does not start from word vectors",
        ),
        (
            settings("language-modeling", embeddings={"file": "v.txt"}, tokenizer={"kind": "bpe"}),
            "embeddings.file: word vectors are of whole words: set tokenizer.kind to word",
        ),
        (
            settings("classification", train={"scheduled_sampling": 0.5, "metric": "accuracy"}),
            "train.scheduled_sampling: classification has no words to write: set it to 0",
        ),
        (
            settings("language-modeling", model={"preset": CAPTIONER}),
            f"{CAPTIONER} reads images, but language-modeling reads texts",
        ),
        (
            settings("captioning", model={"preset": "bahdanau"}),
            "texts, but captioning reads images. Choose show",
        ),
        (settings("captioning", objective={"guided_alignment": {}}), "captioning has no gold alignments: leave it out"),
        (settings("translation", train={"horizontal_flip": 0.5}), "translation has no images to flip: set it to 0"),
        (
            settings("translation", model={**TRANSFORMER, "tied": True}, tokenizer={"shared": False}),
            "model.tied: one matrix for both sides needs tokenizer.shared: true",
        ),
        (settings("classification", train={"metric": "bleu"}), "metric of classification 'bleu' does not exist"),
    ],
)
def test_combinations_that_cannot_be_are_told(asked, told):
    with pytest.raises(ConfigError) as caught:
        recipe_of(asked)
    assert told in str(caught.value)
    assert len(str(caught.value).splitlines()) == 2  # this fault and no other


@pytest.mark.parametrize(
    "asked",
    [
        settings("language-modeling", embeddings={"file": "v.txt"}, tokenizer={"kind": "word"}),
        settings("classification", embeddings={"file": "v.txt"}, tokenizer={"kind": "word"}),
        settings("translation", train={"scheduled_sampling": 0.5}, objective={"guided_alignment": {"weight": 1.0}}),
        settings("captioning", train={"horizontal_flip": 0.5, "scheduled_sampling": 0.5}),
        settings("translation", model={**TRANSFORMER, "tied": True}, tokenizer={"shared": True}),
        settings("translation", model={**TRANSFORMER, "tied": False}, tokenizer={"shared": False}),
        settings("language-modeling", model={**TRANSFORMER, "tied": True}),
        settings("translation", model={"preset": "sutskever"}),
        settings("captioning"),
        settings("classification", train={"metric": "macro_f1"}),
    ],
)
def test_combinations_that_can_be_are_taken(asked):
    assert recipe_of(asked).task == asked["task"]


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [("captions", 1, 8), ("image_size", 8, 1024), ("alignment_base", 0, None), ("size", 1, None)],
)
def test_numbers_of_the_data_have_their_bounds(name, least, most):
    for right in (least, *([] if most is None else [most])):
        assert getattr(recipe_of(settings("captioning", data={name: right})).data, name) == right
    for wrong in (least - 1, *([] if most is None else [most + 1])):
        with pytest.raises(ConfigError, match=rf"data\.{name}: .*it is {wrong}"):
            recipe_of(settings("captioning", data={name: wrong}))


def test_sentences_of_a_built_in_corpus_have_three_to_eighty_words():
    for right in ([3, 80], [3, 3], [80, 80]):
        assert list(recipe_of(settings("translation", data={"lengths": right})).data.lengths) == right
    for wrong in ([2, 80], [3, 81], [5, 4]):
        with pytest.raises(ConfigError, match="but must rise and lie between 3 and 80"):
            recipe_of(settings("translation", data={"lengths": wrong}))


def test_every_origin_of_the_data_is_one_of_three():
    with pytest.raises(ConfigError, match=r"one of corpus, train or hub \(there is corpus and hub\)"):
        recipe_of(settings("translation", data={"hub": "someone/something"}))
    hub = {"task": "language-modeling", "data": {"hub": "someone/something"}}
    assert recipe_of(hub).data.corpus is None


def test_vectors_are_tuned_unless_a_recipe_says_otherwise():
    """So are the vectors of a randomly initialized model."""
    assert recipe_of(settings("language-modeling")).embeddings.trainable
    assert not recipe_of(settings("language-modeling", embeddings={"trainable": False})).embeddings.trainable


def test_files_are_one_name_or_several_and_none_where_there_are_none():
    data = recipe_of({"task": "language-modeling", "data": {"train": "a.txt", "test": ["b.txt", "c.txt"]}}).data
    assert [[path.name for path in data.paths(split)] for split in ("train", "valid", "test")] == [
        ["a.txt"],
        [],
        ["b.txt", "c.txt"],
    ]
