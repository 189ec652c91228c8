"""Bad input to attention: each message has the numbers of both sides and says what to do."""

import pytest
import torch

from saccade import errors, masks
from saccade.attention import (
    AlphaEntmax,
    Attention,
    Bank,
    Coverage,
    DotScore,
    General,
    Hard,
    LocalMonotonic,
    LocalPredictive,
    Location,
    LocationAware,
    Monotonic,
    MultiHead,
    ScaledDot,
    Softmax,
    build_attention,
    coverage_loss,
    reinforce_loss,
)
from saccade.errors import ConfigError, SaccadeError, ShapeError

WIDTH = 4


def one_head():
    return Attention(DotScore(WIDTH, WIDTH))


def two_heads():
    return build_attention("scaled-dot", WIDTH, 6, 5, heads=2)


def zeros(*shape, dtype=None):
    return torch.zeros(shape, dtype=dtype)


def bits(*shape):
    return torch.ones(shape, dtype=torch.bool)


def ask(attention, query, *bank):
    return attention(query, attention.bank(*bank))


BAD_TENSORS = {
    # rank
    "keys without time": (lambda: one_head().bank(zeros(2, 4)), r"keys are \(2, 4\).*takes \(B, S, D\)"),
    "keys with heads for one": (lambda: one_head().bank(zeros(2, 3, 7, 4)), r"keys are \(2, 3, 7, 4\).*\(B, S, D\)"),
    "keys without heads for two": (
        lambda: Attention(DotScore(4, 4, heads=2)).bank(zeros(2, 7, 4)),
        r"keys are \(2, 7, 4\).*takes \(B, 2, S, D\)",
    ),
    "values without time": (lambda: one_head().bank(zeros(2, 7, 4), zeros(2, 7)), r"values are \(2, 7\).*\(B, S, D\)"),
    "query without time": (
        lambda: ask(one_head(), zeros(2, 4), zeros(2, 7, 4)),
        r"query is \(2, 4\), but the bank's keys are \(2, 7, 4\).*\(B, D\) becomes \(B, 1, D\)",
    ),
    "query of other heads": (
        lambda: ask(Attention(DotScore(4, 4, heads=2)), zeros(2, 3, 1, 4), zeros(2, 2, 7, 4)),
        r"query is \(2, 3, 1, 4\).*keys are \(2, 2, 7, 4\).*agree in rank and heads",
    ),
    "many heads, query without time": (
        lambda: ask(two_heads(), zeros(2, 4), zeros(2, 7, 6), zeros(2, 7, 5)),
        r"query is \(2, 4\).*takes \(N, T, 4\).*single query has T=1",
    ),
    "many heads, keys without time": (lambda: two_heads().bank(zeros(2, 6)), r"keys are \(2, 6\).*\(B, S, 6\)"),
    # width
    "keys too wide": (
        lambda: one_head().bank(zeros(2, 7, 5)),
        r"keys are 5 wide, but DotScore was built for key_width=4.*width of the keys",
    ),
    "query too narrow": (
        lambda: ask(one_head(), zeros(2, 1, 3), zeros(2, 7, 4)),
        r"query is 3 wide, but DotScore was built for query_width=4.*width of the queries",
    ),
    "many heads, keys too wide": (
        lambda: two_heads().bank(zeros(2, 7, 8)),
        r"keys are \(2, 7, 8\).*takes \(B, S, 6\).*width of the keys",
    ),
    "many heads, values too wide": (
        lambda: two_heads().bank(zeros(2, 7, 6), zeros(2, 7, 6)),
        r"values are \(2, 7, 6\).*takes \(B, S, 5\)",
    ),
    "many heads, query too narrow": (
        lambda: ask(two_heads(), zeros(2, 1, 3), zeros(2, 7, 6), zeros(2, 7, 5)),
        r"query is \(2, 1, 3\).*takes \(N, T, 4\)",
    ),
    "entry by entry of different widths": (
        lambda: DotScore(4, 6),
        r"DotScore compares entry by entry.*4 wide and keys 6.*'general', 'projected-dot' or 'additive'",
    ),
    "cosine of different widths": (lambda: build_attention("cosine", 3, 5), r"Cosine .*3 wide and keys 5"),
    # dtype
    "tokens as keys": (
        lambda: one_head().bank(zeros(2, 7, 4, dtype=torch.long)),
        r"keys.*torch.int64.*floats\. Embed tokens first",
    ),
    "tokens as values": (
        lambda: one_head().bank(zeros(2, 7, 4), zeros(2, 7, 4, dtype=torch.long)),
        r"values.*torch.int64.*Embed",
    ),
    "tokens as query": (
        lambda: ask(one_head(), zeros(2, 1, 4, dtype=torch.int32), zeros(2, 7, 4)),
        r"query.*torch.int32.*Embed tokens first",
    ),
    "many heads, tokens as keys": (
        lambda: two_heads().bank(zeros(2, 7, 6, dtype=torch.long), zeros(2, 7, 5)),
        r"keys.*torch.int64.*Embed",
    ),
    "many heads, tokens as query": (
        lambda: ask(two_heads(), zeros(2, 1, 4, dtype=torch.long), zeros(2, 7, 6), zeros(2, 7, 5)),
        r"query.*torch.int64.*Embed",
    ),
    # rows
    "empty batch": (
        lambda: ask(one_head(), zeros(0, 1, 4), zeros(0, 7, 4)),
        r"keys are \(0, 7, 4\): there is nothing to attend to",
    ),
    "no keys": (lambda: one_head().bank(zeros(2, 0, 4)), r"keys are \(2, 0, 4\): there is nothing.*at least one key"),
    "no queries": (lambda: ask(one_head(), zeros(2, 0, 4), zeros(2, 7, 4)), r"query is \(2, 0, 4\): T=0.*at least one"),
    "a batch of no queries": (
        lambda: ask(one_head(), zeros(0, 1, 4), zeros(2, 7, 4)),
        r"query has 0 rows, but the bank has 2.*at least one for each",
    ),
    "two dtypes": (
        lambda: ask(one_head(), zeros(2, 1, 4, dtype=torch.float64), zeros(2, 7, 4)),
        r"query is torch.float64, but the bank is torch.float32.*\.to\(\)",
    ),
    "keys of another dtype than the score": (
        lambda: Attention(General(4, 4)).bank(zeros(2, 7, 4, dtype=torch.float64)),
        r"keys are torch.float64, but this attention is torch.float32.*\.to\(\)",
    ),
    "keys of another dtype than the heads": (
        lambda: two_heads().bank(zeros(2, 7, 6, dtype=torch.float16), zeros(2, 7, 5)),
        r"keys are torch.float16, but this attention is torch.float32",
    ),
    "values of another dtype": (
        lambda: one_head().bank(zeros(2, 7, 4), zeros(2, 7, 4, dtype=torch.float64)),
        r"values are torch.float64, but this attention is torch.float32",
    ),
    "no bank": (lambda: one_head()(zeros(2, 1, 4), zeros(2, 7, 4)), r"reads a Bank, but was given a Tensor.*\.bank\("),
    "weights without heads in coverage_loss": (
        lambda: coverage_loss(zeros(2, 3, 4)),
        r"weights are \(2, 3, 4\), but must be \(B, H, T, S\)",
    ),
    "a reward of another shape": (
        lambda: reinforce_loss(zeros(2, 1, 3, 4), zeros(2, 1, 3, 4), zeros(2, 1), 0.0),
        r"the reward \(2, 1\), but must be.*\(B,\)",
    ),
    "positions of another shape": (
        lambda: one_head()(zeros(2, 3, 4), one_head().bank(zeros(2, 7, 4)), positions=zeros(2, 5)),
        r"positions are \(2, 5\), but there are 2 rows of 3 queries: pass \(2, 3\)",
    ),
    "a past for hypotheses that do not share out": (
        lambda: Attention(Coverage(4, 4)).start(Attention(Coverage(4, 4)).bank(zeros(2, 7, 4)), rows=5),
        r"query has 5 rows, but the bank has 2",
    ),
    "queries that do not share out": (
        lambda: ask(one_head(), zeros(5, 1, 4), zeros(2, 7, 4)),
        r"query has 5 rows, but the bank has 2.*at least one for each",
    ),
    "values of another length": (
        lambda: one_head().bank(zeros(2, 7, 4), zeros(2, 6, 4)),
        r"values are \(2, 6, 4\) and keys \(2, 7, 4\).*one value.*last axis only",
    ),
    "many heads, values of another length": (
        lambda: two_heads().bank(zeros(2, 7, 6), zeros(2, 8, 5)),
        r"values are \(2, 8, 5\) and keys \(2, 7, 6\)",
    ),
    # masks
    "mask of another length": (
        lambda: one_head().bank(zeros(2, 7, 4), mask=bits(2, 6)),
        r"mask is \(2, 6\), but keys are \(2, 7, 4\): B=2, S=7.*masks.padding\(lengths\)",
    ),
    "mask of another batch": (
        lambda: one_head().bank(zeros(2, 7, 4), mask=bits(3, 7)),
        r"mask is \(3, 7\).*B=2, S=7.*\(B, T, S\) for one that differs by query",
    ),
    "mask of one axis": (lambda: one_head().bank(zeros(2, 7, 4), mask=bits(7)), r"mask is \(7,\).*B=2, S=7"),
    "mask with heads for one": (
        lambda: one_head().bank(zeros(2, 7, 4), mask=bits(2, 1, 1, 7)),
        r"mask is \(2, 1, 1, 7\).*keys are \(2, 7, 4\)",
    ),
    "mask of other heads": (
        lambda: two_heads().bank(zeros(2, 7, 6), zeros(2, 7, 5), bits(2, 3, 1, 7)),
        r"mask is \(2, 3, 1, 7\).*keys are \(2, 2, 7, 2\)",
    ),
    "mask of numbers": (
        lambda: one_head().bank(zeros(2, 7, 4), mask=torch.ones(2, 7)),
        r"mask is torch.float32.*torch.bool, True = keep.*mask == 0.*\.bool\(\).*key_padding_mask of torch.*negate",
    ),
    "mask for other queries": (
        lambda: ask(one_head(), zeros(2, 3, 4), zeros(2, 7, 4), None, bits(2, 5, 7)),
        r"mask is \(2, 5, 7\), made for 5 queries.*T=3.*padding mask \(B, S\)",
    ),
    # parts
    "more keys than places": (
        lambda: ask(Attention(Location(4, 4, max_length=5)), zeros(1, 1, 4), zeros(1, 6, 4)),
        r"6 keys, but this location score has 5 positions.*larger max_length",
    ),
    "monotonic without its past": (lambda: Monotonic()(zeros(1, 1, 3)), "needs its past.*through Attention"),
}

