"""A conversation with a chat model in a terminal: its history, its commands, and the attention of a reply."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from saccade.api import Model
from saccade.cli.terminal import one_line
from saccade.errors import DataError, SaccadeError
from saccade.files import write_atomically
from saccade.prediction import Prediction

__all__ = ["COMMANDS", "Conversation", "readable"]

COMMANDS = {
    "/look": "show the turns and words that the last reply attended to",
    "/undo": "take back your last turn and its reply",
    "/retry": "sample another reply to your last turn",
    "/save FILE": "write the dialogue to a .jsonl file, which training can read",
    "/reset": "begin a new dialogue",
    "/help": "list the commands",
    "/quit": "end; so does Ctrl-D",
}

_RETRIES = 8
"""Maximum samples of /retry until one differs from the last reply."""


class Conversation:
    """A dialogue with a model. `answer` takes one line of the user; `say` is called with what to print.

    options: search options of every reply.
    """

    def __init__(self, model: Model, say: Callable[[str], None], status: Callable[[str], None], **options: Any) -> None:
        self._model, self._say, self._status, self._options = model, say, status, options
        self.turns: list[str] = []
        self._last: Prediction | None = None
        self._retries = 0
        self._commands: dict[str, Callable[[str], None]] = {
            "/look": self._look,
            "/undo": self._undo,
            "/retry": self._retry,
            "/save": self._save,
            "/reset": self._reset,
            "/help": self._help,
        }

    def answer(self, line: str) -> bool:
        """Reply to a line or run the command in it; return False if it ends the conversation."""
        text = line.strip()
        name, _, rest = text.partition(" ")
        if name == "/quit":
            return False
        try:
            if name in self._commands:
                self._commands[name](rest.strip())
            elif text.startswith("/"):
                raise DataError(f"there is no command {name}. /help lists them.")
            elif text:
                self._retries = 0
                self._show([*self.turns, text], self._predict([*self.turns, text]))
        except SaccadeError as error:  # the dialogue goes on
            self._status(str(error))
        return True

    def _predict(self, history: list[str], **options: Any) -> Prediction:
        found: Prediction = self._model({"turns": history}, **self._options | options)
        return found

    def _show(self, history: list[str], reply: Prediction) -> None:
        self._last, self.turns = reply, [*history, reply.text]
        self._say(one_line(readable(reply.text)))

    def _exchange(self) -> list[str]:
        """Return the dialogue up to the user's last turn."""
        if not self.turns:
            raise DataError("nothing was said yet.")
        return self.turns[:-1]

    def _undo(self, _: str) -> None:
        self.turns = self._exchange()[:-1]
        self._last = None
        self._status(f"{len(self.turns)} turns are left.")

    def _retry(self, _: str) -> None:
        history, last = self._exchange(), self.turns[-1]
        seed = self._model.search(**self._options).seed
        for _try in range(_RETRIES):
            self._retries += 1
            found = self._predict(history, sample=True, beam=1, seed=seed + self._retries)
            if found.text != last:
                break
        self._show(history, found)

    def _save(self, name: str) -> None:
        if not name:
            raise DataError("name a file, as in /save talk.jsonl")
        self._exchange()
        write_atomically(Path(name), json.dumps({"turns": self.turns}, ensure_ascii=False) + "\n")
        self._status(f"Wrote {len(self.turns)} turns to {name}")

    def _reset(self, _: str) -> None:
        self.turns, self._last = [], None
        self._status("A new dialogue.")

    def _help(self, _: str) -> None:
        for name, about in COMMANDS.items():
            self._status(f"{name:<11} {about}")

    def _look(self, _: str) -> None:
        if self._last is None:
            raise DataError("there is no reply yet.")
        for line in looked(self._last, self.turns[:-1]):
            self._say(one_line(line))


def readable(text: str) -> str:
    """Join marks and short forms, which models of words write apart: "i ' m here ." becomes "i'm here."."""
    text = re.sub(r" +([.,;:!?]+)(?= |$)", r"\1", text)
    return re.sub(r"(\w) ?(['’]) ?(s|m|d|t|ll|re|ve)\b", r"\1\2\3", text)


def looked(reply: Prediction, history: list[str]) -> list[str]:
    """Return the attention of a reply as lines: each turn's share, and for each word the most attended word."""
    maps = reply.attention
    if not maps:
        raise DataError("this model has no attention, so there is nothing to show.")
    turns, source = maps.by_turn(), maps.source
    count, words = turns.shape[1] - 1, len(maps.target.words)
    lines = []
    for number, share in enumerate(turns[:words, :count].mean(0) if words else []):
        back = count - number
        lines.append(f"{share:4.0%}  {back:>2} back  {history[len(history) - back]}")
    matrix, turn_of = maps.matrix()[:words, : len(source.words)], source.turn_of_word
    if not source.words:
        return lines
    for word, row in zip(maps.target.words, matrix, strict=True):
        place = int(row.argmax())
        lines.append(f"{row[place]:4.0%}  {count - turn_of[place]:>2} back  {word} <- {source.words[place]}")
    return lines
