"""Traces of long sources made by hand: a summary that copies, an answer within a passage, a reply in a dialogue."""

import numpy as np

from helpers.traces import COARSE, FINE, rows, side, steps, translation
from saccade.trace import Side, Site, pack

SUMMARY = ["storm", "hits", "Junustad"]
QUESTION = ["where", "is", "the", "bag", "?"]
SAID = ["hello , I am ant .", "hello ant .", "what is my name ?"]
REPLY = ["you", "are", "ant"]


def site(name, sides, looks, seen, scores):
    weights = rows(np.asarray(scores, float))[None]
    assert weights.shape[1:] == (len(sides[looks].tokens), len(sides[seen].tokens))
    packed = pack(weights, FINE, low=0, high=1)
    facts = {"score": "dot", "align": "softmax", "formula": "q·k", "heads": 1, "weights": packed}
    return Site(name=name, rows=looks, columns=seen, scores=pack(np.log(weights + 1e-9), COARSE), **facts)


def looking(shape, places, height=6.0):
    """Scores of rows that attend to one place each."""
    scores = np.zeros(shape)
    scores[np.arange(shape[0]), places] = height
    return scores


def made(name, task, text, sides, sites, **changes):
    found = {
        "beams": None,
        "vectors": {},
        "gold": None,
        "options": {},
        "steps": steps(sides["target"].tokens),
    } | changes
    return translation(name, task=task, text=text, sides=sides, sites=sites, **found)


def summary(name="short", count=300):
    """A long text, of which one word near the end and one near the beginning were copied."""
    words = [f"word{number}" for number in range(count)]
    words[3], words[count - 5] = "storm", "Junustad"
    sides = {"source": side(words), "target": side(SUMMARY)}
    places = [3, 40, count - 5, count]
    written = steps(sides["target"].tokens)
    copies = [[(3, 0.9)], [], [(count - 5, 0.8), (20, 0.1)], []]
    written = [step.model_copy(update={"copies": own}) for step, own in zip(written, copies, strict=True)]
    sites = [site("attention", sides, "target", "source", looking((4, count + 1), places, 9.0))]
    return made(name, "summarization", " ".join(SUMMARY), sides, sites, steps=written)


def answer(name="reader", first=7, last=8):
    """The question is answered by words 7 and 8 of 40; the words 20 to 21 are the next best."""
    words = [f"place{number}" for number in range(40)]
    sides = {
        "source": side(words),
        "question": side(QUESTION),
        "target": Side(text="", tokens=[words[first], words[last]], words=[words[first], words[last]], word_of=[0, 1]),
        "summary": Side(text="all", tokens=["all"], words=["all"], word_of=[0]),
    }
    ends = looking((2, 41), [first, last])
    ends[[0, 1], [20, 21]] = 5.0
    logs = np.log(rows(ends))
    own = [
        {"token": token, "text": words[token], "log_probability": float(log[token]), "candidates": [
            (int(place), words[place], float(log[place])) for place in np.argsort(-log)[:4]]}
        for token, log in zip((first, last), logs, strict=True)
    ]  # fmt: skip
    pointed = [step.model_copy(update=update) for step, update in zip(steps(["", ""]), own, strict=True)]
    sites = [
        site("answer", sides, "target", "source", ends),
        site("words", sides, "question", "source", looking((6, 41), [0, 1, 2, 30, 4, 5])),
        site("summary", sides, "summary", "question", looking((1, 6), [3])),
    ]
    return made(name, "questions", f"{words[first]} {words[last]}", sides, sites, steps=pointed)


def dialogue(turns=SAID, name="talker"):
    """A reply whose words attend to the second turn, the first and the last."""
    tokens, words, word_of, turn_of = [], [], [], []
    split = [turn.split() for turn in turns]
    total = sum(map(len, split))
    for number, turn in enumerate(split):
        tokens += ["<eos>" if (len(turns) - number) % 2 == 0 else "<bos>", *turn]
        word_of += [total, *range(len(words), len(words) + len(turn))]
        turn_of += [number] * (len(turn) + 1)
        words += turn
    marks = [place for place, word in enumerate(word_of) if word == total] + [len(tokens)]
    source = Side(
        text=" ".join(turns),
        tokens=[*tokens, "<eos>"],
        words=words,
        word_of=[*word_of, total],
        turn_of=[*turn_of, len(turns)],
        marks=marks,
    )
    sides = {"source": source, "target": side(REPLY)}
    first = [turn_of.index(min(turn, len(turns) - 1)) + 1 for turn in (1, 0, 2, 2)]
    sites = [site("attention", sides, "target", "source", looking((4, len(tokens) + 1), first))]
    return made(name, "chat", " ".join(REPLY), sides, sites)


def reply(trace, asked, _kept=()):
    """The answer of a server to the turns of a request."""
    return dialogue(asked["input"]["turns"], trace.model.name)
