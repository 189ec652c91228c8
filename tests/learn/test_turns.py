"""Which word followed this one in one of the turns before: a hierarchical model points at the turn and at its word."""

import random
from collections.abc import Iterator

from helpers.learning import FIRST, teach, token_accuracy
from saccade.attention import Tape
from saccade.batch import BOS, EOS, Batch
from saccade.models import build_seq2seq

WORDS, TURNS = 12, 4


def dialogues(seed: int, size: int) -> Iterator[Batch]:
    """Turns with two words each, and a last turn with the first word of one of them; the reply is the second."""
    chance = random.Random(seed)
    while True:
        sources, targets = [], []
        for _ in range(size):
            turns = [chance.sample(range(FIRST, FIRST + WORDS), 2)]
            while len(turns) < TURNS:
                turn = chance.sample(range(FIRST, FIRST + WORDS), 2)
                if turn[0] not in {first for first, _ in turns}:
                    turns.append(turn)
            asked = chance.randrange(TURNS)
            marks = [(BOS, EOS)[number % 2] for number in range(TURNS)]
            said = [word for mark, turn in zip(marks, turns, strict=True) for word in (mark, *turn)]
            sources.append([*said, BOS, turns[asked][0], EOS])
            targets.append([turns[asked][1]])
        yield Batch.from_lists(sources, targets)


def test_it_learns_to_recall_a_word_of_an_earlier_turn_and_points_at_it():
    settings = {
        "embedding": 32,
        "encoder": {"width": 32},
        "turns": {"width": 32},
        "decoder": {"width": 48},
        "init": {"kind": "default", "embedding": 1.0},
    }
    model = build_seq2seq("hred-attention", FIRST + WORDS, FIRST + WORDS, **settings)
    teach(model, dialogues(1, 64), steps=800, goal=0.02)
    unseen, tape = next(dialogues(2, 200)), Tape(detach=True)
    assert token_accuracy(model, unseen) >= 0.97
    model(unseen, tape=tape)
    weights = tape["attention"][:, 0, 0]
    answers = unseen.source == unseen.target[:, 1:2]
    assert (weights * answers).sum(-1).mean() > 0.8
