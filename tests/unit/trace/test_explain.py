"""Explanations: the numbers are the model's own, and every part of a step is explained."""

import math
import re

import numpy as np
import pytest

from helpers.recipes import MODEL, untrained
from saccade.api import Model
from saccade.errors import ConfigError
from saccade.models import MODELS
from saccade.trace import About, Side, Site, Step, Trace, pack
from saccade.trace.explain import _strip, explain

TEXT = "ant bee cat dog"


def made(preset, task="translation", **more):
    tied = {"tied": False} if "transformer" in preset else {}
    return Model(untrained(task, {"preset": preset, **MODELS[preset].tiny, **tied}, **more))


def told(trace, **choice):
    return "\n".join(explain(trace, **choice))


def test_a_step_is_told_from_state_to_choice(model):
    trace = model.trace(TEXT, detail=True)
    opening, *steps = explain(trace)
    assert "reads   ant bee cat dog\nanswers ANT BEE CAT DOG" in opening
    assert len(steps) == len(trace.steps)
    titles = re.findall(r"^  \d  (.*)$", steps[1], re.M)
    assert [title.split()[0] for title in titles] == ["The", "The", "The", "State", "The", "It"]
    assert steps[1].startswith("\nStep 2 of 5, after 'ANT'")
    weights = trace.sites[0].weights.unpack()[0, 1]
    for word, weight in zip([*TEXT.split(), "<eos>"], weights, strict=True):
        (share,) = re.findall(rf"^ +{word} +-?\d+\.\d+ +(\d\.\d+)", steps[1], re.M)
        assert float(share) == pytest.approx(weight, abs=6e-4)
    likely = trace.steps[1].candidates[0]
    assert re.search(rf"^ +BEE +{math.exp(likely[2]):.3f} +█", steps[1], re.M)
    assert "It writes 'BEE', the likeliest." in steps[1]


def test_one_step_alone(model):
    assert told(model.trace(TEXT, detail=True), step=3).count("Step ") == 1


def test_without_attention_it_says_so():
    text = told(made("cho").trace(TEXT, detail=True))
    assert "The model has no attention" in text
    assert "The context: one fixed vector, the same in every step" in text


def test_heads_show_query_key_and_value():
    trace = made("transformer-base").trace(TEXT, detail=True, max_length=4, min_length=2)
    text = told(trace, step=1, head=1)
    assert "Shown is head 2 of 2 at decoder.layers.1.cross; 3 other sites: see --site." in text
    for part in ("The query of head 2 at this position", "The key of '", "The value of '"):
        assert part in text
    look_back = next(site.name for site in trace.sites if site.columns == "written")
    assert "hidden" in told(trace, step=1, site=look_back), "later tokens are masked"


def test_many_words_are_summed_up(model):
    trace = model.trace(TEXT + " ant bee" * 10, detail=True)
    weights = np.sort(trace.sites[0].weights.unpack()[0, 0])
    assert len(weights) == 25
    (share,) = re.findall(r"and 11 others with a total weight of (0\.\d{3})$", told(trace, step=1), re.M)
    assert float(share) == pytest.approx(weights[:11].sum(), abs=6e-4)
    even = trace.sites[0].model_copy(update={"weights": pack(np.full((1, len(trace.steps), 25), 0.04), 65535)})
    assert "and 11 others with a total weight of 0.440" in told(trace.model_copy(update={"sites": [even]}), step=1)


def test_a_word_that_was_forced_says_how_unlikely_it_was(model):
    free = model.trace(TEXT)
    text = told(model.trace(TEXT, force=[free.steps[1].token], detail=True), step=1)
    assert re.search(r"It writes 'BEE', with probability 0\.\d{3}\.", text)


def test_text_that_would_act_is_shown():
    model = Model(untrained("translation", MODEL, kind="char"))
    assert "\x1b" not in told(model.trace("a\x1b[2Jb", max_length=4, detail=True))


def test_language_models_and_classifiers_are_explained():
    assert "Step 3" in told(made("lstmn", "language-modeling").trace("the cat", max_length=3, detail=True))
    assert "The 3 most likely next tokens" in told(made("lstmn", "classification").trace("good ant", detail=True))


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"step": 9}, "step 9 was asked for, but there are steps 1 to 5"),
        ({"head": 1}, r"there is no head 2 \(in Python: head=1\): attention has 1 head"),
        ({"site": "atention"}, "Did you mean 'attention'"),
    ],
)
def test_choices_that_cannot_be(model, choice, message):
    with pytest.raises(ConfigError, match=message):
        told(model.trace(TEXT), **choice)


def test_a_site_of_the_encoder_has_no_steps():
    trace = made("transformer-base").trace(TEXT, max_length=3)
    with pytest.raises(ConfigError, match="attends while the source is encoded"):
        told(trace, site=trace.sites[0].name)


def test_only_what_is_not_shown_of_a_vector_is_hinted_at():
    assert _strip(np.ones(32, np.float32)).startswith("█" * 32 + "  32 numbers")
    assert _strip(np.ones(33, np.float32)).startswith("█" * 32 + "…  33 numbers")


def test_heights_are_shares_of_the_largest_number():
    assert _strip(np.array([0.02, -0.02, 0, 0.01], np.float32)) == "█▁▅▇  4 numbers, -0.02 to 0.02, length 0.03"
    assert _strip(np.zeros(2, np.float32)).startswith("▅▅  2 numbers, 0.00 to 0.00")


