"""Questions about a world, with answers and evidence."""

from __future__ import annotations

from typing import NamedTuple

from saccade.corpora.stories.world import World

__all__ = ["MOST_FACTS", "Asking", "askings"]

MOST_FACTS = 3
"""Maximum facts that an answer follows from."""
_WHERE = ("Where is {name}?", "Where would you find {name}?")
_WHO = ("Who has {name}?", "Who carries {name}?")


class Asking(NamedTuple):
    """A question, its answer, and the numbers of the sentences that it follows from, in the order of reasoning.

    Without an answer in the story, `answer` is None and there are no sentences.
    """

    wordings: tuple[str, ...]
    answer: str | None
    sentences: tuple[int, ...] = ()


def askings(world: World) -> list[Asking]:
    """Return all questions about where the people and things are, and about who has the things."""
    found = []
    for name in (*world.people, *world.things):
        chain = world.chain(name)
        ends = [fact.at for fact in chain]
        called = name if name in world.people else f"the {name}"
        holder = next((place for place, at in enumerate(ends) if at in world.people), None)
        place = len(ends) - 1 if ends and ends[-1] in world.places else None
        kinds = [(_WHERE, place)] if name in world.people else [(_WHERE, place), (_WHO, holder)]
        for wordings, last in kinds:
            asked = tuple(wording.format(name=called) for wording in wordings)
            if last is not None:
                found.append(Asking(asked, ends[last], tuple(fact.sentence for fact in chain[: last + 1])))
            elif name in world.things or chain == []:
                found.append(Asking(asked, None))
    return found
