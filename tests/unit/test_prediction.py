"""Predictions and their attention: folded to words, drawn and saved."""

import json
import random
from dataclasses import replace

import numpy as np
import pytest

from helpers.recipes import untrained
from saccade.errors import ConfigError
from saccade.look import STYLES, FigureSpec, Picture, Spectrogram
from saccade.models import MODELS, presets_for
from saccade.prediction import AttentionMaps, Prediction, Side, side
from saccade.search.search_config import SearchConfig

EOS = "<eos>"


def random_side(chance, name, *, ends=True, most=3):
    """A side whose words are made of one to three tokens each."""
    pieces = [chance.randint(1, most) for _ in range(chance.randint(1, 5))]
    word_of = [word for word, count in enumerate(pieces) for _ in range(count)]
    tokens = [f"{name}{place}" for place in range(len(word_of))]
    return side(tokens, [f"{name.upper()}{word}" for word in range(len(pieces))], word_of, EOS if ends else None)


def random_weights(rows, columns, heads=2, seed=1):
    weights = np.random.default_rng(seed).random((heads, rows, columns), dtype=np.float32)
    return weights / weights.sum(-1, keepdims=True)


def folded_slowly(weights, rows, columns):
    """Reference folding: sum over the tokens of an attended word, mean over those of an attending word."""
    table = []
    for word in range(len(rows.names)):
        mine = [place for place, owner in enumerate(rows.word_of) if owner == word]
        table.append(
            [
                sum(weights[t][s] for t in mine for s, owner in enumerate(columns.word_of) if owner == other)
                / len(mine)
                for other in range(len(columns.names))
            ]
        )
    return np.array(table)


@pytest.mark.parametrize("seed", range(8))
def test_folding_is_what_a_slow_loop_finds(seed):
    chance = random.Random(seed)
    source, target = random_side(chance, "s"), random_side(chance, "t", ends=seed % 2 == 0)
    weights = random_weights(len(target.tokens), len(source.tokens), seed=seed)
    attention = AttentionMaps(source, target, {"site": weights}, ("site",))
    found = attention.matrix()
    np.testing.assert_allclose(found, folded_slowly(weights.mean(0), target, source), atol=1e-6)
    np.testing.assert_allclose(found.sum(1), 1, atol=1e-5)
    assert found.shape == (len(target.names), len(source.words) + 1)
    np.testing.assert_array_equal(attention.matrix(words=False), weights.mean(0))


def two_sites():
    chance = random.Random(1)
    source, target = random_side(chance, "s"), random_side(chance, "t")
    rows, columns = len(target.tokens), len(source.tokens)
    weights = {
        "encoder.self": random_weights(columns, columns, 3),
        "decoder.self": random_weights(rows, rows, 2),
        "seeded": random_weights(rows, rows + 1, 2),
        "one": random_weights(rows, columns, 2, seed=2),
        "two": random_weights(rows, columns, 4, seed=3),
    }
    return AttentionMaps(source, target, weights, ("one", "two"), {"encoder.self": ("source", "source")})


def test_the_end_is_the_last_row_and_column():
    attention = two_sites()
    assert attention.map().source[-1] == attention.map().target[-1] == EOS
    assert attention.source.names[-1] == attention.source.tokens[-1]
    ends = attention.matrix(words=False)[-1, -1]
    assert attention.matrix()[-1, -1] == pytest.approx(ends)


def test_a_side_without_its_end():
    part = side(["a", "b"], ["ab"], [0, 0], None)
    assert part.names == ["ab"]
    assert side([], [], [], EOS).names == [EOS]
    assert side([], [], [], None).names == []


def test_sites_and_heads():
    attention = two_sites()
    assert attention.sites == ["encoder.self", "decoder.self", "seeded", "one", "two"]
    one, two = (attention.weights[name].mean(0) for name in ("one", "two"))
    np.testing.assert_allclose(attention.matrix(words=False), (one + two) / 2, atol=1e-6)
    np.testing.assert_allclose(attention.matrix("two", words=False), two)
    np.testing.assert_allclose(attention.matrix("two", 3, words=False), attention.weights["two"][3])


