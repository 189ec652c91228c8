"""The program in real pipes: line by line, in order, and without an error when the reader closes the pipe."""

import os
import subprocess
import sys
from contextlib import suppress

import pytest

from helpers.commands import program
from helpers.recipes import sentences, untrained, write_folder
from saccade.models import MODELS

PATIENCE = 600
"""Seconds for a process to end; only a test that fails waits as long, and a busy machine needs some."""


def finish(process, text=b""):
    out, err = process.communicate(text, timeout=PATIENCE)
    return process.returncode, out.decode(), err.decode()


def ended(process):
    """Close the pipes of a process and return its exit code."""
    for pipe in (process.stdin, process.stdout, process.stderr):
        with suppress(BrokenPipeError):
            pipe.close()
    return process.wait(PATIENCE)


def test_each_line_is_answered_before_the_next_until_one_is_not_utf8(translator):
    process = program("predict", translator)
    for text in ("ant bee", "", "cat", "dog elk fox"):
        process.stdin.write(f"{text}\n".encode())
        process.stdin.flush()
        assert process.stdout.readline().decode() == f"{text.upper()}\n"
    code, out, err = finish(process, b"ant\nbee\ncaf\xe9\ncat\n")
    assert (code, out) == (1, "ANT\nBEE\n")
    assert "standard input, line 7 is not UTF-8" in err
    assert "Traceback" not in err


def test_two_thousand_lines_keep_their_order(translator):
    texts = sentences(2000, seed=7)
    texts[3] = texts[1500] = ""
    texts[1000] = "ant " * 10_001
    code, out, err = finish(program("predict", translator), "".join(f"{text}\n" for text in texts).encode())
    texts[1000] = ""
    assert out.split("\n")[:-1] == [text.upper() for text in texts]
    assert code == 1
    assert "input 1001 has 10,002 tokens" in err.replace("\n", " ")


def test_a_reader_that_leaves_is_no_error_to_speak_of(translator):
    process = program("predict", translator)
    process.stdin.write(b"ant\n" * 3000)
    process.stdin.flush()
    assert process.stdout.readline() == b"ANT\n"
    process.stdout.close()  # as head -1 does
    assert process.stderr.read() == b""
    assert ended(process) == 1


def test_an_error_does_not_wait_for_more_input(translator):
    """Standard input stays open without data; the program still exits cleanly."""
    process = program("predict", translator, "--prefix", "A B C", "--max-length", 2)
    process.stdin.write(b"ant\n")
    process.stdin.flush()
    assert process.wait(PATIENCE) == 2
    said = process.stderr.read().decode()
    ended(process)
    assert said.startswith("saccade: the prefix of sentence 0 has 3 words")
    assert "Fatal" not in said


@pytest.mark.skipif(sys.platform != "linux", reason="needs /dev/full")
def test_output_that_finds_no_room(translator):
    with open("/dev/full", "wb") as full:
        process = program("predict", translator, "ant", stdin=subprocess.DEVNULL, stdout=full)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert err.decode().startswith("saccade: there is no room left on the disk for standard output.")
    assert "Exception" not in err.decode()


def test_letters_leave_as_utf8_whatever_the_locale(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    folder = write_folder(
        untrained("language-modeling", {"preset": "lstmn", **MODELS["lstmn"].tiny}, kind="bpe"), tmp_path / "m"
    )
    code, out, err = finish(program("predict", folder, "--max-length", "1"), "été\n".encode())
    assert (code, err) == (0, "")
    assert out.startswith("été")


def best_of_three(*words):
    """CPU seconds, which unlike wall time leave out other work of the machine."""
    seconds = []
    for _ in range(3):
        before = os.times()
        done = subprocess.run([sys.executable, *words], capture_output=True, check=True, text=True)
        after = os.times()
        seconds.append(after.children_user - before.children_user + after.children_system - before.children_system)
    return min(seconds), done.stdout


def test_help_is_quick():
    seconds, out = best_of_three("-m", "saccade", "--help")
    assert seconds < 0.5
    assert "saccade demo" in out


def test_importing_is_cheap():
    check = (
        "import sys, saccade; print(saccade.__version__, [m for m in ('torch', 'numpy', 'rich') if m in sys.modules])"
    )
    seconds, out = best_of_three("-c", check)
    assert seconds < 0.5
    assert out.split()[1] == "[]"
