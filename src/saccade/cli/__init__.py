"""The command line: parse, call the library, print. Heavy modules are imported only when a command needs them."""

from saccade.cli.main import main

__all__ = ["main"]
