"""The trace file: it round-trips its content, and rejects inconsistent content."""

import json

import numpy as np
import pytest

from saccade.errors import DataError
from saccade.look.picture import data_address
from saccade.trace import About, Side, Site, Step, Trace, pack


def example(**changes):
    source = Side(text="a b", tokens=["a", "b", "<eos>"], words=["a", "b"], word_of=[0, 1, 2], marks=[2])
    target = Side(text="AB", tokens=["A", "B"], words=["AB"], word_of=[0, 0])
    weights = np.array([[[0.5, 0.25, 0.25], [0.0, 1.0, 0.0]]])
    site = Site(
        name="attention",
        rows="target",
        columns="source",
        score="dot",
        align="softmax",
        formula="q · k",
        heads=1,
        weights=pack(weights, 65535, low=0, high=1),
    )
    steps = [Step(token=n, text=t, log_probability=-0.5, candidates=[(n, t, -0.5)]) for n, t in enumerate("AB")]
    fields = {
        "task": "translation",
        "model": About(name="m", preset="luong-dot", parameters=3),
        "text": "AB",
        "score": -1.0,
        "sides": {"source": source, "target": target},
        "sites": [site],
        "steps": steps,
        "gold": [(0, 0)],
    }
    return Trace(**(fields | changes))


def test_a_file_comes_back_as_it_was(tmp_path):
    trace = example()
    trace.save(tmp_path / "t.json")
    assert Trace.open(tmp_path / "t.json") == trace
    np.testing.assert_allclose(trace.attention.matrix(), [[0.25, 0.625, 0.125]], atol=1e-4)
    assert trace.attention.map(gold=trace.gold).gold == {(0, 0)}


def test_copies_point_into_the_source(tmp_path):
    one, other = example().steps
    copied = one.model_copy(update={"copies": [(2, 0.5), (0, 0.25)]})
    example(steps=[copied, other]).save(tmp_path / "t.json")
    assert Trace.open(tmp_path / "t.json").steps[0].copies == [(2, 0.5), (0, 0.25)]
    with pytest.raises(ValueError, match="copies point outside the 3 source tokens"):
        example(steps=[one.model_copy(update={"copies": [(3, 0.5)]}), other])


def test_large_files_stay_small():
    """200 × 200 words × 48 heads with scores take under 3 MB and a second to read."""
    chance = np.random.default_rng(1)
    words = [f"w{n}" for n in range(200)]
    side = Side(text=" ".join(words), tokens=words, words=words, word_of=list(range(200)))
    sites = []
    for layer in range(6):
        scores = chance.normal(0, 2, (8, 200, 200))
        weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
        sites.append(
            Site(
                name=f"layers.{layer}",
                layer=layer,
                rows="target",
                columns="source",
                score="scaled-dot",
                align="softmax",
                formula="q · k / √D",
                heads=8,
                weights=pack(weights, 255, low=0, high=1),
                scores=pack(scores, 63),
            )
        )
    text = example(sides={"source": side, "target": side}, sites=sites, steps=[]).dump()
    assert len(text.encode()) < 3_000_000
    assert Trace.parse(text).attention.matrix().shape == (200, 200)


def beams(width, parent):
    return {
        "width": width,
        "steps": [{"tokens": [1], "texts": ["a"], "parents": [parent], "scores": [0.0]}],
        "best": [],
    }


def two_beams(parents, best):
    step = {"tokens": [1, 2], "texts": ["a", "b"], "parents": parents, "scores": [0.0, -1.0]}
    return {"width": 2, "steps": [step, step], "best": best}


def nothing_seen(grid):
    return {"text": "", "tokens": [], "words": [], "word_of": [], "grid": grid}


def test_a_beam_may_be_followed_through_its_first_slot():
    followed = beams(1, 0) | {"best": [0]}
    assert Trace.parse(spoiled(lambda t: t.update(beams=followed))).beams.best == [0]


def test_a_mark_may_be_the_first_token_and_a_model_without_parameters():
    def change(found):
        found["sides"]["source"].update(marks=[0, 2])
        found["model"].update(parameters=0)

    trace = Trace.parse(spoiled(change))
    assert (trace.sides["source"].marks, trace.model.parameters) == ([0, 2], 0)


def test_letters_of_all_scripts_stand_in_the_file_as_they_are():
    """Letters are not escaped (three bytes, not six): the file is searchable, and more text fits below the limit."""
    assert '"text":"読む"' in example(text="読む").dump()


def test_what_json_cannot_hold_is_not_written():
    with pytest.raises(ValueError, match="not JSON compliant"):
        example(options={"temperature": float("nan")}).dump()


