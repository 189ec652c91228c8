"""stories: every answer follows from the story by a few rules, and from its evidence alone."""

import re
from collections import Counter
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.corpora import CORPORA
from saccade.corpora.stories import BOUNDS, stories
from saccade.corpora.stories.asking import askings
from saccade.corpora.stories.world import BOXES, PEOPLE, PLACES, THINGS, Fact, World
from saccade.corpora.stream import Dice
from saccade.data.example import Example
from saccade.data.forms import QUESTIONS
from saccade.data.question_features import token_spans
from saccade.data.tokenizer import Tokenizer, TokenizerConfig
from saccade.errors import ConfigError

RULES = [  # what a sentence says: (who or what) is (where)
    r"(?:Then )?(?P<name>[A-Z]\w+) (?:went|walked|moved) (?:in)?to the (?P<at>[\w ]+)\.",
    r"(?P<at>[A-Z]\w+) (?:took|picked up|grabbed) the (?P<name>[\w ]+)\.",
    r"\w+ (?:left|put) the (?P<name>\w+) (?:down )?in the (?P<at>[\w ]+)\.",
    r"\w+ (?:gave|handed) the (?P<name>\w+) to (?P<at>[A-Z]\w+)\.",
    r"\w+ (?:put|hid) the (?P<name>\w+) in(?:to)? the (?P<at>\w+)\.",
]


@cache
def corpus(split="train", size=600, low=40, high=120, seed=1, unanswerable=0.0):
    return list(stories(split, size, seed, min_length=low, max_length=high, unanswerable=unanswerable))


def sentences_of(text):
    return re.findall(r"[^.]+\.", text)


def solved(sentences, question):
    """The answer to a question, by rules, and the numbers of the sentences that it follows from."""
    known = {}
    for number, sentence in enumerate(sentences):
        for rule in RULES:
            if found := re.fullmatch(rule, sentence.strip()):
                known[found["name"]] = (found["at"], number)
                break
    name = re.search(r"(?:is|find|has|carries) (?:the )?(\w+)\?", question)[1]
    wanted = PEOPLE if question.startswith("Who") else PLACES
    used = []
    while name in known:
        name, number = known[name]
        used.append(number)
        if name in wanted:
            return name, used
    return "", []


@pytest.mark.parametrize(
    ("split", "low", "high", "unanswerable"),
    [("train", 40, 120, 0.0), ("test", 40, 120, 0.3), ("valid", 30, 40, 0.0), ("test", 250, 320, 0.2)],
)
def test_rules_answer_every_question_from_the_story_alone(split, low, high, unanswerable):
    for example in corpus(split, 300, low, high, unanswerable=unanswerable):
        sentences = sentences_of(example.source)
        answer, used = solved(sentences, example.question)
        assert answer == example.target, (example.source, example.question)
        evidence = [example.source[begin:end] for begin, end in example.evidence]
        assert evidence == [sentences[number].strip() for number in used]


def test_the_evidence_alone_gives_the_answer_and_without_any_of_it_something_is_missing():
    for example in corpus():
        evidence = [example.source[begin:end] for begin, end in example.evidence]
        in_order = sorted(range(len(evidence)), key=lambda place: example.evidence[place])
        assert solved([evidence[place] for place in in_order], example.question)[0] == example.target
        for left_out in evidence:
            rest = [evidence[place] for place in in_order if evidence[place] != left_out]
            assert solved(rest, example.question)[0] == ""


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["train", "valid", "test"]), st.sampled_from([(30, 50), (150, 320)]))
def test_the_answer_is_in_the_last_sentence_of_the_evidence(seed, split, lengths):
    for example in stories(split, 20, seed, min_length=lengths[0], max_length=lengths[1]):
        ((begin, end),) = example.spans
        first, last = example.evidence[-1]
        assert example.references == (example.target,) == (example.source[begin:end],)
        assert first <= begin < end < last + 1
        for first, last in example.evidence:
            assert example.source[first].isupper()
            assert example.source[last - 1] == "."
            assert "." not in example.source[first : last - 1]


def test_one_two_and_three_facts_are_equally_frequent_and_so_are_unanswerable_ones_if_asked_for():
    counts = Counter(len(example.evidence) for example in corpus())
    assert set(counts) == {1, 2, 3}
    assert min(counts.values()) > 150
    half = corpus(size=400, unanswerable=0.5)
    without = [example for example in half if not example.target]
    assert 160 < len(without) < 240
    assert {(example.references, example.spans, example.evidence) for example in without} == {((), (), ())}


def test_a_question_does_not_show_how_many_facts_it_takes():
    facts = {}
    for example in corpus(size=1500):
        kind = re.sub(r"the (\w+)", lambda found: "BOX" if found[1] in BOXES else "THING", example.question)
        facts.setdefault(kind, set()).add(len(example.evidence))
    assert facts["Where is THING?"] == facts["Where would you find THING?"] == {1, 2, 3}
    assert facts["Who has THING?"] == facts["Where is BOX?"] == {1, 2}


def test_guessing_a_name_of_the_right_kind_is_seldom_right():
    """The answer is usually neither the last nor the most frequent place of a story."""
    last = common = count = 0
    for example in corpus():
        if example.question.startswith("Where"):
            places = re.findall("|".join(PLACES), example.source)
            count += 1
            last += places[-1] == example.target
            common += Counter(places).most_common(1)[0][0] == example.target
    assert last < 0.5 * count
    assert common < 0.5 * count


