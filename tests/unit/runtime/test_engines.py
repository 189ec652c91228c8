"""Decoding engines: fast paths to the same words as a model's `step`."""

import logging

import pytest
import torch

from helpers.models import VOCABULARY, loud, tiny
from helpers.search import MAX_LENGTH, SEQ2SEQ, beam, greedy, lively_case, make_batch, make_model
from saccade.attention import Tape
from saccade.batch import BOS, Batch
from saccade.errors import DataError, ShapeError
from saccade.models import MODELS, build_seq2seq
from saccade.runtime import StepEngine, engine_of
from saccade.runtime.engine import kept
from saccade.runtime.recurrent import packed_attention

FAST = [name for name in SEQ2SEQ if type(engine_of(make_model(name))) is not StepEngine]


def drafts(model, batch, width, tapes=(None, None)):
    return [
        writer.read(batch, width, MAX_LENGTH, tape=tape)
        for writer, tape in zip((engine_of(model), StepEngine(model)), tapes, strict=True)
    ]


def test_most_models_have_a_writer_of_their_own():
    assert {"bahdanau", "cho", "luong-general", "luong-local-p", "transformer-base", "transformer-big"} <= set(FAST)


@pytest.mark.parametrize("name", FAST)
@pytest.mark.parametrize("width", [1, 3])
@torch.no_grad()
def test_a_writer_writes_and_looks_as_step_does(name, width):
    model, batch = make_model(name), make_batch(lengths=(5, 1, 3))
    tapes = Tape(), Tape()
    fast, plain = drafts(model, batch, width, tapes)
    for site in tapes[0]:
        torch.testing.assert_close(tapes[0][site], tapes[1][site])
    generator = torch.Generator().manual_seed(1)
    sentences = 3
    for t in range(MAX_LENGTH):
        tokens = torch.randint(0, 9, (sentences * width,), generator=generator)
        tapes = Tape(first=t), Tape(first=t)
        torch.testing.assert_close(fast.step(tokens, tape=tapes[0]), plain.step(tokens, tape=tapes[1]))
        assert set(tapes[0]) == set(tapes[1])
        for site in tapes[0]:
            torch.testing.assert_close(tapes[0][site], tapes[1][site])
        slots = torch.randint(0, width, (sentences, width), generator=generator)
        rows = (torch.arange(sentences)[:, None] * width + slots).flatten()
        for draft in (fast, plain):
            draft.follow(rows)
            if t == 3:
                draft.keep(torch.tensor([0, 2]))
        sentences = 3 if t < 3 else 2


@pytest.mark.parametrize("name", FAST)
@pytest.mark.parametrize("width", [1, 2])
@torch.no_grad()
def test_a_sentence_that_replaces_another_is_written_as_if_alone(name, width):
    model, batch, others = make_model(name), make_batch(lengths=(2, 4, 3)), make_batch(lengths=(6, 3))
    if not engine_of(model).replaces:
        pytest.skip("its engine replaces no sentences, so there is no continuous batching")
    draft, late = engine_of(model).read(batch, width, MAX_LENGTH), engine_of(model).read(others, width, MAX_LENGTH)
    alone = StepEngine(model).read(others, width, MAX_LENGTH)
    generator = torch.Generator().manual_seed(2)
    for _ in range(3):
        draft.step(torch.randint(0, 9, (3 * width,), generator=generator))
    draft.replace(torch.tensor([2, 0]), late, torch.tensor([0, 1]))
    for t in range(MAX_LENGTH):
        tokens = torch.randint(0, 9, (3, width), generator=generator)
        got = draft.step(tokens.flatten()).view(3, width, -1)
        wanted = alone.step(tokens[[2, 0]].flatten()).view(2, width, -1)
        torch.testing.assert_close(got[[2, 0]], wanted)
        slots = torch.randint(0, width, (3, width), generator=generator)
        draft.follow((torch.arange(3)[:, None] * width + slots).flatten())
        alone.follow((torch.arange(2)[:, None] * width + slots[[2, 0]]).flatten())
        if t == 4:  # remove the first sentence, and with it the cache entries that no other row sees
            draft.keep(torch.tensor([0, 2]))
            break
    tokens = torch.randint(0, 9, (2, width), generator=generator)
    got, wanted = draft.step(tokens.flatten()), alone.step(tokens[[1, 0]].flatten())
    torch.testing.assert_close(got.view(2, width, -1)[[1, 0]], wanted.view(2, width, -1))