def test_a_side_that_looks_at_itself():
    attention = two_sites()
    own = attention.map("encoder.self", 2)
    assert own.source == own.target == tuple(attention.source.names)
    written = attention.map("decoder.self")
    assert written.target == tuple(attention.target.names)
    assert written.source == ("<bos>", *attention.target.words)
    seeded = attention.map("seeded")
    assert seeded.source == ("<source>", "<bos>", *attention.target.words)
    expected = folded_slowly(attention.weights["seeded"].mean(0), attention.target, attention.target.shifted(seeds=1))
    np.testing.assert_allclose(np.array(seeded.weights), expected, atol=1e-6)


def test_a_text_that_is_read():
    """Each row is the word just read, so rows and columns are the same words."""
    attention = two_sites()
    own = attention.reading("encoder.self", 1)
    assert own == attention.map("encoder.self", 1)
    fed = attention.target.shifted(seeds=1)
    seeded = attention.reading("seeded")
    assert seeded.source == ("<source>", *seeded.target) == tuple(fed.names)
    rows = attention.target.shifted()
    expected = folded_slowly(attention.weights["seeded"].mean(0), rows, fed)
    np.testing.assert_allclose(np.array(seeded.weights), expected, atol=1e-6)
    assert attention.reading() == seeded, "the last self-attention site"
    pieces = attention.reading("decoder.self", words=False)
    assert pieces.source == pieces.target == tuple(attention.target.shifted().tokens)


def test_every_head_by_itself():
    attention = two_sites()
    assert [(site.name, len(site.maps)) for site in attention.heads()] == [("One", 2), ("Two", 4)]
    (site,) = attention.heads("encoder.self", words=False)
    np.testing.assert_allclose(np.array(site.maps[2].weights), attention.weights["encoder.self"][2], atol=1e-6)


def test_gold_links_of_words_join_all_their_pieces():
    source, target = side(["a", "b", "c"], ["ab", "c"], [0, 0, 1], EOS), side(["x", "y"], ["xy"], [0, 0], None)
    attention = AttentionMaps(source, target, {"site": random_weights(2, 4)}, ("site",))
    assert attention.map(gold=[(0, 0)]).gold == {(0, 0)}
    assert attention.map(gold=[(0, 0)], words=False).gold == {(0, 0), (1, 0), (0, 1), (1, 1)}


@pytest.mark.parametrize(
    "style", [style for style in STYLES if style not in ("overlay", "points", "sound", "glimpses")]
)
def test_every_picture_is_drawn_and_saved(style, tmp_path):
    attention = two_sites()
    view = FigureSpec(style, words=False, sinks=False)
    assert EOS not in attention.draw(60, view=view)
    attention.save(tmp_path / "x.svg", view=view)
    assert "<svg" in (tmp_path / "x.svg").read_text()
    with pytest.raises(ConfigError, match=r"there is no head 10|heads are drawn side by side, but head 10"):
        attention.draw(view=FigureSpec(style, site="encoder.self", head=9))


def test_a_picture_that_does_not_exist():
    with pytest.raises(ConfigError, match=r"figure 'arc' does not exist\. Did you mean 'arcs'\?"):
        FigureSpec("arc")


def of_a_picture(heads=2, words=("a", "ring")):
    """Words that attend to 2 × 3 regions and to each other, and regions that attend to regions."""
    regions = [f"{row},{column}" for row in range(2) for column in range(3)]
    source, target = side(regions, regions, range(6), None), side([*words, "s"], words, [0, 1, 1], EOS)
    weights = {
        "encoder.self": random_weights(6, 6, heads),
        "decoder.self": random_weights(4, 4, heads),
        "cross.0": random_weights(4, 6, heads),
        "cross.1": random_weights(4, 6, heads, seed=2),
    }
    picture = Picture(np.zeros((20, 30, 3), np.uint8), 2, 3, ((0.0, 0.0, 0.5, 0.5), None))
    between = {"encoder.self": ("source", "source")}
    return AttentionMaps(source, target, weights, ("cross.0", "cross.1"), between, picture=picture)


