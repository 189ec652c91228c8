"""Writes dialogues: draws what is said, corrected and asked for, and links each recalled word to its turn."""

from __future__ import annotations

from typing import NamedTuple

from saccade.corpora.articles.names import Names
from saccade.corpora.stream import Dice
from saccade.corpora.talk.topics import GREETINGS, LOOKED_UP, OWN_NAME, SMALL_TALK, TOPICS, Topic
from saccade.data.example import Example, Link, Links

__all__ = ["Dialogue", "TalkWriter"]

_TELL, _LOOK_UP, _CORRECT, _RECALL = 0.5, 0.1, 0.1, 0.1
"""Shares of each kind of exchange before the last one; the rest is small talk."""
_ASK, _ASK_UNKNOWN, _ASK_TELL = 0.68, 0.16, 0.11
"""Shares of each kind of last exchange, whose reply is the target; the rest is small talk."""
_OWN_NAME = 0.6
"""Share of the openings that tell a name."""


class Key(NamedTuple):
    """What a fact is about, such as the name of a sister."""

    topic: Topic
    thing: str


class Turn(NamedTuple):
    """A turn, and the facts that it mentions, by word number."""

    words: list[str]
    mentions: dict[int, Key]


class Dialogue:
    """A dialogue and its reply, before length and split are checked.

    told: the turn that stated each fact last, and the value.
    """

    def __init__(self, turns: list[Turn], told: dict[Key, tuple[int, str]]) -> None:
        self._turns, self._told = turns, told
        self.length = len(turns)
        self.target = " / ".join(" ".join(turn.words) for turn in turns)

    def example(self) -> Example:
        """Return the texts and the gold links of the reply."""
        *history, reply = self._turns
        starts = [0]
        for turn in history:
            starts.append(starts[-1] + len(turn.words))
        sure: set[Link] = set()
        possible: set[Link] = set()
        for target, key in reply.mentions.items():
            last, value = self._told[key]
            for number, turn in enumerate(history):
                for word, other in turn.mentions.items():
                    if other == key and turn.words[word] == value:
                        (sure if number == last else possible).add((starts[number] + word, target))
        texts = tuple(" ".join(turn.words) for turn in history)
        links = Links(frozenset(sure), frozenset(possible))
        return Example(turns=texts, target=" ".join(reply.words), links=links)


class TalkWriter:
    """Writes dialogues with the names of one split."""

    def __init__(self, split: str, dice: Dice) -> None:
        self._split, self._dice = split, dice

    def __call__(self, length: int) -> Dialogue | None:
        """Write a dialogue of `length` turns."""
        return _Drawing(self._split, self._dice).dialogue(length)


class _Drawing(Dice):
    """Draws one dialogue."""

    def __init__(self, split: str, dice: Dice) -> None:
        super().__init__(dice)
        self._names = Names(split, dice)
        self._values: set[str] = set()
        self._chatted: set[tuple[str, str]] = set()
        self._turns: list[Turn] = []
        self._told: dict[Key, tuple[int, str]] = {}

    def dialogue(self, length: int) -> Dialogue:
        if length % 2:
            self._open()
        while len(self._turns) < length - 2:
            self._exchange()
        self._last()
        return Dialogue(self._turns, self._told)

    def _open(self) -> None:
        if self.chance(_OWN_NAME):
            key = Key(OWN_NAME, OWN_NAME.things[0])
            self._learn(key, 0)
            self._say(self.pick(OWN_NAME.tell)[0], key)
        else:
            self._say(self.pick(GREETINGS))

    def _exchange(self) -> None:
        share = self.random()
        if (share := share - _TELL) < 0:
            self._tell()
        elif (share := share - _LOOK_UP) < 0:
            self._look_up()
        elif (share := share - _CORRECT) < 0 and (known := [key for key in self._told if key.topic in TOPICS]):
            self._tell(self.pick(known))
        elif share - _RECALL < 0 and self._told:
            self._ask(self.pick([*self._told]))
        else:
            self._chat()

    def _last(self) -> None:
        share = self.random() if self._told else _ASK + (1 - _ASK) * self.random()
        if (share := share - _ASK) < 0:
            self._ask(self.pick([*self._told]))
        elif (share := share - _ASK_UNKNOWN) < 0:
            self._ask(self._new(self.pick((*TOPICS, OWN_NAME, LOOKED_UP))))
        elif share - _ASK_TELL < 0:
            self._tell()
        else:
            self._chat()

    def _new(self, topic: Topic) -> Key:
        """Return a random thing of a topic, without a fact so far if there is one."""
        keys = [Key(topic, thing) for thing in topic.things]
        return self.pick([key for key in keys if key not in self._told] or keys)

    def _tell(self, key: Key | None = None) -> None:
        """State a new fact, or correct an earlier one."""
        key = key or self._new(self.pick(TOPICS))
        start = "No , wait . " if key in self._told else ""
        self._learn(key, len(self._turns))
        text, reply = self.pick(key.topic.tell)
        self._say(start + text, key)
        self._say(reply, key)

    def _look_up(self) -> None:
        key = self._new(LOOKED_UP)
        if key in self._told:
            self._chat()
            return
        self._learn(key, len(self._turns) + 1)
        text, reply = self.pick(LOOKED_UP.tell)
        self._say(text, key)
        self._say(reply, key)

    def _ask(self, key: Key) -> None:
        self._say(self.pick(key.topic.ask), key)
        self._say(key.topic.answer if key in self._told else key.topic.unknown, key)

    def _chat(self) -> None:
        text, reply = self.pick([pair for pair in SMALL_TALK if pair not in self._chatted])
        self._chatted.add((text, reply))
        self._say(text)
        self._say(reply)

    def _learn(self, key: Key, turn: int) -> None:
        draw = {"name": self._names.first, "place": self._names.place, "time": self._time, "price": self._price}
        while (value := draw[key.topic.value]()) in self._values:
            pass
        self._values.add(value)
        self._told[key] = turn, value

    def _time(self) -> str:
        return f"{self.between(6, 22)}:{self.between(0, 11) * 5:02}"

    def _price(self) -> str:
        return str(self.between(3, 98))

    def _say(self, wording: str, key: Key | None = None) -> None:
        words: list[str] = []
        mentions = {}
        for word in wording.split():
            if key is not None and word == "{value}":
                mentions[len(words)] = key
                words.append(self._told[key][1])
            else:
                words.append(key.thing if key is not None and word == "{thing}" else word)
        self._turns.append(Turn(words, mentions))
