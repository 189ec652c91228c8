"""A tiny untrained chat model."""

import torch

from helpers.recipes import MODEL, recipe_of
from saccade.data.tokenizer import Tokenizer, TokenizerConfig, Tokenizers
from saccade.runs.folder import build_task

TURNS = ["my name is ant .", "hello ant , i am bee .", "what is my name ?", "your name is ant ."]


def chat(**settings):
    """A chat task with seeded weights; settings are sections of its recipe."""
    torch.manual_seed(1)
    given = {
        "task": "chat",
        "data": {"train": "unused.jsonl"},
        "tokenizer": {"kind": "word", "shared": True},
        "model": MODEL,
        "output": "pointer",
        "search": {"max_length": 6},
    }
    shared = Tokenizer.train(TokenizerConfig(kind="word"), TURNS)
    return build_task(recipe_of({**given, **settings}), Tokenizers(shared, shared))
