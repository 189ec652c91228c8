"""The program: its commands, and what becomes of errors."""

from __future__ import annotations

import os
import sys

import click
import typer

import saccade
from saccade.cli.commands import compare, data, demo, evaluate, look, predict, recipes, train
from saccade.cli.terminal import complain
from saccade.errors import ConfigError, SaccadeError
from saccade.files import explain

__all__ = ["app", "main"]

app = typer.Typer(
    name="saccade",
    help="Train, run and see sequence-to-sequence models with attention.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    epilog="Begin with: saccade demo",
)
for command in (demo, train, predict, evaluate, compare, look, recipes, data):
    app.command()(command)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"saccade {saccade.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
    debug: bool = typer.Option(False, "--debug", help="Show where an error came from."),
) -> None:
    """The options of every command."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; exit with 0 (done), 1 (failed) or 2 (not understood)."""
    words = sys.argv[1:] if arguments is None else arguments
    debug = "--debug" in words
    words = [word for word in words if word != "--debug"]
    try:
        app(words, standalone_mode=False)
        code = 0
    except click.exceptions.Exit as error:
        code = error.exit_code
    except click.ClickException as error:
        error.show()
        code = 2
    except (KeyboardInterrupt, click.Abort):
        complain("stopped.")
        code = 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads on: so be quiet about it
        code = 1
    except Exception as error:
        if debug:
            raise
        code = _tell(error)
    sys.exit(code)


def _tell(error: Exception) -> int:
    """One paragraph about an error; the exit code."""
    if isinstance(error, SaccadeError):
        complain(str(error))
        return 2 if isinstance(error, ConfigError) else 1
    if isinstance(error, OSError) and error.filename is not None:
        from pathlib import Path

        complain(str(explain(error, Path(error.filename), "use")))
        return 1
    if isinstance(error, MemoryError) or "out of memory" in str(error).lower():
        complain("there is not enough memory. Lower train.tokens_per_batch, search.batch or the model's size.")
        return 1
    complain(
        f"something went wrong that should not have: {type(error).__name__}: {error}. "
        "Run the same command with --debug and report what it shows."
    )
    return 1