def test_of_a_picture_an_overlay_is_drawn_unless_something_else_is_asked_for(tmp_path):
    attention = of_a_picture()
    overlay = attention.overlay()
    assert [panel.name for panel in overlay.panels[1:]] == ["a", "ring", EOS]
    np.testing.assert_allclose(overlay.panels[2].weights.ravel(), attention.matrix("cross.1")[1], atol=1e-6)
    attention.save(tmp_path / "x.svg")
    assert (tmp_path / "x.svg").read_text().count("<use ") == 4
    assert attention.draw(60) == attention.draw(60, view=FigureSpec("overlay"))
    assert attention.draw(60).splitlines()[0] == "Wrote  a ring"
    assert attention._repr_html_().count("<image ") == 4
    for gold in ([(4, 1)], iter([(4, 1)])):
        assert attention.overlay(FigureSpec(gold=gold)).panels[2].boxes == ((1 / 3, 0.5, 2 / 3, 1.0),)


def test_of_a_picture_a_site_a_head_pieces_and_words_alone_can_be_chosen():
    attention = of_a_picture()
    one = attention.overlay(FigureSpec(site="cross.1", head=1, words=False, sinks=False))
    assert [panel.name for panel in one.panels[1:]] == ["a", "ring", "s"]
    np.testing.assert_allclose(one.panels[3].weights.ravel(), attention.weights["cross.1"][1, 2], atol=1e-6)
    assert [len(panel.boxes) for panel in one.panels] == [0, 1, 0, 0]


def test_of_a_picture_heads_are_panels_and_words_that_look_at_words_a_matrix(tmp_path):
    attention = of_a_picture()
    heads = attention.draw(60, view=FigureSpec("heads"))
    assert heads.splitlines()[2:4] == ["Layer 2 of 2", "a"]
    assert all(name in heads for name in ("head 1", "head 2", "mean"))
    attention.save(tmp_path / "x.svg", view=FigureSpec("heads", site="cross.0", sinks=False))
    assert EOS not in (tmp_path / "x.svg").read_text()
    assert attention.draw(60, view=FigureSpec(site="decoder.self")) == attention.draw(
        60, view=FigureSpec("matrix", "decoder.self")
    )
    assert "<bos>" in attention.draw(60, view=FigureSpec("reading"))


@pytest.mark.parametrize(
    ("view", "message"),
    [
        (FigureSpec("matrix"), "matrix cannot show this: the model attends to 6 regions"),
        (FigureSpec("arcs", site="cross.0"), "arcs cannot show this"),
        (FigureSpec("matrix", site="encoder.self"), "matrix cannot show this"),
        (FigureSpec("overlay", site="decoder.self"), r"but decoder\.self attends to words\. Draw a matrix"),
        (
            FigureSpec("heads", site="encoder.self"),
            r"encoder\.self attends from region to region.*figure for each of 6.*cross\.0",
        ),
        (FigureSpec(site="cross.0", head=2), r"there is no head 3 \(in Python: head=2\): cross\.0 has 2 heads"),
        (FigureSpec(site="cros"), "attention site 'cros' does not exist"),
        (
            FigureSpec("heads", gold=[(0, 0)]),
            "gold links join source and target and are outlined in an overlay of a site",
        ),
    ],
)
def test_of_a_picture_some_views_make_no_sense(view, message, tmp_path):
    attention = of_a_picture()
    with pytest.raises(ConfigError, match=message):
        attention.draw(view=view)
    with pytest.raises(ConfigError, match=message):
        attention.save(tmp_path / "x.svg", view=view)


