"""The files of examples/extend: what they add is used by a recipe, trained, saved and loaded.

The property tests of tasks run over these tasks, too.
"""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.testing import assert_close

import saccade
from helpers.tasks import CASES, EXTEND, KNOWN, asking, copying, few_shot, on_path, write_items
from saccade.attention import Tape
from saccade.batch import UNK, Batch
from saccade.errors import ConfigError
from saccade.models import build_seq2seq
from saccade.outside import trusting
from saccade.recipes import RecipeText
from saccade.runs.corpus import Corpus
from saccade.runs.folder import build_task
from saccade.runs.recipe import parse_recipe
from saccade.runs.training import train

on_path()


def trained(folder, **changes):
    settings = CASES["translation"].settings(folder)
    with trusting():
        recipe = parse_recipe(RecipeText({**settings, **changes}, "test"))
        train(recipe, folder / "model")
    return saccade.load(folder / "model", device="cpu", trust_code=True)


def test_every_file_is_named_in_the_readme():
    text = (EXTEND / "README.md").read_text()
    for path in EXTEND.glob("*.py"):
        assert f"({path.name})" in text


@pytest.mark.parametrize("heads", [None, 2])
def test_a_score_is_its_equation(heads):
    from score import Distance

    torch.manual_seed(1)
    score = Distance(3, 4, width=5, heads=heads).double()
    lead = (2,) if heads is None else (2, heads)
    query, keys = torch.randn(*lead, 6, 3).double(), torch.randn(*lead, 7, 4).double()
    apart = (query @ score.query)[..., :, None, :] - (keys @ score.key)[..., None, :, :]
    assert_close(score(query, score.prepare(keys)), -apart.square().sum(-1) / 5**0.5)


def test_a_model_learns_with_a_score_from_outside(tmp_path):
    settings = CASES["translation"].settings(tmp_path)
    attention = {"score": "score:Distance", "score_options": {"width": 8}}
    model = trained(tmp_path, model={**settings["model"], "attention": attention})
    found = model("ant bee cat")
    weights = next(iter(found.attention.weights.values()))
    assert weights.sum(-1) == pytest.approx(1.0, abs=1e-4)
    assert type(model.task.model.attention.score).__name__ == "Distance"


def test_a_term_changes_what_is_learned(tmp_path):
    from term import Sharpness

    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    plain = trained(tmp_path / "a")
    sharp = trained(tmp_path / "b", objective={"term:Sharpness": {"weight": 5.0, "tolerated": 0.1}})
    assert sharp.task.recipe.objective == {"term:Sharpness": {"weight": 5.0, "after": 0.0, "tolerated": 0.1}}
    assert isinstance(sharp.task.terms["term:Sharpness"], Sharpness)
    pairs = zip(plain.task.model.parameters(), sharp.task.model.parameters(), strict=True)
    assert any(not torch.equal(one, other) for one, other in pairs)


def test_a_sharp_row_costs_nothing():
    from term import Sharpness

    from helpers.models import tiny

    model, batch = tiny("bahdanau"), Batch.from_lists([[4, 5, 6], [5]], [[6, 5], [4, 4, 5]])
    tape = Tape()
    model.hidden_states(batch, tape=tape)
    (site,) = model.source_sites
    weights = tape[site]
    entropy = -(weights * weights.clamp_min(1e-9).log()).sum(-1)[:, 0]
    expected = (entropy * batch.expected_mask).sum()
    assert_close(Sharpness().loss(model, batch, tape), expected)
    assert Sharpness(tolerated=9.0).loss(model, batch, tape) == 0


def test_episodes_are_drawn_from_their_number_alone(tmp_path):
    from episodes import LABELS, ROUNDS, SHOTS, Episodes, parsed

    path = write_items(tmp_path / "items.tsv", 4, seed=1)
    first, again = (list(Episodes().read([path])) for _ in range(2))
    assert first == again
    assert len(first) == ROUNDS * len(path.read_text().splitlines())
    assert len({example.source for example in first}) == len(first)
    classes = {item: name for name, item in (line.split("\t") for line in path.read_text().splitlines())}
    labels = {name: set() for name in classes.values()}
    for example in first:
        *support, query = example.source.split()
        found = {classes[entry.rpartition("=")[0]]: entry[-1] for entry in support}
        assert found[classes[query.rpartition("=")[0]]] == example.label
        assert sorted(found.values()) == list(LABELS)
        assert query.replace("?", example.label) not in support
        assert sorted(parsed(example.source)[1]) == sorted(list(range(len(LABELS))) * SHOTS)
        for name, label in found.items():
            labels[name].add(label)
    assert set(map(frozenset, labels.values())) == {frozenset(LABELS)}, "a class has another label in every episode"