BAD_SETTINGS = {
    "unknown score": (
        lambda: build_attention("aditive", 4, 4),
        r"score 'aditive' does not exist\. Did you mean 'additive'\? Known: .*scaled-dot",
    ),
    "unknown align": (
        lambda: build_attention("dot", 4, 4, align="spasemax"),
        r"align 'spasemax'.*mean 'sparsemax'\? Known: entmax-1.5",
    ),
    "unknown window": (
        lambda: build_attention("dot", 4, 4, window="local"),
        r"window 'local'.*mean 'local-[mp]'\? Known: global, local-m, local-p, median, monotonic",
    ),
    "unknown option of a score": (
        lambda: build_attention("additive", 4, 4, score_options={"widht": 3}),
        r"option of score 'additive' 'widht'.*mean 'width'\? Known: bias, width",
    ),
    "unknown option of an align": (
        lambda: build_attention("dot", 4, 4, align_options={"temprature": 3}),
        r"option of align 'softmax' 'temprature'.*mean 'temperature'\?",
    ),
    "unknown option of a window": (
        lambda: build_attention("dot", 4, 4, window="local-m", window_options={"radios": 3}),
        r"option of window 'local-m' 'radios'.*mean 'radius'\? Known: radius",
    ),
    "heads as an option": (
        lambda: build_attention("additive", 4, 4, score_options={"heads": 2}),
        r"option of score 'additive' 'heads' does not exist.*Known: bias, width",
    ),
    "a width as an option": (
        lambda: build_attention("additive", 4, 4, score_options={"query_width": 2}),
        r"'query_width' does not exist.*mean 'width'\?",
    ),
    "an unknown estimator": (lambda: Hard(estimator="gumble"), r"estimator 'gumble'.*mean 'gumbel'\?"),
    "heads that do not divide": (
        lambda: build_attention("scaled-dot", 10, 10, heads=3),
        r"width 10 cannot be split into 3 heads.*divides it",
    ),
    "no heads at all": (lambda: build_attention("scaled-dot", 10, 10, heads=0), "width 10 .* 0 heads"),
    "a score without heads": (
        lambda: MultiHead(Attention(ScaledDot(4, 4)), 8),
        r"heads=None, query_width=4, key_width=4.*build_attention\(\.\.\., heads=…\)",
    ),
    "heads of two widths": (
        lambda: MultiHead(Attention(General(2, 3, heads=2)), 4),
        "heads=2, query_width=2, key_width=3",
    ),
    "an even kernel": (lambda: LocationAware(4, 4, kernel=6), "kernel is 6.*odd one: try 7"),
    "temperature 0": (lambda: Softmax(temperature=0), "temperature is 0, but must be above 0; 'hard' is its limit"),
    "negative temperature": (lambda: Hard(temperature=-1.5), "temperature is -1.5.*above 0"),
    "no temperature": (lambda: Softmax(temperature=float("nan")), "temperature is nan"),
    "alpha of softmax": (lambda: AlphaEntmax(alpha=1.0), r"alpha is 1.0.*between 1 \(softmax\) and 2 \(sparsemax\)"),
    "alpha beyond sparsemax": (lambda: AlphaEntmax(alpha=2.5), "alpha is 2.5"),
    "an empty window": (lambda: LocalMonotonic(4, radius=0), "radius is 0.*at least 1"),
    "a negative window": (lambda: LocalPredictive(4, radius=-3), "radius is -3"),
}