def test_splits_share_no_story():
    splits = {split: corpus(split, 1500 if split == "train" else 300) for split in ("train", "valid", "test")}
    splits["test"] = splits["test"] + list(stories("test", 100, 7, min_length=30, max_length=60))
    for one, other in (("train", "valid"), ("train", "test"), ("valid", "test")):
        assert not {e.source for e in splits[one]} & {e.source for e in splits[other]}


def test_the_same_arguments_give_the_same_stories():
    assert list(stories("train", 30, 3)) == list(stories("train", 30, 3))
    assert list(stories("train", 30, 3)) != list(stories("train", 30, 4))
    assert list(stories("valid", 20)) == list(stories("valid", 30))[:20]


@pytest.mark.parametrize(("low", "high"), [(40, 120), (30, 30), (300, 320)])
def test_lengths_stay_in_bounds_and_stories_have_5_to_60_sentences(low, high):
    for example in corpus(size=100, low=low, high=high):
        assert low <= len(example.source.split()) <= high
        assert 5 <= len(sentences_of(example.source)) <= 60


def test_all_words_occur():
    text = " ".join(example.source for example in corpus(size=1500))
    for name in (*PEOPLE, *PLACES, *THINGS, *BOXES):
        assert name in text
    assert len({*PEOPLE, *PLACES, *THINGS, *BOXES}) == 34


def test_evidence_and_answers_are_edges_of_tokens():
    examples = corpus()
    tokenizer = Tokenizer.train(TokenizerConfig(kind="word"), [example.source for example in examples])
    for example in examples[:200]:
        (offsets,) = tokenizer.offsets([example.source])
        for begin, end in (*example.spans, *example.evidence):
            ((first, last),) = token_spans(offsets, [(begin, end)])
            assert (offsets[first][0], offsets[last][1]) == (begin, end)


def world(**facts):
    """A world with facts in the order of their sentences."""
    made = World(Dice("any"), 100)
    made.people, made.places, made.boxes = ["Mary", "John"], ["garden", "office"], ["bag"]
    made.things = ["lamp", "bag"]
    made.facts = {name: Fact(at, number) for number, (name, at) in enumerate(facts.items())}
    return made


def test_questions_by_hand():
    asked = {asking.wordings[0]: asking for asking in askings(world(Mary="garden", bag="Mary", lamp="bag"))}
    assert asked["Where is the lamp?"][1:] == ("garden", (2, 1, 0))
    assert asked["Who has the lamp?"][1:] == ("Mary", (2, 1))
    assert asked["Who has the bag?"][1:] == ("Mary", (1,))
    assert asked["Where is Mary?"][1:] == ("garden", (0,))
    assert asked["Where is John?"][1:] == (None, ())
    asked = {asking.wordings[0]: asking for asking in askings(world(bag="office", lamp="John"))}
    assert asked["Where is the bag?"][1:] == ("office", (0,))
    assert asked["Who has the bag?"].answer is None
    assert asked["Where is the lamp?"].answer is None
    assert asked["Who has the lamp?"][1:] == ("John", (1,))


def test_places_by_hand():
    made = world(Mary="garden", bag="Mary", lamp="bag")
    assert [made.place_of(name) for name in ("Mary", "bag", "lamp", "John")] == ["garden", "garden", "garden", None]
    assert made.chain("lamp") == [Fact("bag", 2), Fact("Mary", 1), Fact("garden", 0)]
    assert world(lamp="John").place_of("lamp") is None


@pytest.mark.parametrize("length", [40, 300])
def test_nothing_happens_that_cannot(length):
    """People take and give only what is at hand, and no box contains itself."""
    for seed in range(60):
        made = World(Dice(f"{seed}"), length)
        for _ in range(50):
            before = dict(made.facts)
            made.happen()
            changed = [name for name in made.facts if made.facts[name] != before.get(name)]
            assert len(changed) <= 1
            for name in changed:
                at = made.facts[name].at
                assert made.facts[name].sentence == len(made.sentences) - 1
                old = World.place_of(_with(made, before), name)
                made_place = made.place_of(name)
                if name in made.things and old is not None:
                    assert made_place == old, "things move only with people"
                assert name != at
                assert (at in made.places) if name in made.people else True


def _with(made, facts):
    other = World(Dice("any"), 40)
    other.people, other.places, other.boxes, other.things = made.people, made.places, made.boxes, made.things
    other.facts = facts
    return other


def test_the_corpus_is_written_and_read_back_with_its_evidence(tmp_path):
    examples = corpus(size=50, unanswerable=0.2)
    paths = QUESTIONS.write(examples, tmp_path, "text", CORPORA["stories"].sides)
    assert [path.name for path in paths] == [*CORPORA["stories"].files]
    assert list(QUESTIONS.read(paths)) == examples
    assert any(example.evidence for example in examples)


def test_other_lengths_are_refused():
    with pytest.raises(ConfigError, match="stories: lengths 3 to 20 are asked for, but its texts have 30 to 320 words"):
        stories("train", 1, min_length=3, max_length=20)


def test_the_table_lists_the_corpus():
    entry = CORPORA["stories"]
    assert (entry.generate, entry.bounds, entry.task) == (stories, BOUNDS, "questions")
    for asked in entry.examples:
        assert set(asked) == {"question", "passage"}
        answer, used = solved(sentences_of(asked["passage"]), asked["question"])
        assert answer
        assert used
    assert {len(solved(sentences_of(e["passage"]), e["question"])[1]) for e in entry.examples} == {1, 2, 3}
    assert isinstance(corpus()[0], Example)
