"""articles: reports of events, and headlines whose every name and number has to be copied."""

import re
from collections import Counter
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.corpora import CORPORA
from saccade.corpora.articles import BOUNDS, articles
from saccade.corpora.articles.draft import _Sentence, _written
from saccade.corpora.articles.events import EVENTS, GENERAL, OPENINGS
from saccade.corpora.articles.facts import Notes, Person
from saccade.corpora.articles.names import Names
from saccade.corpora.articles.script import Slot, line, script
from saccade.corpora.stream import Dice
from saccade.data.tokenizer import Tokenizer, TokenizerConfig
from saccade.errors import ConfigError

# Capitalized words of facts that are no invented names.
KNOWN = {
    *("Storm", "Cup", "Prize", "Museum", "League", "Alliance", "Movement"),
    *("Rovers", "United", "City", "Rangers", "Wanderers", "Athletic"),
}
MAYOR = Person("Mayor", "Dolena", "Kelvard")


@cache
def corpus(split="train", size=1500, low=60, high=160, seed=1):
    return list(articles(split, size, seed, min_length=low, max_length=high))


def cut(example):
    return example.source.split(), example.target.split()


def names_of(examples):
    """The invented names in headlines: linked words with a capital letter."""
    found = set()
    for example in examples:
        words = example.target.split()
        found |= {words[place] for _, place in example.links.sure if words[place][0].isupper()}
    return found - KNOWN


# --- by hand


def text(sentences):
    return " ".join(word.text for word in _written(sentences))


def test_a_person_is_introduced_once():
    facts = {"who": MAYOR}
    lines = [line("the ribbon was cut by {who} ."), line('" Finally , " said {who} .'), line("{who} left .")]
    assert text([_Sentence(words, facts) for words in lines]) == (
        'The ribbon was cut by Mayor Dolena Kelvard . " Finally , " said Kelvard . Kelvard left .'
    )


def test_a_role_begins_a_sentence_with_a_capital_letter():
    singer = Person("rock star", "Dolena", "Kelvard")
    assert text([_Sentence(line("{who} sang ."), {"who": singer})]) == "Rock star Dolena Kelvard sang ."
    assert Person("", "Dolena", "Kelvard").introduction == "Dolena Kelvard"


def test_scripts_are_statements_with_wordings():
    assert script("\nIt was {cost} .\nIt cost {cost} .\n\n{who.last} left .\n") == (
        (("It", "was", Slot("cost", ""), "."), ("It", "cost", Slot("cost", ""), ".")),
        ((Slot("who", "last"), "left", "."),),
    )


def test_facts_are_never_alike():
    notes = Notes("train", Dice("any"))
    assert len({notes.number(2, 12) for _ in range(11)}) == 11
    assert len({notes.day() for _ in range(7)}) == 7
    assert notes.number(20, 20, 1000) == "20,000"
    assert {Notes("train", Dice(str(seed))).score(1, 1) for seed in range(5)} == {"1-0"}
    assert Notes("train", Dice("any")).level() in {"0-0", "1-1", "2-2", "3-3", "4-4"}


def test_names_sound_like_what_they_name():
    names = Names("train", Dice("any"))
    assert re.fullmatch(r"[A-Z][a-z]+(ford|stad|mouth|ville|berg|holm|wick|port|minster|dale)", names.place())
    for draw in (names.first, names.last, names.place, names.firm, names.thing):
        assert all(re.fullmatch(r"[^AEIOU][a-z]{3,15}", draw()) for _ in range(200))


def test_hardly_any_name_comes_twice():
    names = Names("train", Dice("any"))
    for draw, least in ((names.first, 9_700), (names.last, 9_900), (names.place, 9_900), (names.firm, 9_900)):
        assert len({draw() for _ in range(10_000)}) > least


def slots(words):
    return {word.fact for word in words if isinstance(word, Slot)}


@pytest.mark.parametrize("kind", EVENTS)
def test_whatever_the_wordings_the_article_states_all_of_the_headline(kind):
    for news in kind.news:
        for wording in news.statement:
            for lead in kind.lead:
                assert slots(news.headline) <= slots(wording) | slots(lead), (news.headline, wording, lead)
    assert len({news.headline for news in kind.news}) == len(kind.news) >= 3


