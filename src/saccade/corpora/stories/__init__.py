"""stories: people carry things from place to place, and a question asks where something is in the end.

    Emily took the basket. Mary took the lamp. Emily walked into the garage. Mary went to the garage. Mary put the lamp
    into the basket. Mary talked about the library. Then Emily moved to the wine cellar.

    Where is the lamp?    wine cellar

The answer follows from one, two or three sentences, the evidence. Here the lamp is in the basket, Emily has the basket,
and Emily is in the wine cellar. A question does not show how many sentences it takes. The others say where things were
before, or mention them without moving them. The answer is a word or two of the last sentence of the evidence.

Read `world` first (what happens, and what follows from it), then `asking` and `draft`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from saccade.corpora.stories.draft import Story, StoryWriter
from saccade.corpora.stream import Dice, stream
from saccade.data.example import Example

__all__ = ["BOUNDS", "stories"]

BOUNDS = 30, 320
"""Least and most words of a story: 5 to 60 sentences."""


def stories(
    split: str,
    size: int | None,
    seed: int = 1,
    *,
    min_length: int = 40,
    max_length: int = 120,
    unanswerable: float = 0.0,
) -> Iterator[Example]:
    """Generate stories with a question each; `size` None never ends.

    source is the story, target the answer, spans its place in the last sentence of the evidence. The evidence is in the
    order of reasoning: the first sentence is about the thing asked for, each further one about what the one before
    found. A third of the answers follows from one sentence, a third from two, a third from three. `unanswerable`: the
    share of the questions that the story does not answer, which have neither target nor spans nor evidence.

    Lengths count words of the story and are uniformly distributed. The same arguments give the same stories, and a
    larger size only appends to them. Splits share no story, whatever the seeds and lengths.
    """
    writer = partial(_writer, unanswerable)
    return stream("stories", writer, split, size, seed, min_length, max_length, bounds=BOUNDS, slack=_SLACK)


_SLACK = 6


def _writer(unanswerable: float, dice: Dice) -> Callable[[int], Story | None]:
    return StoryWriter(dice, unanswerable)
