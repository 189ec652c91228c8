"""Translation: metrics compared with manual values, and alignments with gold links."""

import json

import numpy as np
import pytest
import sacrebleu

from helpers.recipes import MODEL, recipe_of, sentences, untrained, validation_loss, write_pair
from saccade.data.example import Example, Links
from saccade.metrics import align
from saccade.models import MODELS
from saccade.runs.evaluation import compare, draw_lengths, evaluation_recipe, examples_to_test, summarise
from saccade.search.search_config import SearchConfig
from saccade.tasks.translation import Translation


def pairs(*texts, links=None):
    return [Example(source=text, target=text.upper(), links=links) for text in texts]


class Parrot(Translation):
    """Returns given answers for any input."""

    def __init__(self, said):
        made = untrained("translation", MODEL)
        super().__init__(made.recipe, made.tokenizers)
        self.said = said

    def predict(self, texts, search, *, attention=True, prefix=None, stop=None):
        found = super().predict(texts, search, attention=attention)
        return [
            type(each)(self.said[each.source], each.score, each.tokens, each.attention, each.source) for each in found
        ]


def test_without_attention_the_answer_is_the_same_and_no_words_are_looked_for():
    task, texts = untrained("translation", MODEL), ["ant bee cat", "dog"]
    asked, bare = (task.predict(texts, SearchConfig(beam=2, nbest=2), attention=wanted) for wanted in (True, False))
    for one, other in zip(asked, bare, strict=True):
        for full, short in zip([one, *one.alternatives], [other, *other.alternatives], strict=True):
            assert (full.text, full.tokens, full.source) == (short.text, short.tokens, short.source)
            assert full.score == pytest.approx(short.score, rel=1e-5)
        assert one.attention
        assert one.attention.target.words == one.text.split()
        assert not other.attention
        assert other.attention.source.tokens == other.attention.target.words == []


def test_scores_are_those_of_sacrebleu():
    said = {"ant bee cat dog elk": "ANT BEE CAT DOG FOX", "dog": "DOG", "elk fox gnu hen": "HEN GNU FOX ELK"}
    examples = pairs(*said)
    found = Parrot(said).evaluate(examples, SearchConfig())
    texts, references = list(said.values()), [[example.target for example in examples]]
    assert found.metrics["bleu"] == pytest.approx(sacrebleu.corpus_bleu(texts, references).score)
    assert found.metrics["chrf"] == pytest.approx(sacrebleu.corpus_chrf(texts, references).score)
    # the first has one wrong word, the third another order: one and three edits, for ten words
    assert found.metrics["ter"] == pytest.approx(sacrebleu.corpus_ter(texts, references).score)
    assert list(found.metrics) == ["bleu", "chrf", "ter"], "no gold alignments, no error rate"
    assert found.lengths == [5, 1, 4]
    assert [prediction.text for prediction in found.predictions] == texts
    assert found.details["sentences"] == 3
    assert "version:" in found.details["signatures"]["bleu"]


def test_a_perfect_translation(model):
    examples = pairs("ant bee cat", "dog elk", "hen")
    found = model.evaluate(examples)
    assert [prediction.text for prediction in found.predictions] == ["ANT BEE CAT", "DOG ELK", "HEN"]
    assert (found.metrics["chrf"], found.metrics["ter"]) == (pytest.approx(100), 0)


def test_alignment_error_is_counted_over_links(model):
    texts = ["ant bee cat dog", "elk fox", "hen"]
    examples = [e for t in texts for e in pairs(t, links=Links(frozenset((n, n) for n in range(len(t.split())))))]
    found = model.evaluate(examples)
    hits = asked = gold = 0
    for example, attention in zip(examples, model.task.attend(examples), strict=True):
        words = len(example.source.split())
        links = align(attention.matrix()[:, :words], words=words)
        hits, asked, gold = hits + len(links & example.links.sure), asked + len(links), gold + words
    assert found.metrics["aer"] == pytest.approx(1 - 2 * hits / (asked + gold))
    assert found.metrics["aer"] < 0.2
    told = found.details["alignment"]  # links from attention that is not shifted by a word
    assert (told["precision"], told["recall"], told["links"]) == (hits / asked, hits / gold, asked)
    assert told["by_shift"].keys() >= {"0", "1"}
    assert told["by_shift"]["0"] == pytest.approx(found.metrics["aer"])


def test_attending_keeps_the_order_of_its_examples(model):
    texts = sentences(150, seed=5)
    examples = pairs(*texts)
    for example, found in zip(examples, model.task.attend(examples, batch_size=8), strict=True):
        words = len(example.source.split())
        assert found.source.words == example.source.split()
        assert found.target.words == example.target.split()
        assert found.matrix().shape == (words + 1, words + 1)
        alone = model.task.attend([example])[0]
        np.testing.assert_allclose(found.weights["attention"], alone.weights["attention"], atol=1e-5)


