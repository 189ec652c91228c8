"""Terminal output: numbers, tables, and training progress as lines or as a bar."""

import io
import json
import re
import sys
from contextlib import redirect_stderr, redirect_stdout

import pytest

from saccade.cli import terminal
from saccade.cli.terminal import LiveProgress, clock, echo, number, print_error, print_json, print_status, table

CODES = re.compile(r"\x1b\[[\d;?]*[a-zA-Z]")
FACTS = {
    "model": "luong-dot",
    "parameters": 1234,
    "examples": 5000,
    "vocabulary": {"source": 1000, "target": 20},
    "device": "cpu",
    "left_out": {},
}


class Screen(io.StringIO):
    """A terminal that keeps what is written to it."""

    def isatty(self):
        return True


@pytest.fixture
def screen(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(terminal._errors, "is_interactive", True)  # rich checked for a terminal at import
    return Screen()


def step(number, **more):
    return {"step": number, "loss": 1.23456, "tokens_per_second": 9876.5, "seconds_left": 187.2, **more}


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0:00"), (7.4, "0:07"), (59.6, "1:00"), (187, "3:07"), (3599, "59:59"), (3600, "1:00:00"), (7325, "2:02:05")],
)
def test_times_are_told_as_on_a_clock(seconds, shown):
    assert clock(seconds) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.5, "0.500"), (9.9994, "9.999"), (10, "10.0"), (10.54, "10.5"), (-9.5, "-9.500"), (-10.5, "-10.5")],
)
def test_shares_have_three_places_and_percentages_one(value, shown):
    assert number(value) == shown


def test_results_for_machines_keep_their_letters(capsys):
    print_json({"a": ["é", 1]})
    assert capsys.readouterr().out == '{\n "a": [\n  "é",\n  1\n ]\n}\n'


def test_a_result_leaves_at_once(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8"))
    echo("été")
    assert raw.getvalue().decode() == "été\n"


def test_words_that_look_like_markup_are_words(capsys):
    odd = "[bold]a[/bold] :cat: [/x]" + " long" * 60
    print_error(odd)
    print_status(odd, style="yellow")
    assert capsys.readouterr().err == f"saccade: {odd}\n{odd}\n", "on one line each"
    table(odd, ("[b]name[/b]", "value"), [("[red]x[/red]", ":cat:")])
    title, head, row = capsys.readouterr().out.splitlines()
    assert (title.rstrip(), head.split(), row.split()) == (
        odd.rstrip(),
        ["[b]name[/b]", "value"],
        ["[red]x[/red]", ":cat:"],
    )


def test_columns_of_numbers_stand_at_the_right_and_others_at_the_left(capsys):
    rows = [("bleu", "1,000.5", "-2", "5 to 6", "7"), ("a", "9", "+13", "", "x"), ("c", "10", "", "12 to 13", "8")]
    table("Title", ("metric", "value", "difference", "band", "mixed"), rows)
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == [
        "Title",
        "metric    value  difference      band  mixed",
        "bleu    1,000.5          -2    5 to 6  7",
        "a             9         +13            x",
        "c            10              12 to 13  8",
    ]


def test_a_row_is_a_line_in_a_pipe_however_long_it_is(capsys):
    table("T", ("name", "what"), [("a", "word " * 300), ("b", "c")])
    assert len(capsys.readouterr().out.splitlines()) == 4


def test_on_a_terminal_a_title_is_bold_and_its_numbers_are_not_coloured(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    screen = Screen()
    with redirect_stdout(screen):
        table("20 examples", ("metric",), [("1.5",)])
    assert screen.getvalue().splitlines()[0] == "\x1b[1m20 examples\x1b[0m"


def test_what_is_trained_is_told_before_the_first_step(capsys):
    facts = FACTS | {"left_out": {"too_long": 1003, "empty": 1}}
    LiveProgress("with attention").on_train_begin(3000, 1500, facts)
    assert capsys.readouterr().err.splitlines() == [
        "with attention: luong-dot, 1,234 parameters, 5,000 examples, 1,000 source tokens and 20 target tokens, on cpu",
        "  1,003 examples were left out: too long",
        "  1 examples were left out: empty",
        "  resuming from step 1,500",
    ]


@pytest.mark.parametrize(("tuned", "what"), [(True, "are trained"), (False, "stay fixed")])
def test_vectors_that_words_begin_with_are_told(capsys, tuned, what):
    laid = {"tuned": tuned, "found": 1700, "words": 2000, "file": "v.txt"}
    LiveProgress().on_train_begin(10, 0, FACTS | {"vectors": laid})
    assert capsys.readouterr().err.splitlines()[1:] == [
        f"  1,700 of 2,000 words start from the vectors in v.txt, which {what}"
    ]


def test_without_a_terminal_some_steps_are_lines(capsys):
    watcher = LiveProgress(every=4)
    watcher.on_train_begin(2000, 0, FACTS)
    capsys.readouterr()
    for at in (1, 4, 5, 1000):
        watcher.step(step(at))
    watcher.on_train_end()
    assert capsys.readouterr().err.splitlines() == [
        "  step 4/2,000   loss 1.235   9,876 tokens/s   3:07 left",
        "  step 1,000/2,000   loss 1.235   9,876 tokens/s   3:07 left",
    ]


def test_validations_and_notes_are_lines(capsys):
    watcher = LiveProgress()
    watcher.validated({"step": 1000, "valid": {"loss": 1.5, "bleu": 0.25, "bleu/long": 0.1}, "best": True})
    watcher.validated({"step": 2000, "valid": {"loss": 2.0}, "best": False})
    watcher.note("something [odd]")
    assert capsys.readouterr().err.splitlines() == [
        "  step 1,000: validation loss 1.500, bleu 0.250   (best so far)",
        "  step 2,000: validation loss 2.000",
        "  note: something [odd]",
    ]


def test_on_a_terminal_a_bar_moves_and_is_taken_away(screen):
    watcher = LiveProgress(every=1)
    with redirect_stderr(screen):
        watcher.on_train_begin(2000, 5, FACTS)
        watcher.step(step(1234))
        watcher.on_train_end()
        drawn = screen.getvalue()
        watcher.step(step(1235))
        watcher.on_train_end()
    text = CODES.sub("", drawn)
    assert "step 5/2,000" in text, "where it goes on"
    assert re.search(r"━+.* step 1,234/2,000 loss 1\.235 9,876 tokens/s 3:07 left", text)
    assert "   loss" not in text, "and no line besides"
    assert drawn.endswith("\x1b[1A\x1b[2K"), "the line of the bar is free again"
    assert screen.getvalue()[len(drawn) :] == "  step 1,235/2,000   loss 1.235   9,876 tokens/s   3:07 left\n"


def test_on_a_terminal_what_has_ended_has_no_bar(screen):
    with redirect_stderr(screen):
        watcher = LiveProgress()
        watcher.on_train_begin(2000, 2000, FACTS)
        watcher.on_train_end()
    assert screen.getvalue().splitlines()[1:] == ["  resuming from step 2,000"]


def test_json_for_machines_is_json(capsys):
    print_json([1.5, None, "a\nb"])
    assert json.loads(capsys.readouterr().out) == [1.5, None, "a\nb"]


def test_a_task_without_tokens_has_none_to_tell(capsys):
    LiveProgress().on_train_begin(3000, 0, FACTS | {"vocabulary": {}})
    assert capsys.readouterr().err.endswith("1,234 parameters, 5,000 examples, on cpu\n")
