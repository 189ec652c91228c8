"""Run the command line in this process and in one of its own."""

import os
import subprocess
import sys
from typing import NamedTuple

from saccade.cli.main import main


class Ran(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


def run(capsys, *words) -> Ran:
    """A command in this process."""
    capsys.readouterr()
    code = 0
    try:
        main([str(word) for word in words])
    except SystemExit as ending:
        code = ending.code or 0
    return Ran(code, *capsys.readouterr())


def refused(capsys, *words) -> str:
    """Run a command that must fail, and return its error: one paragraph, no result and no traceback."""
    ran = run(capsys, *words)
    assert ran.code in (1, 2), ran
    assert ran.out == ""
    assert ran.err.startswith("saccade: ")
    assert "Traceback" not in ran.err
    assert "should not have" not in ran.err
    assert "\n\n" not in ran.err.strip()
    return " ".join(ran.err.split())


def program(*words, **more) -> subprocess.Popen:
    """A command as a process of its own."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE) | more
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen([sys.executable, "-m", "saccade", *map(str, words)], env=environment, **pipes)