def test_an_empty_side_is_an_example_like_any_other(model):
    examples = [Example(source="", target="ANT"), Example(source="ant", target=""), *pairs("bee cat")]
    found = model.evaluate(examples)
    assert found.predictions[0].text == ""
    assert found.lengths == [0, 1, 2]
    unlinked = [Example(e.source, e.target, None, Links(frozenset())) for e in examples]
    assert "aer" not in model.evaluate(unlinked).metrics, "a gold alignment without links does not count"
    linked = [*unlinked, *pairs("elk", links=Links(frozenset({(0, 0)})))]
    assert "aer" in model.evaluate(linked).metrics


def test_the_loss_is_the_mean_over_tokens(model, text):
    from saccade.runs.corpus import Corpus

    task = model.task
    store = Corpus(task.recipe).store("test", task)
    many = validation_loss(task, store, task.objective(), 100_000)
    assert many == pytest.approx(validation_loss(task, store, task.objective(), 30), rel=1e-5)
    assert many < 1.0


def test_health_has_numbers_for_each_site(model):
    numbers, notes = model.task.health(pairs(*sentences(20)))
    assert set(numbers) == {"attention/entropy", "attention/coverage", "attention/end_share"}
    assert all(isinstance(note, str) for note in notes)


def test_a_summary_is_plain_data_with_bands(model):
    examples = pairs(*sentences(30, seed=3))
    summary = summarise(model.evaluate(examples))
    assert json.loads(json.dumps(summary)) == summary
    low, high = summary["bands"]["chrf"]
    assert low <= summary["metrics"]["chrf"] <= high
    assert sum(entry["count"] for entry in summary["by_length"]) == 30


def test_the_same_twice_is_no_difference(model, tmp_path):
    found = model.evaluate(pairs(*sentences(30, seed=3)))
    again = model.evaluate(pairs(*sentences(30, seed=3)))
    said = dict.fromkeys(sentences(30, seed=3), "ANT")
    worse = Parrot(said).evaluate(pairs(*sentences(30, seed=3)), SearchConfig())
    report = compare([("one", found), ("two", again), ("parrot", worse)])
    first, second, third = report["models"]
    assert first["against_first"] == {}
    assert {part["p_value"] for part in second["against_first"].values()} == {1.0}
    assert {part["difference"] for part in second["against_first"].values()} == {0.0}
    assert third["against_first"]["chrf"]["difference"] < 0
    assert third["against_first"]["chrf"]["p_value"] < 0.01
    assert report["sentences"] == 30
    draw_lengths(tmp_path / "lengths.svg", [("one", found), ("parrot", worse)], trained_to=6)
    assert "parrot" in (tmp_path / "lengths.svg").read_text()


def test_what_is_evaluated_on(model, text):
    recipe = model.task.recipe
    assert len(examples_to_test(recipe)) == 20
    assert len(examples_to_test(recipe, split="valid")) == 6
    assert len(examples_to_test(recipe, split="train")) == 394
    files = [text / "train.a", text / "train.b"]
    assert len(examples_to_test(recipe, files)) == 400
    other = evaluation_recipe(recipe, [f"data.test=[{text}/train.a, {text}/train.b]"])
    assert len(examples_to_test(other)) == 400
    without = evaluation_recipe(recipe, ["data.test=null"])
    assert len(examples_to_test(without)) == 6, "validation data where there are none to test"


def test_learned_positions_leave_room_for_so_many_tokens():
    tiny = MODELS["transformer-base"].tiny | {"positions": "learned", "max_length": 9, "tied": False}
    task = untrained("translation", {"preset": "transformer-base", **tiny})
    (found,) = task.predict(["ant bee cat dog elk"], SearchConfig())
    assert len(found.tokens) <= 9
    assert (task.longest, untrained("translation", MODEL).longest) == (9, 10_000)


def test_beginnings_are_kept(model):
    found = model.stream(["ant bee", "cat dog elk"], prefix="DOG FOX")
    assert [prediction.text[:7] for prediction in found] == ["DOG FOX"] * 2


def test_guided_alignment_needs_alignments(tmp_path):
    from saccade.errors import ConfigError
    from saccade.runs.training import train

    settings = {
        "task": "translation",
        "data": {"train": write_pair(tmp_path, "train", 100)[:2], "cache": str(tmp_path / "cache")},
        "model": MODEL,
        "tokenizer": {"kind": "word"},
        "objective": {"guided_alignment": {"weight": 1.0}},
    }
    with pytest.raises(ConfigError, match=r"guided_alignment is set, but the training data have no alignments"):
        train(recipe_of(settings), tmp_path / "out")
    assert not (tmp_path / "out").exists()