@pytest.mark.parametrize(("mistake", "message"), BAD_TENSORS.values(), ids=BAD_TENSORS)
def test_tensors_that_do_not_go_together(mistake, message):
    with pytest.raises(ShapeError, match=message):
        mistake()


@pytest.mark.parametrize(("mistake", "message"), BAD_SETTINGS.values(), ids=BAD_SETTINGS)
def test_settings_that_do_not_exist_or_cannot_be(mistake, message):
    with pytest.raises(ConfigError, match=message):
        mistake()


def test_a_bank_made_by_hand_is_checked_against_the_query_too():
    bank = Bank(zeros(2, 7, 4), zeros(2, 7, 4), masks.causal(7))
    with pytest.raises(ShapeError, match=r"mask is \(1, 7, 7\), made for 7 queries, but there are T=3"):
        one_head()(zeros(2, 3, 4), bank)


def test_every_error_can_be_caught_at_the_root():
    kinds = [kind for name in errors.__all__ if isinstance(kind := getattr(errors, name), type)]
    kinds.remove(errors.Interruption)  # which is no fault
    assert len(kinds) == 6
    assert all(issubclass(kind, SaccadeError) for kind in kinds)


def test_a_name_that_is_near_nothing_gets_no_suggestion():
    error = errors.unknown_name("score", "xyzzy", ["dot", "additive"])
    assert str(error) == "score 'xyzzy' does not exist. Known: additive, dot."


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Attention("dot"), r"given 'dot' for the score.*use build_attention"),
        (lambda: Attention(DotScore(4, 4), "softmax"), r"given 'softmax' for the align"),
        (lambda: Attention(DotScore(4, 4), window=LocalPredictive(8)), r"queries are 4 wide, but the window's 8"),
        (lambda: Attention(DotScore(4, 4, heads=2), AlphaEntmax(heads=4)), r"score has heads=2.*heads=4"),
        (lambda: build_attention("cosine", 4, 4, score_options={"sharpness": -1.0}), r"sharpness is -1.0.*above 0"),
        (lambda: build_attention("additive", 4, 4, score_options={"width": 0}), r"0 by 4"),
        (lambda: Attention(DotScore(4, 4), dropout=1.5), r"dropout is 1.5"),
    ],
)
def test_parts_that_do_not_go_together(make, says):
    with pytest.raises(ConfigError, match=says):
        make()
