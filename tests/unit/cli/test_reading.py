"""Long, empty and broken inputs of the tasks that read: one paragraph each, in Python, on the command line, served."""

import json
import logging

import pytest

from helpers.asgi import application, post
from helpers.asgi import run as served
from helpers.commands import refused, run
from helpers.reading import READERS, asked, reader
from helpers.recipes import write_folder
from saccade.api import Model
from saccade.errors import DataError
from saccade.serve.models import Served

QUESTION = "what is my name ?"
ANT = "my name is ant ."


@pytest.fixture(scope="module")
def models():
    return {name: Model(reader(name)) for name in READERS}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return {name: write_folder(reader(name), tmp_path_factory.mktemp(name)) for name in READERS}


def arguments(name, text):
    """The arguments of a command for a text."""
    if name == "chat":
        return [json.dumps(asked(name, text))]
    return [QUESTION, text] if name in ("questions", "answering") else [text]


def one_paragraph(text):
    assert text.strip()
    assert "\n\n" not in text.strip()
    assert "Traceback" not in text
    return text


EMPTY = {
    "summarization": None,  # an empty text has an empty summary
    "questions": "the passage is empty",
    "answering": "the passage is empty",
    "chat": "the last of the turns, which is missing",
}


@pytest.mark.parametrize("name", READERS)
def test_nothing_to_read(models, folders, capsys, name):
    why, given = EMPTY[name], asked(name, " ")
    ran = run(capsys, "predict", folders[name], *arguments(name, " "))
    got = served(post(application(Served("tiny", models[name])), {"input": given}))
    if why is None:
        assert models[name](given).text == ""
        assert (ran.code, ran.out, ran.err) == (0, "\n", "")
        assert (got.status, got.json["predictions"][0]["text"]) == (200, "")
    else:
        with pytest.raises(DataError, match=why):
            models[name](given)
        assert ran.code == 1
        assert why in one_paragraph(ran.err)
        assert got.status == 422
        assert why in one_paragraph(got.error)
    for command in ("look", "explain"):
        assert refused(capsys, command, folders[name], *arguments(name, " "))


@pytest.mark.parametrize("name", ["questions", "answering"])
def test_a_question_without_a_passage(models, folders, capsys, name):
    with pytest.raises(DataError, match="this model reads"):
        models[name]({"question": QUESTION})
    for command in ("look", "explain"):
        assert '{"question": "…", "passage": "…"}' in refused(capsys, command, folders[name], QUESTION)
    ran = run(capsys, "predict", folders[name], QUESTION)
    assert ran.code == 1
    assert "but this model reads" in one_paragraph(ran.err)
    got = served(post(application(Served("tiny", models[name])), {"input": {"question": QUESTION}}))
    assert got.status == 422
    assert "but this model reads" in one_paragraph(got.error)


@pytest.mark.parametrize("name", ["summarization", "questions", "answering"])
def test_200_000_characters_are_more_than_a_model_reads(models, folders, capsys, tmp_path, name):
    text = f"{ANT} " * 11_765
    assert len(text) > 200_000
    file = tmp_path / "long.txt"
    file.write_text(text)
    with pytest.raises(DataError, match=r"has [\d,]+ tokens, but this model reads at most 10,000"):
        models[name](asked(name, text))
    words = arguments(name, str(file))
    for command in ("look", "explain"):
        assert "this model reads at most 10,000" in refused(capsys, command, folders[name], *words)
    ran = run(capsys, "predict", folders[name], *words)
    assert ran.code == 1
    assert "this model reads at most 10,000" in one_paragraph(ran.err)
    got = served(post(application(Served("tiny", models[name])), {"input": asked(name, text)}))
    assert got.status == 422
    assert "tokens" in one_paragraph(got.error)


