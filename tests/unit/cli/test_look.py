"""saccade look: every figure of every kind of model, and the errors for invalid combinations."""

import json
import re

import pytest

from helpers.commands import refused, run
from helpers.recipes import untrained, write_folder
from saccade.look.design import GOLD
from saccade.models import MODELS
from saccade.trace import Trace

INITIAL_STATES = {
    ".png": b"\x89PNG",
    ".svg": b"<?xml",
    ".pdf": b"%PDF",
    ".HTML": b"<!doctype",
    ".json": b'{"saccade_trace"',
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Untrained models, one for each task, with several heads."""
    made = {}
    for task, preset in (
        ("translation", "transformer-base"),
        ("language-modeling", "transformer-base"),
        ("classification", "lstmn"),
    ):
        settings = {"preset": preset, **MODELS[preset].tiny} | ({"tied": False} if task == "translation" else {})
        made[task] = write_folder(untrained(task, settings, kind="bpe"), tmp_path_factory.mktemp(task))
    return made


@pytest.fixture(scope="module")
def trace(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("traces") / "ants.json"
    model.trace("ant bee cat", gold=[(0, 0), (2, 1)]).save(path)
    return path


def looked(capsys, *words):
    ran = run(capsys, "look", *words)
    assert ran.code == 0, ran
    return ran


def test_the_terminal(capsys, translator):
    shown = looked(capsys, translator, "ant bee cat").out
    lines = shown.splitlines()
    assert lines[:2] == [" Read  ant bee cat", "Wrote  ANT BEE CAT"]
    assert [line.split()[0] for line in lines[-7:-3]] == ["ANT", "BEE", "CAT", "<eos>"]
    assert lines[-2:] == ["bahdanau, cross-attention", "░ from 20 %, ▒ from 40 %, ▓ from 60 %, █ from 80 %"]
    assert "\x1b" not in shown, "no colour where nobody sees it"


@pytest.mark.parametrize("ending", INITIAL_STATES)
def test_files(capsys, translator, tmp_path, ending):
    path = tmp_path / "new" / f"x{ending}"
    ran = looked(capsys, translator, "ant bee", "-o", path, "--beam", 2)
    assert ran.out == ""
    assert str(path) in ran.err.replace("\n", "")
    assert path.read_bytes().lower().startswith(INITIAL_STATES[ending].lower())


def test_a_trace_can_be_looked_at_later(capsys, translator, tmp_path, monkeypatch):
    looked(capsys, translator, "ant bee", "-o", tmp_path / "x.json")
    at_once = looked(capsys, translator, "ant bee").out
    monkeypatch.setattr("saccade.api.load", None)
    assert looked(capsys, tmp_path / "x.json").out == at_once
    assert Trace.open(tmp_path / "x.json").text == "ANT BEE"


@pytest.mark.parametrize("style", ["matrix", "ribbons", "steps", "arcs", "heads"])
def test_pictures_of_a_translator(capsys, trace, tmp_path, style):
    assert "CAT" in looked(capsys, trace, "--style", style, "--site", "attention").out
    looked(capsys, trace, "--style", style, "-o", tmp_path / "x.svg", "--title", "Ants")
    drawing = (tmp_path / "x.svg").read_text()
    for word in ("ant", "CAT", "Ants"):
        assert f">{word}</text>" in drawing


@pytest.mark.parametrize("task", ["translation", "language-modeling", "classification"])
@pytest.mark.parametrize("style", ["matrix", "ribbons", "reading", "arcs", "heads"])
def test_every_picture_of_every_task(capsys, folders, tmp_path, task, style):
    text = {"translation": "ant bee", "language-modeling": "the cat", "classification": "good cat"}[task]
    looked(capsys, folders[task], text, "--style", style, "-o", tmp_path / "x.svg")
    shown = looked(capsys, folders[task], text, "--style", style, "--subwords", "--no-sinks").out
    assert "<eos>" not in shown
    assert shown.strip()


def test_a_language_model_is_seen_reading(capsys, folders):
    lines = looked(capsys, folders["language-modeling"], "the cat", "--style", "reading", "--head", 1).out.splitlines()
    first = lines.index("[█<bos>]")
    assert lines[first + 1].endswith("the]")
    assert "[█cat" in lines[first + 2]


def test_gold_links_are_outlined(capsys, trace, tmp_path):
    path = tmp_path / "x.svg"
    chosen = (("--subwords",), ("--no-sinks",), ("--site", "attention"), ("--style", "matrix"), ("--head", "1"))
    for words, count in (((), 3), (("--gold", "1-1"), 2), *((words, 3) for words in chosen)):
        looked(capsys, trace, *words, "-o", path)
        assert path.read_text().count(GOLD) == count, "and one in the key"
    for words in (("--style", "heads"), ("--style", "arcs")):
        looked(capsys, trace, *words, "-o", path)
        assert GOLD not in path.read_text()


def test_a_file_says_what_it_shows(capsys, trace, tmp_path):
    looked(capsys, trace, "-o", tmp_path / "x.svg")
    text = (tmp_path / "x.svg").read_text()
    told = re.search("<desc>(.*?)</desc>", text)[1]
    assert told.startswith(
        "Bahdanau, cross-attention. Read: ant bee cat &lt;eos&gt;. Wrote: ANT BEE CAT &lt;eos&gt;. Strongest"
    )
    assert len(re.findall(r"(?:ANT|BEE|CAT|&lt;eos&gt;) ← \S+ \d+ %", told)) == 4
    assert "bahdanau, cross-attention; a cell is the share of attention that the written word pays to" in text
    looked(capsys, trace, "--style", "ribbons", "--subwords", "-o", tmp_path / "x.svg")
    assert "a ribbon is the share" in (tmp_path / "x.svg").read_text()
    assert "the read subword; below 4 %" in " ".join(re.findall(">([^<]+)</text>", (tmp_path / "x.svg").read_text()))


def test_steps_are_a_folder_or_move(capsys, trace, tmp_path):
    for name in ("steps", "x.svg", "x.GIF"):
        looked(capsys, trace, "--style", "steps", "-o", tmp_path / name)
    assert len(list((tmp_path / "steps").iterdir())) == 4
    assert "@keyframes" in (tmp_path / "x.svg").read_text()
    assert (tmp_path / "x.GIF").read_bytes()[:3] == b"GIF"


def test_sizes_and_letters_as_shapes(capsys, trace, tmp_path):
    looked(capsys, trace, "--size", "slide", "--outline", "-o", tmp_path / "x.svg")
    text = (tmp_path / "x.svg").read_text()
    assert 'width="960pt" height="540pt"' in text
    assert "<text" not in text


def test_gold_links_go_into_the_trace(capsys, trace, tmp_path):
    looked(capsys, trace, "--gold", "1-1", "-o", tmp_path / "x.json")
    assert json.loads((tmp_path / "x.json").read_text())["gold"] == [[1, 1]]


def test_gold_links_of_a_trace_are_left_out_where_they_cannot_be(capsys, folders, tmp_path):
    looked(capsys, folders["translation"], "ant bee", "-o", tmp_path / "x.json")
    linked = json.loads((tmp_path / "x.json").read_text()) | {"gold": [[0, 0]]}
    (tmp_path / "x.json").write_text(json.dumps(linked))
    looked(capsys, tmp_path / "x.json", "--site", "encoder.layers.0.self_attention", "-o", tmp_path / "x.svg")
    assert GOLD not in (tmp_path / "x.svg").read_text()


def test_a_trace_holds_the_vectors_too(capsys, translator, tmp_path):
    looked(capsys, translator, "ant", "-o", tmp_path / "x.json")
    assert {"state", "context"} <= set(Trace.open(tmp_path / "x.json").vectors)


def test_a_trace_may_have_any_name(capsys, trace, tmp_path):
    (tmp_path / "ants").write_bytes(trace.read_bytes())
    assert looked(capsys, tmp_path / "ants").out == looked(capsys, trace).out


def test_a_page_has_the_title_asked_for_or_the_answer(capsys, trace, tmp_path):
    for words, title in (((), "ANT BEE CAT"), (("--title", "Ants & bees"), "Ants &amp; bees")):
        looked(capsys, trace, *words, "-o", tmp_path / "x.html")
        assert f"<title>{title}" in (tmp_path / "x.html").read_text()


def test_links_to_a_source_that_is_not_there(capsys, folders):
    said = refused(capsys, "look", folders["language-modeling"], "the cat", "--gold", "0-0")
    assert "--gold: 0-0 lies outside 0 source words and " in said


def test_pieces(capsys, folders):
    words = looked(capsys, folders["classification"], "good cat").out
    pieces = looked(capsys, folders["classification"], "good cat", "--subwords").out
    assert words.splitlines()[-1].split()[0] == pieces.splitlines()[-1].split()[0]
    assert words != pieces
    assert looked(capsys, folders["classification"], "good cat", "--pieces").out == pieces


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("-o", "x.gif"),
            "ends in .png, .svg or .pdf for a figure, .html for a page to explore, or .json for the trace.",
        ),
        (("-o", "x"), "x ends in nothing. Choose a name that ends in .png"),
        (("--style", "matrx"), "figure 'matrx' does not exist. Did you mean 'matrix'?"),
        (("--style", "reading"), "every site attends to the source. This model has no self-attention; draw a matrix."),
        (
            ("--style", "reading", "--site", "attention"),
            "but attention attends to the source. This model has no self-attention",
        ),
        (("--style", "heads", "--head", "1"), "heads are drawn side by side, but head 1 was asked for. Draw a matrix"),
        (("--site", "atention"), "attention site 'atention' does not exist. Did you mean 'attention'?"),
        (("--head", "3"), "there is no head 3 (in Python: head=2): attention has 1 head"),
        (("--gold", "0:0"), "--gold: '0:0' is no link. Write source-target"),
        (("--gold", "9-0"), "--gold: 9-0 lies outside 3 source words and 3 target words ('ANT BEE CAT'). Links are"),
        (("--gold", "3-0"), "--gold: 3-0 lies outside 3 source words and 3 target words"),
        (("--gold", "0-3"), "--gold: 0-3 lies outside 3 source words and 3 target words"),
        (("--gold", "0-0", "--style", "arcs"), "outlined in a matrix of a site that attends to the source: attention."),
        (
            ("--site", "attention", "--subwords", "-o", "x.html"),
            "--site, --subwords: a page shows every site, head and subword",
        ),
        (("--style", "arcs", "--title", "T", "-o", "x.json"), "--style, --title: a trace holds everything"),
        (("--head", "1", "--no-sinks", "-o", "x.HTML"), "--head, --no-sinks: a page shows every site"),
        (("--title", "T"), "--title is for files. Name one with -o."),
        (("--size", "paper"), "--size is for files. Name one with -o."),
        (("--outline",), "--outline is for files. Name one with -o."),
        (("--outline", "-o", "x.pdf"), "--outline is for SVG: .pdf contains its letters or its fonts anyway"),
        (("--size", "a4", "-o", "x.svg"), "size 'a4' does not exist"),
        (("--size", "slide", "--outline", "-o", "x.html"), "--size, --outline: a page shows every site"),
        (("--style", "steps", "-o", "x.png"), "x.png ends in .png, but steps are several frames. Choose a folder"),
        (("--beam", "2"), "is a trace, which has its answer already: leave the text and --beam out"),
        (("a text",), "is a trace, which has its answer already"),
    ],
)
def test_what_does_not_fit_is_told(capsys, trace, words, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert told in refused(capsys, "look", trace, *words)
    assert not list(tmp_path.iterdir())


def test_sites_that_fit_are_named(capsys, folders):
    said = refused(
        capsys, "look", folders["translation"], "ant", "--style", "reading", "--site", "decoder.layers.0.cross"
    )
    assert (
        "decoder.layers.0.cross attends to the source. Sites with self-attention: encoder.layers.0.self_attention, "
        in said
    )


def test_nothing_to_look_at(capsys, translator, tmp_path):
    assert "the input is empty" in refused(capsys, "look", translator, " ")
    assert "there is no input, and this model has none to try" in refused(capsys, "look", translator)
    said = refused(capsys, "look", translator, "ant", "--gold", "1-0")
    assert "--gold: 1-0 lies outside 1 source words and 1 target words" in said
    assert "gone.json does not exist" in refused(capsys, "look", tmp_path / "gone.json")
    (tmp_path / "x.json").write_text("{}")
    assert "is not a trace" in refused(capsys, "look", tmp_path / "x.json")


def test_a_model_without_attention(capsys, tmp_path):
    task = untrained("translation", {"preset": "sutskever", **MODELS["sutskever"].tiny})
    folder = write_folder(task, tmp_path / "model")
    for style in ("matrix", "reading", "arcs", "heads"):
        assert "this model has no attention" in refused(capsys, "look", folder, "ant", "--style", style)
    looked(capsys, folder, "ant", "-o", tmp_path / "x.html")


@pytest.fixture(scope="module")
def described(tmp_path_factory):
    """A captioner's folder and an image."""
    pytest.importorskip("PIL", reason="needs Pillow")
    from helpers.captioning import captioner
    from helpers.images import put_picture

    folder = write_folder(captioner("transformer-captioner").task, tmp_path_factory.mktemp("captioner"))
    return folder, put_picture(tmp_path_factory.mktemp("pictures") / "quarters.png")


@pytest.mark.parametrize("ending", [".svg", ".pdf"])
def test_a_picture_is_looked_at(capsys, described, tmp_path, ending):
    path = tmp_path / f"x{ending}"
    looked(capsys, *described, "-o", path)
    start = b"<svg" if ending == ".svg" else INITIAL_STATES[ending]
    assert path.read_bytes().lower().startswith(start.lower())


def test_a_picture_in_the_terminal_and_from_its_trace(capsys, described, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    shown = looked(capsys, *described).out
    assert max(map(len, shown.splitlines())) <= 50
    assert "█" in shown
    assert "\x1b" not in shown, "no colour where nobody sees it"
    looked(capsys, *described, "-o", tmp_path / "x.json")
    assert looked(capsys, tmp_path / "x.json").out == shown
    heads = looked(capsys, *described, "--style", "heads").out
    assert "head 1" in heads


def test_what_a_picture_cannot_be(capsys, described, tmp_path):
    assert "regions of an image, which have no words" in refused(capsys, "look", *described, "--style", "matrix")
    assert "missing.png" in refused(capsys, "look", described[0], tmp_path / "missing.png")
    links = refused(capsys, "look", *described, "--gold", "64-0")
    assert "--gold: 64-0 lies outside 64 regions and " in links
    assert " target words (" in links
