"""The commands, one file each."""

from saccade.cli.commands.align import align
from saccade.cli.commands.cache import cache
from saccade.cli.commands.chat import chat
from saccade.cli.commands.compare import compare
from saccade.cli.commands.data import data
from saccade.cli.commands.demo import demo
from saccade.cli.commands.evaluate import evaluate
from saccade.cli.commands.explain import explain
from saccade.cli.commands.look import look
from saccade.cli.commands.models import models
from saccade.cli.commands.predict import predict
from saccade.cli.commands.recipes import recipes
from saccade.cli.commands.sample import sample
from saccade.cli.commands.serve import serve
from saccade.cli.commands.train import train

__all__ = [
    "align",
    "cache",
    "chat",
    "compare",
    "data",
    "demo",
    "evaluate",
    "explain",
    "look",
    "models",
    "predict",
    "recipes",
    "sample",
    "serve",
    "train",
]