WHOLE = """\
m: luong-dot, 1,234 parameters
reads   a wide b
answers A B
Shown is head 2 of 2 at cross; 1 other sites: see --site.

Step 2 of 2, after 'A'
  1  The state of the decoder
     ▅█  2 numbers, 0.00 to 1.00, length 1.00
  2  The query of head 2 at this position
     ▁█  2 numbers, -2.00 to 2.00, length 2.83
  3  The key of 'wide', which has the highest weight
     █▅  2 numbers, 0.00 to 1.00, length 1.00
  4  The score of each token, q · k, and its weight by softmax
        a   hidden   0.000
     wide    1.000   0.750  ██████████████████
        b   -1.000   0.250  ██████
  5  The 5 most likely next tokens
     bb   0.500  ████████████
      c   0.250  ██████
      d   0.125  ███
      e   0.062  ██
      f   0.031  █
  6  It writes 'B', with probability 0.016."""


def test_a_whole_step_of_known_numbers():
    names = ["bb", "c", "d", "e", "f", "B"]
    likely = [(place, name, math.log(0.5 ** (place + 1))) for place, name in enumerate(names)]
    steps = [
        Step(token=9, text="A", log_probability=0.0, candidates=[(9, "A", 0.0)]),
        Step(token=5, text="B", log_probability=math.log(1 / 64), candidates=likely),
    ]
    weights = [[[1, 0, 0], [0, 1, 0]], [[1, 0, 0], [0, 0.75, 0.25]]]
    scores = [[[0, 0, 0], [0, 0, 0]], [[1, 1, 1], [math.nan, 1, -1]]]
    options = {"score": "dot", "align": "softmax", "formula": "q · k", "heads": 2, "weights": packed(weights)}
    sites = [
        Site(name="cross", rows="target", columns="source", scores=packed(scores), **options),
        Site(name="back", rows="target", columns="target", **options | {"weights": packed([[[1, 0], [0, 1]]] * 2)}),
    ]
    vectors = {
        "state": packed([[1, 0], [0, 1]]),
        "cross.query": packed([[[0, 0], [0, 0]], [[1, 1], [-2, 2]]]),
        "cross.key": packed([[[0, 0]] * 3, [[0, 0], [1, 0], [0, 1]]]),
    }
    source = Side(text="a wide b", tokens=["a", "wide", "b"], words=["a", "wide", "b"], word_of=[0, 1, 2])
    target = Side(text="A B", tokens=["A", "B"], words=["A", "B"], word_of=[0, 1])
    trace = Trace(
        task="translation",
        model=About(name="m", preset="luong-dot", parameters=1234),
        text="A B",
        score=-1.0,
        sides={"source": source, "target": target},
        sites=sites,
        steps=steps,
        vectors=vectors,
    )
    assert told(trace, step=2, head=1) == WHOLE


def test_a_site_of_one_head_is_named_alone(model):
    assert told(model.trace(TEXT), step=1).splitlines()[3] == "Shown is attention."


def test_no_bar_is_longer_than_the_whole(model):
    trace = model.trace(TEXT)
    weights = np.full((1, len(trace.steps), 5), 1.5)
    weights[..., 0] = 0.5
    loud = trace.sites[0].model_copy(update={"weights": packed(weights)})
    text = told(trace.model_copy(update={"sites": [loud]}), step=1)
    bars = re.findall(r"^ +(?:ant|bee|cat|dog|<eos>) .* (█+)$", text, re.M)
    assert [len(bar) for bar in bars] == [12, 24, 24, 24, 24]


def packed(numbers):
    return pack(np.array(numbers, np.float32), 65535)


def test_scaling_and_a_word_that_sees_nothing_are_told():
    steps = MODELS["transformer-base"].tiny | {"attention": {"heads": 2, "project": "none", "itself": False}}
    model = Model(untrained("translation", {"preset": "transformer-base", **steps, "tied": False}))
    trace = model.trace(TEXT, detail=True, max_length=4, min_length=2)
    text = told(trace, site="decoder.layers.0.self_attention")
    first, second = text.split("Step ")[1:3]
    assert "divided by √D = 2" in second
    assert "highest weight" not in first
    row = next(line for line in second.splitlines() if "<bos>" in line and "█" in line)
    raw, scaled, share = map(float, row.split()[1:4])
    assert raw == pytest.approx(2 * scaled, abs=0.002)
    assert share == 1


def test_a_step_says_what_was_copied_and_from_where():
    trace = made("bahdanau").trace(TEXT, max_length=4, min_length=2)
    assert "opied" not in told(trace), "this model copies nothing"
    copies = [[(1, 0.25), (0, 0.7)], []]
    steps = [step.model_copy(update={"copies": one}) for step, one in zip(trace.steps, copies, strict=False)]
    text = told(trace.model_copy(update={"steps": steps}))
    lines = text.splitlines()
    place = lines.index("     Copied with probability 0.950, from the source tokens")
    assert re.match(r" +ant \(1\) +0\.700 +█", lines[place + 1])
    assert re.match(r" +bee \(2\) +0\.250 +█", lines[place + 2])
    assert "     Generated: it was not copied from the source." in lines
