"""The `saccade` program: its commands and its error handling."""

from __future__ import annotations

import io
import os
import sys
import warnings
from pathlib import Path

import typer

import saccade
from saccade.cli.commands import (
    align,
    cache,
    chat,
    compare,
    data,
    demo,
    evaluate,
    look,
    models,
    predict,
    recipes,
    sample,
    serve,
    train,
)
from saccade.cli.commands import explain as explain_command
from saccade.cli.terminal import print_error, print_status
from saccade.errors import ConfigError, SaccadeError
from saccade.files import file_error

__all__ = ["app", "main"]

app = typer.Typer(
    name="saccade",
    help="Train, run and inspect sequence-to-sequence models with attention.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    epilog="Begin with: saccade models, or saccade demo",
)
_RENAMED = {
    "batch": "batch-size",
    "max-held": "max-inflight-bytes",
    "max-input": "max-input-tokens",
    "max-picture": "max-image-bytes",
    "max-wait": "max-wait-ms",
    "pieces": "subwords",
    "queue": "max-queue",
}
"""Old names of options, which work for one release."""


def _new_name(option: str) -> str:
    """Return the current name of an option; warn of an old one."""
    if option not in _RENAMED:
        return option
    print_status(f"--{option} is now --{_RENAMED[option]}; the next release removes the old name.", style="yellow")
    return _RENAMED[option]


for command in (
    demo,
    train,
    predict,
    sample,
    chat,
    evaluate,
    compare,
    look,
    explain_command,
    serve,
    align,
    cache,
    data,
    models,
    recipes,
):
    app.command(command.__name__, context_settings={"token_normalize_func": _new_name})(command)


_format_warning = warnings.formatwarning
_NO_MEMORY = ("out of memory", "can't allocate memory")
"""Parts of torch's error messages when memory runs out, on a GPU and elsewhere."""


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"saccade {saccade.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
    debug: bool = typer.Option(False, "--debug", help="Show the traceback of an error."),
) -> None:
    """Declare the options of every command."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; exit with 0 (done), 1 (failed) or 2 (wrong usage or settings)."""
    warnings.formatwarning = _one_line
    words = sys.argv[1:] if arguments is None else arguments
    debug = "--debug" in words
    if isinstance(sys.stdout, io.TextIOWrapper) and not sys.stdout.isatty():
        sys.stdout.reconfigure(encoding="utf-8")  # like all files saccade writes, in every locale
    try:
        # typer exits by itself: with a command's own code, with 2 for wrong usage, and with 1 for a closed pipe or
        # Ctrl-C
        app([word for word in words if word != "--debug"])
    except Exception as error:
        if debug:
            raise
        sys.exit(_report(error))


def _one_line(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    """Format a warning for users, such as one of an old name, as one line without the place in our code."""
    if issubclass(category, FutureWarning):
        return f"saccade: {message}\n"
    return _format_warning(message, category, filename, lineno, line)


def _report(error: Exception) -> int:
    """Print an error as one paragraph and return the exit code."""
    if isinstance(error, SaccadeError):
        print_error(str(error))
        return 2 if isinstance(error, ConfigError) else 1
    if isinstance(error, OSError):
        print_error(str(file_error(error, Path(error.filename or "standard output"), "use")))
        if error.filename is None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # flushing the rest at exit would fail again
        return 1
    if isinstance(error, MemoryError) or any(sign in str(error).lower() for sign in _NO_MEMORY):
        print_error("there is not enough memory. Lower train.tokens_per_batch, search.batch_size or the model's size.")
        return 1
    print_error(
        f"internal error that should not have happened: {type(error).__name__}: {error}. "
        "Run the same command with --debug and report what it shows."
    )
    return 1
