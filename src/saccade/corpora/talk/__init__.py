"""talk: generated dialogues in which a reply has to recall what was said several turns ago.

    - Hello , I am Kremo .            - I live in Junustad .          - What is my sister called ?
    - My sister is called Tulna .     - I would like to see Junustad .
    - Tulna is a nice name .          - It is raining again .         -> Your sister is called Tulna .

One speaker, the user, states names, places, times and prices, corrects some of them, and asks for them or for others
that were never stated. The other speaker, the model, also states some, such as its own name. The reply follows from the
history alone. All names are invented, and validation and test have names that training never shows: they can only be
copied. Words are separated by spaces, and punctuation marks are words.

Read `topics` first, which has all wordings, then `writer`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from saccade.corpora.stream import Dice, stream
from saccade.corpora.talk.writer import Dialogue, TalkWriter
from saccade.data.example import Example

__all__ = ["TURNS", "talk"]

TURNS = 2, 14
"""Least and most turns of a dialogue, with the reply."""


def talk(
    split: str, size: int | None, seed: int = 1, *, min_length: int = 2, max_length: int = 14
) -> Iterator[Example]:
    """Generate dialogues: turns the history, target the reply, links gold. `size` None never ends.

    A sure link joins a word of the reply to the turn that stated it last, a possible link joins it to another mention
    of the same fact. Other words of the reply have no link.

    Lengths count turns, with the reply, and are uniformly distributed. The same arguments give the same dialogues, and
    a larger size only appends to them. Splits share no dialogue and no invented name, whatever the seeds and lengths.
    """
    writer = partial(_writer, split)
    return stream("talk", writer, split, size, seed, min_length, max_length, bounds=TURNS, slack=0, unit="turns")


def _writer(split: str, dice: Dice) -> Callable[[int], Dialogue | None]:
    return TalkWriter(split, dice)
