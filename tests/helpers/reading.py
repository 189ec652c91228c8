"""Tiny models that read long texts and have learned nothing: summaries, questions, answers and chat."""

import torch

from helpers.recipes import MODEL, recipe_of
from saccade.data.tokenizer import Tokenizer, TokenizerConfig, Tokenizers
from saccade.runs.folder import build_task
from saccade.tasks.base import Task

LINES = ["my name is ant .", "hello ant , i am bee .", "what is my name ?", "your name is ant .", "|"]
READERS = ("summarization", "questions", "answering", "chat")


def reader(name: str, **settings) -> Task:
    """A task, always the same."""
    torch.manual_seed(1)
    words = Tokenizer.train(TokenizerConfig(kind="word"), LINES)
    given = {
        "task": name,
        "data": {"train": "unused.jsonl"},
        "tokenizer": {"kind": "word", "shared": True},
        "model": MODEL,
        **({} if name == "questions" else {"output": "pointer", "search": {"max_length": 6}}),
    }
    return build_task(recipe_of({**given, **settings}), Tokenizers(words, None if name == "questions" else words))


def asked(name: str, text: str) -> object:
    """The input of a task that holds a text."""
    if name in ("questions", "answering"):
        return {"question": "what is my name ?", "passage": text}
    return {"turns": ["hello", text]} if name == "chat" else text