@pytest.mark.parametrize("name", ["bahdanau", "transformer-base"])
def test_a_model_that_was_changed_by_hand_writes_by_its_own_step(name):
    model = make_model(name)
    model.step = lambda *args, **options: type(model).step(model, *args, **options)
    assert type(engine_of(model)) is StepEngine
    hooked = make_model(name)
    hooked.output.register_forward_hook(lambda *_: None)
    assert type(engine_of(hooked)) is StepEngine
    exchanged = make_model(name)

    class Louder(torch.nn.Linear):
        def forward(self, x):
            return 2 * super().forward(x)

    exchanged.output = Louder(exchanged.output.in_features, exchanged.output.out_features).double()
    assert type(engine_of(exchanged)) is StepEngine


@pytest.mark.parametrize("change", ["in place", "data", "exchanged"])
@pytest.mark.parametrize("name", ["bahdanau", "transformer-base"])
def test_what_was_packed_is_packed_again_once_parameters_change(name, change):
    model, batch = make_model(name), make_batch()
    before = engine_of(model)
    assert engine_of(model) is before
    weight = model.output.weight
    with torch.no_grad():
        if change == "in place":
            weight[3, 3] += 1
        elif change == "data":
            weight.data.mul_(1.5)
        else:
            model.output.weight = torch.nn.Parameter(weight * 2)
    fast, plain = drafts(model, batch, 1)
    tokens = torch.tensor([1, 1, 1])
    with torch.no_grad():
        torch.testing.assert_close(fast.step(tokens), plain.step(tokens))


def test_what_is_kept_goes_with_its_model():
    import gc
    import weakref

    model = make_model("bahdanau")
    made = kept(model, "something", lambda: torch.zeros(1))
    assert kept(model, "something", lambda: torch.ones(1)) is made
    gone = weakref.ref(made)
    del made, model
    gc.collect()
    assert gone() is None


def sizeable(name):
    """A model large enough for its matmuls to be packed."""
    torch.manual_seed(3)
    sizes = {
        "transformer-base": {"width": 64, "feed_forward": 128, "layers": 2, "attention": {"heads": 2}},
        "bahdanau": {"embedding": 64, "encoder": {"width": 64}, "decoder": {"width": 64, "output_width": 64}},
    }
    model = build_seq2seq(name, 100, 100, **sizes[name]).eval()
    with torch.no_grad():
        model.output.bias[2] -= 2  # else every sentence ends at once
    return model, make_batch(vocabulary=100, lengths=(7, 3, 9, 5))


@pytest.mark.parametrize("name", ["bahdanau", "transformer-base"])
@torch.no_grad()
def test_packed_products_agree_in_float32_and_nearly_in_eight_bits(name):
    model, batch = sizeable(name)
    tokens = torch.tensor([5, 6, 7, 8])
    wanted = StepEngine(model).read(batch, 1, 4).step(tokens)
    torch.testing.assert_close(engine_of(model).read(batch, 1, 4).step(tokens), wanted, rtol=0, atol=1e-4)
    rough = engine_of(model, "int8").read(batch, 1, 4).step(tokens)
    error = float((rough - wanted).pow(2).mean().sqrt() / wanted.std())
    assert error < 0.05


@torch.no_grad()
def worth(model, batch, answers):
    """The log-probability of each answer by teacher forcing in float32."""
    target = torch.tensor([[BOS, *one.tokens] for one in answers])
    forced = Batch(batch.source, batch.source_mask, target, torch.ones_like(target, dtype=torch.bool))
    return model(forced).log_softmax(-1).gather(-1, forced.expected[..., None]).sum((1, 2)).tolist()


