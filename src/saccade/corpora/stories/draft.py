"""Writes stories: lets things happen until the story is long enough, and asks one question."""

from __future__ import annotations

from itertools import accumulate

from saccade.corpora.stories.asking import MOST_FACTS, Asking, askings
from saccade.corpora.stories.world import World
from saccade.corpora.stream import Dice
from saccade.data.example import Example

__all__ = ["Story", "StoryWriter"]

_FEWEST, _MOST = 5, 60  # sentences


class Story:
    """A story and its question, before length and split are checked."""

    def __init__(self, sentences: list[str], question: str, asking: Asking) -> None:
        self._sentences, self._question, self._asking = sentences, question, asking
        self.target = " ".join(sentences)
        """The text that decides the split: the story, whatever its question."""
        self.length = len(self.target.split())

    def example(self) -> Example:
        """Return the story with its question, the answer and the evidence."""
        begins = [0, *accumulate(len(sentence) + 1 for sentence in self._sentences)]
        evidence = tuple((begins[number], begins[number + 1] - 1) for number in self._asking.sentences)
        answer = self._asking.answer
        if answer is None:
            return Example(source=self.target, target="", question=self._question)
        begin = self.target.rindex(answer, *evidence[-1])
        spans = ((begin, begin + len(answer)),)
        texts = (answer,)
        return Example(self.target, answer, references=texts, question=self._question, spans=spans, evidence=evidence)


class StoryWriter:
    """Writes stories; a share of their questions has no answer."""

    def __init__(self, dice: Dice, unanswerable: float) -> None:
        self._dice, self._unanswerable = dice, unanswerable

    def __call__(self, length: int) -> Story | None:
        """Write a story of about `length` words; None if it has too few or too many sentences."""
        dice = self._dice
        facts = 0 if dice.chance(self._unanswerable) else dice.between(1, MOST_FACTS)
        fitting: list[Asking] = []
        while not fitting:  # all numbers of facts are equally frequent, although chains of three are rare
            world = _told(dice, length)
            fitting = [asking for asking in askings(world) if len(asking.sentences) == facts]
        if not _FEWEST <= len(world.sentences) <= _MOST:
            return None
        asking = dice.pick(fitting)
        return Story(world.sentences, dice.pick(asking.wordings), asking)


def _told(dice: Dice, length: int) -> World:
    """Return a world after a story of about `length` words."""
    world, words = World(dice, length), 0
    while words < length - _ROOM:
        world.happen()
        words += len(world.sentences[-1].split())
    return world


_ROOM = 3  # words that no further sentence has to fill