def test_of_regions_that_attend_to_regions_three_have_a_panel(tmp_path):
    attention, view = of_a_picture(), FigureSpec(site="encoder.self")
    overlay = attention.overlay(view)
    assert [len(panel.marks) for panel in overlay.panels] == [3, 1, 1, 1]
    assert {panel.marks[0] for panel in overlay.panels[1:]} == set(overlay.panels[0].marks)
    for panel in overlay.panels[1:]:
        ((x0, y0, _, _), _) = panel.marks[0]
        region = round(3 * x0) + 3 * round(2 * y0)
        np.testing.assert_allclose(panel.weights.ravel(), attention.matrix("encoder.self")[region], atol=1e-6)
    attention.save(tmp_path / "x.svg", view=view)
    assert (tmp_path / "x.svg").read_text().count("<circle ") == 6
    assert "self-attention between regions" in attention.draw(60, view=view)


def test_words_that_look_at_words_have_no_overlay():
    for ask in (two_sites().overlay, lambda: two_sites().draw(view=FigureSpec("overlay"))):
        with pytest.raises(
            ConfigError, match="an overlay shows the image regions that words attend to, but this model"
        ):
            ask()


def test_what_was_fed_ends_inside_the_last_word():
    fed = side(["a", "b", "c"], ["ab", "c"], [0, 0, 1], None).shifted()
    assert fed == Side(["<bos>", "a", "b"], ["<bos>", "ab"], [0, 1, 1])
    assert side(["a"], ["a"], [0], None).shifted() == Side(["<bos>"], ["<bos>"], [0])


def test_names_that_do_not_exist():
    attention = two_sites()
    with pytest.raises(ConfigError, match=r"attention site 'tow' does not exist\. Did you mean 'two'\?"):
        attention.matrix("tow")
    with pytest.raises(ConfigError, match=r"there is no head 5 \(in Python: head=4\): two has 4 heads"):
        attention.matrix("two", 4)
    with pytest.raises(ConfigError, match=r"no head 0 \(in Python: head=-1\)"):
        attention.map("two", -1)


def test_a_model_without_attention():
    nothing = AttentionMaps(Side([], [], []), Side([], [], []), {}, ())
    assert not nothing
    assert nothing._repr_html_() == "no attention"
    for ask in (nothing.matrix, nothing.map, nothing.draw):
        with pytest.raises(ConfigError, match=r"this model has no attention, so there is nothing to show"):
            ask()
    alone = Prediction("a <b>", -1.0, ["a"], nothing)
    assert alone._repr_html_() == "<p>a &lt;b&gt;</p>"
    assert alone.to_dict() == {"text": "a <b>", "score": -1.0, "tokens": ["a"]}


def test_it_is_drawn_and_saved(tmp_path):
    attention = two_sites()
    assert "&lt;eos&gt;" in attention._repr_html_()
    assert "<svg" in attention._repr_html_()
    assert "<style" not in attention._repr_html_(), "several on a page must not change each other"
    assert "class=" not in attention._repr_html_()
    assert len(attention.draw(60).splitlines()) > len(attention.target.names)
    attention.save(tmp_path / "x.svg", title="here")
    assert "<svg" in (tmp_path / "x.svg").read_text()


def test_plain_data(model):
    found = model("ant bee", beam=3, nbest=2)
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["source"] == "ant bee"
    assert (plain["text"], plain["score"], plain["tokens"]) == (found.text, found.score, found.tokens)
    sites = np.array(plain["attention"]["sites"]["attention"])
    assert sites.shape == (1, len(plain["attention"]["target"]), len(plain["attention"]["source"]))
    np.testing.assert_allclose(sites, found.attention.weights["attention"], atol=1e-5)
    assert len(json.dumps(plain["attention"]["sites"])) < 12 * sites.size, "no more digits than are asked for"
    assert [other["text"] for other in plain["others"]] == [other.text for other in found.alternatives]
    assert str(found) == found.text
    assert "<svg" in found._repr_html_()


