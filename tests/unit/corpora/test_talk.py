"""talk: dialogues whose replies follow from their history, with gold links to the turn that stated it."""

import json
import re
from collections import Counter
from functools import cache

import pytest

from helpers.commands import run
from saccade.corpora import CORPORA
from saccade.corpora.stream import Dice
from saccade.corpora.talk import TURNS, talk
from saccade.corpora.talk.topics import LOOKED_UP, OWN_NAME, SMALL_TALK, TOPICS
from saccade.corpora.talk.writer import TalkWriter
from saccade.data.forms import DIALOGUES
from saccade.errors import ConfigError

SPLITS = ("train", "valid", "test")


@cache
def corpus(split="train", size=1200, low=2, high=14, seed=1):
    return list(talk(split, size, seed, min_length=low, max_length=high))


def pattern(wording, thing):
    text = re.escape(wording).replace(r"\{thing\}", thing).replace(r"\{value\}", r"(?P<value>\S+)")
    return re.compile(text)


def rules():
    """(speaker, regular expression, topic) of every fact that can be stated."""
    found = []
    for topic in TOPICS:
        for thing in topic.things:
            for text, _ in topic.tell:
                found.append((0, pattern(text, thing), (topic, thing)))
    found += [(1, pattern(text, "own name"), (OWN_NAME, "own name")) for text, _ in OWN_NAME.tell]
    found += [
        (1, pattern(reply, thing), (LOOKED_UP, thing)) for thing in LOOKED_UP.things for _, reply in LOOKED_UP.tell
    ]
    return found


def questions():
    return {
        ask.replace("{thing}", thing): (topic, thing)
        for topic in (*TOPICS, OWN_NAME, LOOKED_UP)
        for thing in topic.things
        for ask in topic.ask
    }


RULES, QUESTIONS = rules(), questions()


def replied(turns):
    """The reply that the rules alone give to a history."""
    told = {}
    for number, turn in enumerate(turns):
        speaker = (len(turns) - 1 - number) % 2  # 0: the user
        turn = turn.removeprefix("No , wait . ")
        for who, expression, key in RULES:
            if who == speaker and (match := expression.fullmatch(turn)):
                told[key] = match["value"]
    if turns[-1] in QUESTIONS:
        topic, thing = key = QUESTIONS[turns[-1]]
        return (topic.answer if key in told else topic.unknown).format(thing=thing, value=told.get(key, ""))
    small = dict(SMALL_TALK)
    if turns[-1] in small:
        return small[turns[-1]]
    for topic in TOPICS:
        for thing in topic.things:
            for text, reply in topic.tell:
                if match := pattern(text, thing).fullmatch(turns[-1].removeprefix("No , wait . ")):
                    return reply.format(value=match["value"], thing=thing)
    raise AssertionError(turns[-1])


@pytest.mark.parametrize("split", SPLITS)
def test_rules_alone_give_every_reply(split):
    for example in corpus(split, 500):
        assert replied(example.turns) == example.target


def test_the_rules_need_the_marks_of_speakers():
    """The same words mean another name if the other speaker said them."""
    turns = ("Hello , I am Kremo .", "I am Tulna .", "Hello Tulna , how are you ?", "What is my name ?")
    assert replied(turns) == "Your name is Tulna ."
    assert replied((*turns[:-1], "Who are you ?")) == "My name is Kremo ."


def test_links_join_equal_words_and_the_sure_one_is_told_last():
    linked = 0
    for example in corpus():
        words = [word for turn in example.turns for word in turn.split()]
        reply = example.target.split()
        for source, target in example.links.possible:
            assert words[source] == reply[target]
        targets = {target for _, target in example.links.possible}
        assert Counter(target for _, target in example.links.sure) == Counter(targets), "one sure link each"
        linked += bool(targets)
        values = {word for word in reply if re.fullmatch(r"\d+|\d+:\d\d", word)}
        assert all(reply.index(value) in targets for value in values), "every number is linked"
    assert 0.5 < linked / len(corpus()) < 0.9


def test_a_correction_counts():
    corrected = [each for each in corpus(size=3000) if any(turn.startswith("No , wait .") for turn in each.turns[:-1])]
    assert len(corrected) > 100
    starts = [
        source >= len(" ".join(each.turns[:place]).split())
        for each in corrected
        for source, target in each.links.sure
        for place, turn in enumerate(each.turns)
        if turn.startswith("No , wait .") and each.target.split()[target] in turn.split()
    ]
    assert starts
    assert all(starts), "the link is to the correction or later"


def test_lengths_are_uniform_and_answers_are_far_back():
    lengths = Counter(len(example.turns) + 1 for example in corpus(size=2600))
    assert lengths.keys() == {*range(TURNS[0], TURNS[1] + 1)}
    assert all(140 < count < 260 for count in lengths.values())
    far = Counter()
    for example in corpus(size=2600):
        turn_of = [number for number, turn in enumerate(example.turns) for _ in turn.split()]
        far.update(len(example.turns) - turn_of[source] for source, _ in example.links.sure)
    assert all(far[distance] > 30 for distance in range(1, 13, 2)), "facts of the user"
    assert all(far[distance] > 6 for distance in range(2, 14, 2)), "facts of the model"


def test_splits_share_no_dialogue_and_no_invented_name():
    def names(split):
        capitals = {word for each in corpus(split) for turn in each.turns for word in turn.split() if word[0].isupper()}
        return {word for word in capitals if len(word) > 5} - KNOWN

    whole = {split: {(*each.turns, each.target) for each in corpus(split)} for split in SPLITS}
    for one, other in (("train", "valid"), ("train", "test"), ("valid", "test")):
        assert not whole[one] & whole[other]
        assert not names(one) & names(other)
    assert len(names("train")) > 500


KNOWN = {"Please", "Street", "Nothing"}


def test_more_only_appends_and_seeds_differ():
    assert corpus(size=50) == corpus(size=400)[:50]
    assert corpus(size=50) != corpus(size=50, seed=2)
    assert {len(each.turns) for each in corpus(size=50, low=5, high=5)} == {4}
    with pytest.raises(ConfigError, match="its texts have 2 to 14 turns"):
        talk("train", 1, min_length=1)


def test_a_dialogue_is_drawn_for_every_length():
    for length in range(TURNS[0], TURNS[1] + 1):
        assert TalkWriter("train", Dice("any"))(length).length == length


def test_written_files_are_read_back(capsys, tmp_path):
    ran = run(capsys, "data", "talk", "--out", tmp_path, "--size", 40, "--held-out", 10)
    assert ran.code == 0
    assert list(DIALOGUES.read([tmp_path / "train.jsonl"])) == corpus(size=40)
    assert list(DIALOGUES.read([tmp_path / "test.jsonl"])) == corpus("test", size=10)


def test_printed_dialogues_have_a_turn_in_each_column(capsys):
    out = run(capsys, "data", "talk", "--size", 3).out.rstrip("\n").split("\n")
    for line, example in zip(out, corpus(size=3), strict=True):
        assert tuple(line.split("\t")) == (*example.turns, example.target, str(example.links))


def test_its_examples_follow_the_rules():
    for text in CORPORA["talk"].examples:
        assert replied(json.loads(text)["turns"])