@pytest.mark.parametrize("name", ["bahdanau", "transformer-base"])
def test_searches_in_eight_bits_find_answers_of_the_same_worth(name):
    """Within 0.2 nats; by another sentence the same answers are at least 0.8 nats off."""
    model, batch = sizeable(name)
    if name == "bahdanau":  # in an untrained model, all words are equally likely
        loud(model)
    others = Batch(batch.source.roll(1, 0), batch.source_mask.roll(1, 0))
    for search in (greedy, lambda *args, **options: [found[0] for found in beam(*args, **options)]):
        exact = [one.log_probability for one in search(model, batch, max_length=6)]
        rough = search(model, batch, max_length=6, precision="int8")
        found = [one.log_probability for one in rough]
        assert found == pytest.approx(worth(model, batch, rough), abs=0.2)
        assert found == pytest.approx(exact, abs=0.2)
        wrong = worth(model, others, rough)
        assert all(abs(one - other) > 0.8 for one, other in zip(found, wrong, strict=True)), wrong


def test_a_model_that_knows_no_eight_bits_says_so(caplog):
    model, batch = lively_case("lstmn", "seq2seq")
    with caplog.at_level(logging.WARNING, "saccade"):
        rough = greedy(model, batch, max_length=4, precision="int8")
    assert "int8 unavailable for" in caplog.text
    assert [one.tokens for one in rough] == [one.tokens for one in greedy(model, batch, max_length=4)]


@pytest.mark.parametrize("far", [15.0, 45.0])
@torch.no_grad()
def test_keys_and_queries_may_be_far_from_nothing(far):
    """A query and a key that each saturate tanh may cancel in the sum."""
    torch.manual_seed(0)
    model = build_seq2seq("bahdanau", 11, 11, **MODELS["bahdanau"].tiny).eval()
    score = model.attention.score
    score.v.fill_(1.0)
    query, keys = torch.full((1, 8), 1.0), torch.full((1, 3, 16), 0.0)
    score.query_weight.zero_()[:, 0] = far
    score.key_weight.zero_()[:, 0] = 1.0
    keys[0, :, 0] = torch.tensor([1 - far, -1 - far, 1 - far])
    bank = model.attention.bank(keys)
    packed = packed_attention(model.attention, "full")
    assert packed is not None
    torch.testing.assert_close(packed(query, bank, None), model.attention(query[:, None], bank).context[:, 0])


def test_half_precision_is_left_to_the_attention():
    model = build_seq2seq("bahdanau", 11, 11, **MODELS["bahdanau"].tiny).half()
    assert packed_attention(model.attention, "full") is None


@pytest.mark.parametrize("name", ["bahdanau", "transformer-base"])
def test_an_embedding_that_rescales_its_vectors_is_left_to_step(name):
    """The model changes its weights while it encodes, so comparing answers afterwards would not detect it."""
    model = make_model(name)
    model.target_embedding.max_norm = 0.5
    assert type(engine_of(model)) is StepEngine


@pytest.mark.parametrize("name", ["bahdanau", "luong-general", "sutskever"])
def test_forced_states_and_contexts_are_noted(name):
    model, batch = make_model(name), make_batch(lengths=(3, 2))
    batch = Batch(batch.source, batch.source_mask, torch.tensor([[1, 4, 5, 2]] * 2), torch.ones(2, 4, dtype=torch.bool))
    tape = Tape(detailed=True)
    model.hidden_states(batch, tape=tape)
    assert tape.notes["state"].shape[:2] == (2, 3)
    assert ("context" in tape.notes) == (name != "sutskever")


def wide(**settings):
    """A Transformer of the smallest size whose matmuls our C code packs."""
    sizes = {"width": 64, "feed_forward": 64, "layers": 2, "dropout": 0.0, "attention": {"heads": 2}}
    return loud(build_seq2seq("transformer-base", 64, 64, **sizes | settings))