def test_few_examples_are_enough_for_classes_that_were_never_trained_on(tmp_path):
    settings = few_shot(tmp_path, classes=40)
    training = {**settings["train"], "steps": 300, "lr": 0.01, "tokens_per_batch": 640, "validate_every": 300}
    with trusting():
        recipe = parse_recipe(RecipeText({**settings, "train": training}, "test"))
        train(recipe, tmp_path / "model")
        model = saccade.load(tmp_path / "model", device="cpu", trust_code=True)
        examples = list(Corpus(recipe).examples("test"))
        untrained = build_task(recipe, model.task.tokenizers)
    before, after = (task.evaluate(examples, recipe.search) for task in (untrained, model.task))
    assert before.metrics["accuracy"] < 0.6, "a guess is right in 1 of 3"
    assert after.metrics["accuracy"] > 0.85
    right = 0.0
    for example, found in zip(examples[:20], model([each.source for each in examples[:20]]), strict=True):
        (weights,) = found.attention.weights.values()
        assert weights.shape == (1, 1, 9)
        right += sum(weights[0, 0, place] for place, item in enumerate(found.attention.source.words)
                     if item.endswith(example.label))  # fmt: skip
    assert right / 20 > 0.6, "the query attends to items of its class"


def test_a_sentinel_is_its_equation():
    from pointer import Sentinel

    torch.manual_seed(1)
    model = Sentinel(
        build_seq2seq("luong-general", 8, 8, embedding=4, encoder={"width": 4}, decoder={"width": 4})
    ).eval()
    batch = Batch.from_lists([[5, 6, 3, 2], [3, 2]], [[4, 7 + 2, 6], [5]])
    copies = torch.tensor([[5, 6, 9, 2], [7, 2, 0, 0]])  # V = 7: 9 is the third source word of its sentence
    batch = replace(batch, copies=copies)
    tape = Tape()
    found = model(batch, tape=tape).exp()
    inner = torch.softmax(model.inner(replace(batch, target=batch.target.masked_fill(batch.target > 6, UNK))), -1)
    looks = tape["attention"].mean(1)
    expected = torch.zeros(2, 4, 7 + 4)
    for row, step in np.ndindex(2, 4):
        expected[row, step, :7] = inner[row, step, :7]
        for place, number in enumerate(copies[row]):
            expected[row, step, number] += inner[row, step, 7] * looks[row, step, place]
    assert_close(found, expected, atol=1e-6, rtol=1e-5)
    assert model.choices(batch) == 11
    memory = model.encode(batch)
    steps, _ = model.extend(memory, model.init_state(memory, 4), batch.inputs)
    assert_close(steps, model(batch), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("own", [False, True])
def test_words_that_were_never_seen_are_copied(tmp_path, own):
    """By the output from outside, and by the package's own."""
    settings = copying(tmp_path)
    if own:
        settings |= {"task": "translation", "output": "pointer"}
    training = {**settings["train"], "steps": 600, "lr": 0.01, "tokens_per_batch": 512, "validate_every": 600}
    with trusting():
        recipe = parse_recipe(RecipeText({**settings, "train": training}, "test"))
        train(recipe, tmp_path / "model")
        model = saccade.load(tmp_path / "model", device="cpu", trust_code=True)
        examples = list(Corpus(recipe).examples("test"))
    for beam in (1, 4):
        found = model([example.source for example in examples], beam=beam)
        assert np.mean([each.text == example.target for each, example in zip(found, examples, strict=True)]) > 0.9
    assert all(set(example.target.split()) - set(KNOWN.values()) for example in examples), "each has a name of its own"
    text = "cat saw <b>xy</b>"
    assert model(text).text == "chat vit <b>xy</b>"
    trace = model.trace(text)
    assert trace.steps[2].text == "<b>xy</b>"
    if own:
        assert model(text).copied[2] == pytest.approx(1, abs=1e-4)
        assert model(text).to_dict()["copied"][0] < 0.5, "a translated word"
        assert trace.steps[2].copies[0] == (2, pytest.approx(1, abs=1e-4))
    forced = model.trace("cat dog <b>xy</b>", force=[trace.steps[2].token])
    assert forced.text.split()[0] == "<b>xy</b>"
    (began,) = model.stream([text], prefix="<b>xy</b>")
    assert began.text.startswith("<b>xy</b>")


def test_copies_need_one_vocabulary(tmp_path):
    settings = copying(tmp_path)
    with trusting(), pytest.raises(ConfigError, match="source words are copied as they are"):
        parse_recipe(RecipeText({**settings, "tokenizer": {"kind": "word"}}, "test"))


@pytest.fixture(scope="module")
def answering(tmp_path_factory):
    folder = tmp_path_factory.mktemp("asked")
    settings = asking(folder, 1500)
    training = {**settings["train"], "steps": 500, "lr": 0.01, "tokens_per_batch": 512, "validate_every": 500}
    with trusting():
        recipe = parse_recipe(RecipeText({**settings, "train": training}, "test"))
        train(recipe, folder / "model")
        return saccade.load(folder / "model", device="cpu", trust_code=True), list(Corpus(recipe).examples("test"))


def test_a_question_is_answered_from_a_passage(answering):
    model, examples = answering
    found = model([example.source for example in examples])
    assert np.mean([each.text == example.target for each, example in zip(found, examples, strict=True)]) > 0.9


@pytest.mark.parametrize("beam", [1, 3])
def test_each_source_has_its_own_map(answering, beam):
    model, _ = answering
    texts = ["ant in cup and bee in jar | where is bee", "dog in bag | where"]
    for text, found in zip(texts, model(texts, beam=beam), strict=True):
        passage, question = (half.split() for half in text.split(" | "))
        record = found.attention
        assert list(record.map().source) == [*passage, "<eos>"]
        assert list(record.map("question").source) == [*question, "<eos>"]
        for site in ("passage", "question"):
            assert record.matrix(site).sum(-1) == pytest.approx(1.0, abs=1e-4)
        trace = model.trace(text, beam=beam)
        assert {site.name: (site.rows, site.columns) for site in trace.sites} == {
            "passage": ("target", "source"),
            "question": ("target", "question"),
        }
        assert trace.sides["question"].text == " ".join(question)
        np.testing.assert_allclose(trace.attention.matrix("question"), record.matrix("question"), atol=1e-4)
        assert trace.attention.map().source == record.map().source
        plain = found.to_dict()["attention"]
        with pytest.raises(ConfigError, match="This model has no self-attention"):
            record.reading("question")
        assert plain["extra_sides"] == {"question": [*question, "<eos>"]}
        assert plain["between"] == {"passage": ["target", "source"], "question": ["target", "question"]}


def test_what_is_hidden_is_hidden_in_the_first_source_alone(answering):
    model, _ = answering
    text = "ant in cup and bee in jar | where is bee"
    free, hidden = model.trace(text).attention, model.trace(text, block=[1, 2]).attention
    assert (hidden.matrix("passage")[:, [1, 2]] == 0).all()
    assert (hidden.matrix("question")[0, [1, 2]] > 0).all()
    np.testing.assert_allclose(hidden.matrix("question")[0], free.matrix("question")[0], atol=1e-6)
    with pytest.raises(ConfigError, match="block and pull name the source token 9, but there are 0 to 7"):
        model.trace(text, block=[9])


def halved(answerer):
    """The same model, which attends to every second position of the passage."""
    from passages import Answerer, Memory

    class Halved(Answerer):
        def encode(self, batch, *, tape=None):
            whole = self.encoder(self.embedding(batch.source), batch.source_mask).annotations
            passage = self.passage.bank(whole[:, ::2], mask=batch.source_mask[:, ::2])
            return Memory(passage, self._bank(self.question, batch.question, batch.question_mask))

        def visible(self, batch):
            return {**super().visible(batch), "source": batch.source_mask[:, ::2]}

    answerer.__class__ = Halved
    return answerer


@pytest.mark.parametrize("options", [{}, {"beam": 3}, {"beam": 3, "coverage_penalty": 0.4, "nbest": 2}])
def test_an_encoder_may_leave_fewer_positions_than_it_read(answering, options):
    from saccade.search import SearchConfig, decode

    task, lengths = answering[0].task, [7, 3, 5]
    texts = ["ant " * length + "| where is bee" for length in lengths]
    model, config = halved(copy.deepcopy(task.model)), SearchConfig(max_length=6, **options)
    together = decode(model, task.read(texts).batch, config, attention=True)
    for text, found, length in zip(texts, together, lengths, strict=True):
        (alone,) = decode(model, task.read([text]).batch, config, attention=True)
        for one, other in zip(found, alone, strict=True):
            assert (one.tokens, one.score) == (other.tokens, pytest.approx(other.score, abs=1e-4))
            assert one.attention["passage"].shape[-1] == (length + 2) // 2  # the end is a position, too
            assert_close(one.attention["passage"], other.attention["passage"], atol=1e-5, rtol=1e-4)
            assert_close(one.attention["passage"].sum(-1), torch.ones(1, len(one.tokens)), atol=1e-4, rtol=0)