@pytest.mark.parametrize("kind", EVENTS)
def test_every_slot_has_a_fact(kind):
    facts = kind.facts(Notes("train", Dice("any")))
    statements = [kind.lead, *(news.statement for news in kind.news), *kind.more, *GENERAL, *OPENINGS]
    needed = {fact for statement in statements for wording in statement for fact in slots(wording)}
    assert needed - {"new"} <= facts.keys()
    assert facts.keys() - {"place", "day"} <= needed
    assert len({statement[0] for statement in statements}) == len(statements)


# --- what was generated


def test_the_same_arguments_give_the_same_articles():
    assert list(articles("train", 30, 3)) == list(articles("train", 30, 3))
    assert list(articles("train", 30, 3)) != list(articles("train", 30, 4))
    assert list(articles("valid", 20)) == list(articles("valid", 30))[:20]


@cache
def pattern(wording):
    """A regular expression that finds a sentence and its facts."""
    words, known = [], set()
    for word in wording:
        if isinstance(word, str):
            words.append(re.escape(word))
        elif word.fact in known:
            words.append(f"(?P={word.fact})")
        else:
            value = r"\d-\d" if word.fact == "score" else r"\w[\w,-]*(?: \w[\w,-]*)*?"
            words.append(f"(?P<{word.fact}>{value})")
            known.add(word.fact)
    return re.compile(rf"(?:^|(?<= [.] )|(?<= [.] \" )){' '.join(words)}(?= |$)")


def stated(statement, article):
    """The facts of the wording that the article has, or None."""
    found = (pattern(wording).search(article) for wording in statement)
    return next((match.groupdict() for match in found if match), None)


def headline_of(article):
    """The headline, found by rules alone."""
    for kind in EVENTS:
        facts = stated(kind.lead, article)
        if facts is not None:
            for news in kind.news:
                more = stated(news.statement, article)
                if more is not None:
                    filled = (facts | {name: value for name, value in more.items() if name not in facts}).get
                    words = [word if isinstance(word, str) else filled(word.fact) for word in news.headline]
                    parts = [isinstance(word, Slot) and word.part == "last" for word in news.headline]
                    last = [word.split()[-1] if part else word for word, part in zip(words, parts, strict=True)]
                    return " ".join(last)
    return None


@pytest.mark.parametrize("split", ["train", "test"])
def test_the_headline_follows_from_the_article(split):
    for example in [*corpus(split, 400), *corpus(split, 100, 200, 300)]:
        assert headline_of(example.source) == example.target, example.source


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["train", "valid", "test"]), st.sampled_from([(60, 90), (150, 300)]))
def test_links_join_equal_words(seed, split, lengths):
    for example in articles(split, 20, seed, min_length=lengths[0], max_length=lengths[1]):
        source, target = cut(example)
        assert all(source[i] == target[j] for i, j in example.links.possible)
        assert len({j for _, j in example.links.sure}) == len(example.links.sure) >= 3  # one place for each word


def test_names_and_numbers_of_a_headline_have_links_to_wherever_they_occur():
    for example in corpus():
        source, target = cut(example)
        linked = {j for _, j in example.links.sure}
        for j, word in enumerate(target):
            if j in linked and word not in KNOWN and (word[0].isupper() or word[0].isdigit()):
                assert {(i, j) for i, other in enumerate(source) if other == word} <= example.links.possible
            if word[0].isdigit():
                assert j in linked


def test_headlines_have_no_other_words_than_those_of_their_patterns():
    patterns = {word for kind in EVENTS for news in kind.news for word in news.headline if isinstance(word, str)}
    for example in corpus():
        linked = {j for _, j in example.links.sure}
        words = enumerate(example.target.split())
        assert {word for j, word in words if j not in linked} <= patterns | {"an"}


def test_every_headline_can_be_written():
    known = {word for kind in EVENTS for news in kind.news for word in news.headline if isinstance(word, str)}
    patterns = Counter(
        " ".join(word if word in known else "_" for word in example.target.split()) for example in corpus(size=3000)
    )
    assert sum(count > 10 for count in patterns.values()) >= sum(len(kind.news) for kind in EVENTS) - 5