TINY = [name for name in presets_for("sequence_to_sequence") if not name.startswith("luong") or name == "luong-dot"]
SEARCHES = {"greedy": {}, "beam": {"beam": 3, "nbest": 3}, "sample": {"sample": True, "nbest": 2}}


def check_sites(found):
    """Every site can be drawn, and each row is a token of this output."""
    for answer in (found, *found.alternatives):
        for site in answer.attention.sites:
            picture = answer.attention.map(site)
            assert len(picture.weights) == len(picture.target)
        for site in answer.attention.source_sites:
            assert answer.attention.weights[site].shape[-2:] == (
                len(answer.tokens),
                len(answer.attention.source.tokens),
            )
        assert answer.attention.target.words == answer.text.split()


@pytest.mark.parametrize("preset", TINY)
@pytest.mark.parametrize("search", SEARCHES)
def test_every_model_shows_every_site_of_a_translation(preset, search):
    task = untrained("translation", {"preset": preset, **MODELS[preset].tiny, "tied": False}, kind="bpe")
    texts = ["ant bee cat", "dog", "an unknown word"]
    for found in task.predict(texts, SearchConfig(max_length=7, **SEARCHES[search])):
        check_sites(found)


@pytest.mark.parametrize("preset", ["lstmn", "lstmn-shallow", "self-attentive-rnn", "transformer-base"])
@pytest.mark.parametrize("search", SEARCHES)
def test_every_language_model_shows_where_it_looked_back(preset, search):
    task = untrained("language-modeling", {"preset": preset, **MODELS[preset].tiny}, kind="bpe")
    for found in task.predict(["the cat", "a"], SearchConfig(max_length=6, **SEARCHES[search])):
        check_sites(found)
        assert found.attention.map().source[0] == "<bos>"
        assert found.text.startswith(found.source)


@pytest.mark.parametrize("preset", ["bahdanau", "transformer-base", "lstmn", "self-attentive-rnn"])
def test_a_classifier_shows_which_words_decided(preset):
    task = untrained("classification", {"preset": preset, **MODELS[preset].tiny}, kind="bpe")
    first, second = task.predict(["good cat", "bad"], SearchConfig())
    assert first.attention.source_sites == ("pooling.attention",)
    picture = first.attention.map()
    assert picture.source == ("good", "cat", EOS)
    assert picture.target == (first.text,)
    assert sum(picture.weights[0]) == pytest.approx(1, abs=1e-5)
    assert second.attention.matrix().shape == (1, 2)
    for site in first.attention.sites:
        first.attention.map(site)


def forced(task, source, text):
    """The attention of a forced decoding of a text."""
    from saccade.data.example import Example

    return task.attend([Example(source=source, target=text)])[0]


@pytest.mark.parametrize("search", SEARCHES)
def test_attention_belongs_to_the_answer_that_is_returned(model, search):
    """Forced decoding of an output gives the same attention as the search that found it."""
    source = "ant bee cat dog"
    found = model(source, **SEARCHES[search])
    for answer in (found, *found.alternatives):
        ends = answer.tokens[-1] == EOS
        expected = forced(model.task, source, answer.text).weights["attention"]
        expected = expected if ends else expected[:, :-1]
        np.testing.assert_allclose(answer.attention.weights["attention"], expected, atol=1e-4)


def test_colours_are_drawn_where_they_are_asked_for():
    for attention in (two_sites(), of_a_picture()):
        assert "\x1b" not in attention.draw(60)
        assert "\x1b" in attention.draw(60, colour=True)


@pytest.mark.parametrize("style", ["matrix", "arcs", "ribbons"])
def test_figures_are_of_the_last_site_and_say_so(style, tmp_path):
    attention, path = two_sites(), tmp_path / "x.svg"
    attention.save(path, title="here", view=FigureSpec(style))
    chosen = path.read_text()
    assert "cross-attention, two, " in chosen
    assert ">here</title>" in chosen
    attention.save(path, title="here", view=FigureSpec(style, site="two"))
    assert path.read_text() == chosen