def test_positions_that_were_not_learned_are_refused_whichever_way_is_written():
    model = wide(positions="learned", max_length=8)
    for writer in (engine_of(model), StepEngine(model)):
        writer.read(Batch.from_lists([[4] * 8]), 1, 8)
        with pytest.raises(ShapeError, match="the sequence is 9 long, but the learned positions end at 8"):
            writer.read(Batch.from_lists([[4] * 9]), 1, 8)
        with pytest.raises(ShapeError, match="the sequence is 9 long, but the learned positions end at 8"):
            writer.read(Batch.from_lists([[4] * 8]), 1, 9)


@pytest.mark.parametrize(("positions", "layers"), [("sinusoidal", 1), ("learned", 2), ("rotary", 1)])
@torch.no_grad()
def test_a_long_draft_goes_on_as_step_does_when_hypotheses_change_places(positions, layers):
    """Caches begin with room for 16 words and grow, and finished sentences are removed."""
    model, batch = wide(positions=positions, layers=layers), Batch.from_lists([[5, 6, 7], [8, 9], [10]])
    generator = torch.Generator().manual_seed(2)
    fast, plain = (writer.read(batch, 2, 40) for writer in (engine_of(model), StepEngine(model)))
    sentences = 3
    for t in range(40):
        tokens = torch.randint(3, 64, (sentences * 2,), generator=generator)
        torch.testing.assert_close(fast.step(tokens), plain.step(tokens), rtol=1e-4, atol=1e-4)
        slots = torch.randint(0, 2, (sentences, 2), generator=generator)
        for draft in (fast, plain):
            draft.follow((torch.arange(sentences)[:, None] * 2 + slots).flatten())
            if t == 20:
                draft.keep(torch.tensor([2, 0]))
        sentences = 3 if t < 20 else 2


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary"])
@torch.no_grad()
def test_sentences_that_came_later_are_written_as_if_alone_when_what_was_before_them_is_forgotten(positions):
    """The cache is trimmed at the 16th word: by then no row sees the first ten."""
    model, generator = wide(positions=positions), torch.Generator().manual_seed(3)
    writer, later = engine_of(model), Batch.from_lists([[11, 12], [13, 14, 15, 16]])
    draft, alone = writer.read(Batch.from_lists([[5, 6, 7], [8, 9]]), 2, 40), StepEngine(model).read(later, 2, 30)
    for _ in range(10):
        draft.step(torch.randint(3, 64, (4,), generator=generator))
        draft.follow(torch.tensor([1, 0, 2, 2]))
    draft.replace(torch.tensor([1, 0]), writer.read(later, 2, 40), torch.tensor([1, 0]))
    for _ in range(30):
        tokens = torch.randint(3, 64, (4,), generator=generator)
        torch.testing.assert_close(draft.step(tokens), alone.step(tokens), rtol=1e-4, atol=1e-4)
        slots = torch.randint(0, 2, (2, 2), generator=generator)
        for each in (draft, alone):
            each.follow((torch.arange(2)[:, None] * 2 + slots).flatten())


@pytest.mark.parametrize("name", ["transformer-base", "bahdanau"])
def test_a_fast_search_refuses_words_that_its_source_does_not_have(name):
    model = tiny(name).eval()
    with pytest.raises(DataError, match=rf"source holds token {VOCABULARY}, but the model's vocabulary is 0\.\."):
        greedy(model, Batch.from_lists([[4, VOCABULARY]]), max_length=3, attention=False)


@pytest.mark.parametrize(
    ("name", "method"),
    [
        *(("transformer-base", method) for method in ("encode", "init_state", "step", "_embed")),
        *(("bahdanau", method) for method in ("step", "_embed", "_loop")),
    ],
)
def test_a_subclass_with_a_method_of_its_own_is_decoded_by_its_step(name, method):
    model = tiny(name).eval()
    assert not isinstance(engine_of(model), StepEngine)
    kind = type(model)
    own = type("Own", (kind,), {method: lambda self, *given, **options: getattr(kind, method)(self, *given, **options)})
    model.__class__ = own
    assert isinstance(engine_of(model), StepEngine)
