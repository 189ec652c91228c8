"""The command line: parse, call the library, print. Nothing heavy is imported before a command needs it."""

from saccade.cli.main import main

__all__ = ["main"]