def test_arcs_name_their_heads():
    attention = two_sites()
    assert attention.draw(60, view=FigureSpec("arcs")) == attention.draw(60, view=FigureSpec("arcs", site="two"))
    one = attention.draw(60, view=FigureSpec("arcs", head=3))
    assert "(head 4)" in one
    assert "(head 1)" not in one


@pytest.mark.parametrize("sources", [(), ("decoder.self",)])
def test_a_model_with_one_site_shows_that(sources):
    target = side(["a", "b"], ["ab"], [0, 0], EOS)
    weights = random_weights(3, 3)
    attention = AttentionMaps(target, target, {"decoder.self": weights}, sources)
    np.testing.assert_array_equal(attention.matrix(words=False), weights.mean(0))
    assert attention.map() == attention.map("decoder.self")
    assert [(site.name, len(site.maps)) for site in attention.heads()] == [
        ("Cross-attention" if sources else "Decoder self-attention", 2)
    ]
    assert attention.draw(60) == attention.draw(60, view=FigureSpec("matrix", "decoder.self"))


def test_a_model_that_looks_at_no_source_shows_its_last_site():
    target = side(["a", "b"], ["ab"], [0, 0], EOS)
    weights = {"first": random_weights(3, 3), "second": random_weights(3, 3, seed=2), "seeded": random_weights(3, 4)}
    attention = AttentionMaps(Side([], [], []), target, weights, ())
    np.testing.assert_array_equal(attention.matrix(words=False), weights["first"].mean(0))
    assert attention.map() == attention.map("seeded")
    assert [site.name for site in attention.heads()] == ["Decoder self-attention"], "sites with the same sides"
    del weights["seeded"]
    assert [site.name for site in attention.heads()] == ["First", "Second"]
    with pytest.raises(ConfigError, match=r"of a site that attends to the source: this model has none\. Leave"):
        attention.draw(view=FigureSpec(gold=[(0, 0)]))


def test_a_reading_needs_a_site_that_looks_at_its_own_text():
    with pytest.raises(
        ConfigError, match=r"but one attends to the source\. Sites with self-attention: encoder\.self, decoder\.self"
    ):
        two_sites().reading("one")
    target = side(["a"], ["a"], [0], EOS)
    alone = AttentionMaps(target, target, {"site": random_weights(2, 2)}, ("site",))
    with pytest.raises(
        ConfigError, match=r"but every site attends to the source\. This model has no self-attention; draw a matrix"
    ):
        alone.reading()


def test_weights_are_plain_numbers_of_five_digits():
    target = side(["a"], ["a"], [0], None)
    attention = AttentionMaps(
        side(["x", "y"], ["x", "y"], [0, 1], None), target, {"one": np.array([[[1 / 3, 2 / 3]]])}, ()
    )
    other = Prediction("b", -2.0, ["b"], attention)
    plain = Prediction("a", -1.0, ["a"], attention, source="x y", alternatives=[other]).to_dict()
    assert plain["attention"] == {"source": ["x", "y"], "target": ["a"], "sites": {"one": [[[0.33333, 0.66667]]]}}
    assert plain["others"] == [other.to_dict()]
    assert "source" not in other.to_dict()


def test_a_sound_is_drawn_over_time(tmp_path):
    names, written = ["0.00", "0.04", "0.08"], side(["a", "b"], ["a", "b"], [0, 1], EOS)
    sound = Spectrogram(np.full((8, 12, 3), 200, np.uint8), 0.12)
    attention = AttentionMaps(Side(names, names, [0, 1, 2]), written, {"site": random_weights(3, 3)}, ("site",))
    heard = replace(attention, sound=sound)
    assert heard.draw(60).count("s\n") >= 1
    heard.save(tmp_path / "x.svg")
    assert "seconds" in (tmp_path / "x.svg").read_text()
    with pytest.raises(ConfigError, match="needs the spectrogram of a sound"):
        attention.save(tmp_path / "y.svg", view=FigureSpec("sound"))