def test_only_what_looks_from_the_answer_at_the_source_is_shown_at_first():
    """The default mean excludes a site from source to target, and self-attention."""
    whole = example()
    other = pack(np.array([[[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]]), 65535, low=0, high=1)
    own = pack(np.eye(2)[None], 65535, low=0, high=1)
    sites = [
        whole.sites[0].model_copy(update={"name": "back", "rows": "source", "columns": "target", "weights": other}),
        *whole.sites,
        whole.sites[0].model_copy(update={"name": "own", "columns": "target", "weights": own}),
    ]
    attention = whole.model_copy(update={"sites": sites}).attention
    np.testing.assert_allclose(attention.matrix(), [[0.25, 0.625, 0.125]], atol=1e-4)
    assert attention.map().source == ("a", "b", "<eos>")


def spoiled(change):
    found = json.loads(example().dump())
    change(found)
    return json.dumps(found)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.pop("sides"), "sides: this setting is needed"),
        (lambda t: t.update(extra=1), "setting 'extra' does not exist"),
        (lambda t: t["sites"][0].update(rows="targets"), "names the side 'targets', which the trace lacks"),
        (lambda t: t["sides"]["source"]["tokens"].append("c"), r"word_of has 3 numbers for 4 tokens"),
        (lambda t: t["sides"]["source"].update(word_of=[0, 1, 3]), "word_of points outside the 2 words"),
        (
            lambda t: t["sites"][0].update(scores=t["sites"][0]["weights"] | {"shape": [1, 3, 2]}),
            "scores have the shape",
        ),
        (lambda t: t.update(saccade_trace=0), "trace version 0, which does not exist"),
        (lambda t: t["sides"]["source"].update(marks=[3]), "marks point outside the 3 tokens"),
        (lambda t: t["sides"]["source"].update(marks=[2, 3]), "marks point outside the 3 tokens"),
        (lambda t: t["model"].update(parameters=-1), "model.parameters: Input should be greater than or equal to 0"),
        (lambda t: t["sides"]["source"].update(image="http://x/y.png"), "image must be a data:image/"),
        (
            lambda t: t["sides"]["source"].update(grid=[2, 2]),
            r"grid is \[2, 2\], but must be \[rows, columns\] whose product is 3",
        ),
        (lambda t: t["sides"]["source"].update(grid=[-1, -3]), r"grid is \[-1, -3\]"),
        (lambda t: t["sides"]["source"].update(grid=[3]), r"grid is \[3\]"),
        (lambda t: t["sides"].update(source=nothing_seen([0, 2])), r"grid is \[0, 2\]"),
        (
            lambda t: t.update(beams=beams(1, 0) | {"best": [-1]}),
            "best has more steps than the beam, or an index outside of it",
        ),
        (
            lambda t: t.update(beams=beams(1, 0) | {"best": [1]}),
            "best has more steps than the beam, or an index outside of it",
        ),
        (lambda t: t["sides"].update(source=t["sides"]["target"]), "3 weights for the 2 tokens of source"),
        (lambda t: t["steps"].pop(), "there are 1 steps for 2 target tokens"),
        (lambda t: t["sites"][0].update(heads=2), r"but must be \[2, rows, columns\]"),
        (lambda t: t["sites"][0]["weights"].update(data="AAAA"), "data cannot be unpacked"),
        (lambda t: t.update(beams=beams(2, 0)), "step 0 has 1 tokens for a beam of 2"),
        (lambda t: t.update(beams=beams(1, 3)), "step 0 has parents outside a beam of 1"),
        (lambda t: t.update(beams=two_beams([0, 2], [0])), "step 0 has parents outside a beam of 2"),
        (
            lambda t: t.update(beams=two_beams([0, 1], [0, 2])),
            "best has more steps than the beam, or an index outside of it",
        ),
        (
            lambda t: t.update(beams={"width": 1, "steps": [], "best": [0]}),
            "best has more steps than the beam, or an index outside of it",
        ),
        (lambda t: t.update(saccade_trace=2), "was written by a newer saccade"),
        (lambda t: t.pop("saccade_trace"), "is not a trace"),
    ],
)
def test_files_that_do_not_fit_are_refused_with_the_place(change, message):
    with pytest.raises(DataError, match=message):
        Trace.parse(spoiled(change), "t.json")


def test_what_is_no_trace_at_all(tmp_path):
    for text, message in (
        ("{", "t is not JSON"),
        ("[" * 10**5, "t is not JSON"),
        ("[NaN]", "t is not JSON"),
        ("[1]", "is not a trace"),
        ("null", "is not a trace"),
    ):
        with pytest.raises(DataError, match=message):
            Trace.parse(text, "t")
    with pytest.raises(DataError, match=r"missing\.json"):
        Trace.open(tmp_path / "missing.json")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="not UTF-8"):
        Trace.open(tmp_path / "bytes")


def test_a_small_file_that_would_fill_the_memory_is_refused_before_it_is_unpacked(monkeypatch):
    """A hundred sites of 4096 × 4096 are two megabytes in a file and more than six gigabytes unpacked."""
    found = json.loads(example().dump())
    found["sites"] = [{**found["sites"][0], "weights": {"shape": [1, 4096, 4096], "data": "never read"}}] * 100
    monkeypatch.setattr("saccade.trace.packed._inflate", None)
    with pytest.raises(DataError, match=r"at most 134,217,728 numbers.* there are 1,677,721,600.*t cannot be shown"):
        Trace.parse(json.dumps(found), "t")