def test_500_turns_and_200_000_characters_of_chat_keep_their_end(models, folders, capsys):
    turns = {"turns": [ANT] * 500}
    found = models["chat"](turns)
    assert found.text == models["chat"]({"turns": [ANT] * (500 - 2)}).text
    assert "were left out: the history is longer than the model reads" in found.notes[0]
    ran = run(capsys, "predict", folders["chat"], json.dumps(turns))
    assert (ran.code, ran.out.strip()) == (0, found.text)
    ran = run(capsys, "explain", folders["chat"], json.dumps(turns), "--step", 1)
    assert ran.code == 0
    assert max(map(len, ran.out.splitlines())) < 1400
    long = {"turns": [f"{ANT} " * 11_765]}
    assert "The beginning of the newest turn was left out" in models["chat"](long).notes[0]


def test_text_files_are_one_text_whatever_ends_their_lines(folders, models, capsys, tmp_path):
    file = tmp_path / "mixed.txt"
    file.write_bytes(b"\xef\xbb\xbfmy name\r\nis ant .\rhello bee\n\n")
    ran = run(capsys, "predict", folders["summarization"], file, "--format", "jsonl")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["source"] == "my name is ant . hello bee"
    assert json.loads(ran.out)["text"] == models["summarization"]("my name is ant . hello bee").text
    ran = run(capsys, "predict", folders["questions"], QUESTION, file)
    assert ran.code == 0, ran.err
    assert ran.out.strip() == models["questions"](asked("questions", "my name is ant . hello bee")).text
    for text in ("my name\r\nis ant .", "my name\ris ant .", "my name\nis ant ."):
        assert models["summarization"](text).text == models["summarization"](ANT).text


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("missing.txt", None, "missing.txt does not exist"),
        ("empty.txt", b" \r\n\n", "empty.txt has no text"),
        ("latin.txt", b"caf\xe9", "latin.txt, line 1 is not UTF-8"),
        ("huge.txt", b"ant " * 1_100_000, "has more than 4,194,304 characters"),
    ],
)
def test_a_file_that_is_no_text(folders, capsys, tmp_path, name, content, why):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    for command in ("predict", "look", "explain"):
        assert why in refused(capsys, command, folders["summarization"], path)


def test_a_sentence_that_ends_like_a_file_is_a_text(folders, capsys, models):
    ran = run(capsys, "predict", folders["summarization"], "my name is ant.txt")
    assert (ran.code, ran.out.strip()) == (0, models["summarization"]("my name is ant.txt").text)


def test_offsets_that_do_not_match_are_moved_and_counted(folders, capsys, tmp_path, caplog):
    file = tmp_path / "asked.jsonl"
    rows = [("ant", 3), ("bee", 0), ("my name", 0)]
    answers = [[{"text": text, "start": start}] for text, start in rows]
    lines = [json.dumps({"passage": ANT, "question": QUESTION, "answers": part}) for part in answers]
    file.write_bytes("\r\n".join(lines).encode())
    with caplog.at_level(logging.WARNING, "saccade"):
        ran = run(capsys, "evaluate", folders["questions"], file, "--out", tmp_path)
    assert ran.code == 0, ran.err
    (said,) = caplog.messages
    assert "1 answers were moved to the nearest place of their text, 1 answers were left out" in said
    assert ": 2 examples" in ran.out


def test_a_long_source_is_drawn_as_a_passage(folders, capsys, tmp_path):
    file = tmp_path / "long.txt"
    file.write_text(f"{ANT}\n" * 60)
    ran = run(capsys, "look", folders["summarization"], file, "--style", "passage")
    assert ran.code == 0, ran.err
    assert "Read" not in ran.out, "the passage is there already"
    assert ran.out.count("ant") >= 60
    for ending, start in ((".svg", b"<?xml"), (".png", b"\x89PNG"), (".html", b"<!doctype")):
        style = [] if ending == ".html" else ["--style", "passage"]
        assert run(capsys, "look", folders["summarization"], file, *style, "-o", tmp_path / f"long{ending}").code == 0
        assert (tmp_path / f"long{ending}").read_bytes().startswith(start)
    assert "all written words together pay to the read word" in (tmp_path / "long.svg").read_text()