def test_splits_share_no_headline_and_no_name():
    splits = {split: corpus(split, 1500 if split == "train" else 300) for split in ("train", "valid", "test")}
    splits["test"] = splits["test"] + list(articles("test", 100, 7, min_length=100, max_length=300))
    for one, other in (("train", "valid"), ("train", "test"), ("valid", "test")):
        assert not {e.target for e in splits[one]} & {e.target for e in splits[other]}
        assert not names_of(splits[one]) & names_of(splits[other])


def test_names_of_a_test_were_never_seen_in_training():
    """Names of test headlines occur in no training article, although articles mention many names."""
    seen = {word for example in corpus(size=3000) for word in example.source.split()}
    names = names_of(corpus("test", 400))
    assert len(names) > 400
    assert sum(name not in seen for name in names) >= 0.98 * len(names)


def test_most_names_of_training_occur_in_one_article():
    counts = Counter(word for example in corpus(size=3000) for word in set(example.source.split()))
    names = names_of(corpus(size=3000))
    assert sum(counts[name] == 1 for name in names) > 0.95 * len(names)


def test_the_headline_is_seldom_found_in_the_first_sentence():
    """Copying the lead sentence is not enough."""
    inside = 0
    for example in corpus():
        source, target = cut(example)
        lead = source[: source.index(".")]
        inside += {target[j] for _, j in example.links.sure} <= set(lead)
    assert inside < 0.1 * len(corpus())


@pytest.mark.parametrize(("low", "high"), [(60, 160), (60, 60), (250, 300)])
def test_lengths_stay_in_bounds_and_are_spread(low, high):
    lengths = [len(example.source.split()) for example in corpus(size=300, low=low, high=high)]
    assert low <= min(lengths) <= low + 6
    assert high - 6 <= max(lengths) <= high
    assert abs(sum(lengths) / len(lengths) - (low + high) / 2) < 8


def test_articles_have_five_sentences_or_more():
    for low, high in ((60, 61), (280, 300)):
        for example in corpus(size=200, low=low, high=high):
            assert 5 <= len(re.findall(r"[.?](?= [A-Z\"]| \d|$)", example.source)) <= 32


def test_english_is_written_as_it_must():
    for example in [*corpus(), *corpus("test", 200, 200, 300)]:
        for written in (example.source, example.target):
            assert not re.search(r"\ba [aeiouAEIO]", written), written
            assert not re.search(r"\ban (?!hour|[aeiou])", written), written
            assert not re.search(r"[{}]|  |\bnew\.", written), written
            assert not re.search(r"\S[.,:\"](?= |$)", written), written  # punctuation marks are words
        for opening in re.findall(r"(?:^|[.] )([^ .\"])", example.source):
            assert opening.isupper(), example.source
        assert re.match(r"[A-Z0-9]", example.target)
        assert example.source.count('"') % 2 == 0


def test_words_survive_the_tokenizer():
    examples = corpus(size=300)
    texts = [text for example in examples for text in (example.source, example.target)]
    tokenizer = Tokenizer.train(TokenizerConfig(kind="word"), texts)
    for written in texts:
        assert tokenizer.decode(tokenizer.encode(written).tokens) == written
        assert len(tokenizer.encode(written).tokens) == len(written.split())


def test_a_name_that_is_an_ordinary_word_is_rare():
    counts = Counter(word for example in corpus(size=3000) for word in example.source.split())
    words = {word for word in counts if word.islower()}
    assert sum(name.lower() in words for name in names_of(corpus(size=3000))) < 5


def test_lengths_of_sentences_are_refused():
    with pytest.raises(
        ConfigError, match="articles: lengths 3 to 20 are asked for, but its texts have 60 to 300 words"
    ):
        articles("train", 1, min_length=3, max_length=20)


def test_the_table_lists_the_corpus():
    corpus = CORPORA["articles"]
    assert corpus.generate is articles
    assert (corpus.sides, corpus.bounds) == (("article", "headline"), BOUNDS)
    assert corpus.about.endswith(".")
    for example in corpus.examples:
        assert BOUNDS[0] <= len(example.split()) <= BOUNDS[1]