@pytest.mark.parametrize("part", ["scores", "vectors"])
def test_scores_and_vectors_count_too(part):
    found = json.loads(example().dump())
    array = {"shape": [1, 1 << 24], "data": ""}
    if part == "scores":
        found["sites"] = [{"scores": array}] * 9
    else:
        found["vectors"] = {str(number): array for number in range(9)}
    with pytest.raises(DataError, match="there are 150,99"):
        Trace.parse(json.dumps(found), "t")


@pytest.mark.parametrize("shape", [None, "x", [], [None], [5, None], [True, 5], [-5], [1.5], {}])
def test_shapes_that_are_none_are_told_as_such(shape):
    text = spoiled(lambda t: t["sites"][0]["weights"].update(shape=shape))
    with pytest.raises(DataError, match=r"t cannot be used as it is:\n- sites\.0\.weights"):
        Trace.parse(text, "t")


@pytest.mark.parametrize("value", [5, [5], None, "x"])
def test_sites_and_vectors_that_are_none(value):
    for part in ("sites", "vectors"):
        with pytest.raises(DataError, match=f"t cannot be used as it is:\n- {part}"):
            Trace.parse(spoiled(lambda t, part=part: t.update({part: value})), "t")


def test_a_file_that_is_too_large_is_neither_read_nor_written(tmp_path, monkeypatch):
    path = tmp_path / "t.json"
    example().save(path)
    size = path.stat().st_size
    monkeypatch.setattr("saccade.trace.format._LARGEST", size)
    example().save(path)
    assert Trace.open(path) == example()
    monkeypatch.setattr("saccade.trace.format._LARGEST", size - 1)
    with pytest.raises(DataError, match=rf"t\.json has more than {size - 1:,} bytes, the most that a trace may have"):
        Trace.open(path)
    with pytest.raises(DataError, match=r"Trace a shorter text"):
        example().save(tmp_path / "other.json")
    assert not (tmp_path / "other.json").exists()


def test_the_largest_file_is_64_megabytes(tmp_path):
    with (tmp_path / "t.json").open("wb") as file:
        file.truncate((64 << 20) + 1)
    with pytest.raises(DataError, match=r"has more than 67,108,864 bytes"):
        Trace.open(tmp_path / "t.json")


def test_sides_have_a_length_that_can_be_shown():
    words = ["w"] * (1 << 15)
    Side(text="", tokens=words, words=words, word_of=[0] * len(words))
    with pytest.raises(ValueError, match="more than 32,768 tokens or words"):
        Side(text="", tokens=[], words=[*words, "w"], word_of=[])
    with pytest.raises(ValueError, match="more than 32,768 tokens or words"):
        Side(text="", tokens=[*words, "w"], words=[], word_of=[0] * len(words))


def test_tokens_without_a_word_are_folded_together_wherever_they_stand():
    found = json.loads(example().dump())
    found["sides"]["source"].update(word_of=[2, 1, 0])
    matrix = Trace.parse(json.dumps(found)).attention.matrix()
    np.testing.assert_allclose(matrix, [[0.125, 0.625, 0.25]], atol=1e-4)


def test_a_site_is_drawn_between_the_sides_it_names():
    found = json.loads(example().dump())
    found["sites"][0].update(rows="source", columns="target", name="attention")
    found["sites"][0]["weights"]["shape"] = [1, 3, 2]
    trace = Trace.parse(json.dumps(found))
    assert trace.attention.map("attention").target == ("a", "b", "<eos>")


def test_a_picture_comes_out_of_the_file_as_it_went_in():
    pytest.importorskip("PIL", reason="needs Pillow")
    pixels = np.random.default_rng(0).integers(0, 255, (5, 7, 3), dtype=np.uint8)
    side = example().sides["source"].model_copy(update={"kind": "grid", "grid": [1, 3], "image": data_address(pixels)})
    seen = Trace.parse(example(sides={**example().sides, "source": side}).dump()).attention.picture
    np.testing.assert_array_equal(seen.pixels, pixels)
    assert (seen.rows, seen.columns) == (1, 3)
    assert example().attention.picture is None


@pytest.mark.parametrize(
    ("image", "message"),
    [
        ("data:image/png;base64,äöü", "image is no base64"),
        ("data:image/png;base64,aGVs!bG8=", "image is no base64"),
        ("data:image/png;base64,aGVsbG8=", "the trace's image is"),
        ("data:image/png,x", "the trace's image is empty"),
        (data_address(np.zeros((2049, 2049, 3), np.uint8)), "2049 × 2049 pixels, more than the 4.19"),
    ],
)
def test_pictures_that_are_damaged(image, message):
    pytest.importorskip("PIL", reason="needs Pillow")
    side = example().sides["source"].model_copy(update={"kind": "grid", "grid": [1, 3], "image": image})
    with pytest.raises(DataError, match=message):
        _ = example(sides={**example().sides, "source": side}).attention


def test_of_many_faults_the_first_are_told():
    text = spoiled(lambda t: t.update(steps=[{"token": "x"}] * 1000))
    with pytest.raises(DataError) as caught:
        Trace.parse(text)
    assert len(str(caught.value).splitlines()) == 9
