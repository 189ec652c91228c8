"""CIDEr-D: a worked example, a slow reference, and given document frequencies."""

from collections import Counter
from math import e, log, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.errors import ConfigError, DataError
from saccade.metrics import DocumentFrequency, cider_d, document_frequency

captions = st.lists(st.sampled_from("abcde"), max_size=7).map(" ".join)
images = st.lists(st.tuples(captions, st.lists(captions, min_size=1, max_size=3)), min_size=1, max_size=4)


def slow_cider_d(hypotheses, references):
    """The paper's formulas over the whole vocabulary of n-grams, with the plain counts of its authors' program."""
    split = [[reference.split() for reference in texts] for texts in references]

    def count(run, words):
        return sum(words[i : i + len(run)] == list(run) for i in range(len(words)))

    values = []
    for caption, own in zip((h.split() for h in hypotheses), split, strict=True):
        total = 0.0
        for n in (1, 2, 3, 4):
            texts = [caption, *(words for image in split for words in image)]
            vocabulary = sorted({tuple(words[i : i + n]) for words in texts for i in range(len(words) - n + 1)})
            having = [sum(any(count(run, words) for words in image) for image in split) for run in vocabulary]
            idf = [log(len(split) / max(1, number)) for number in having]
            for reference in own:
                g = [count(run, caption) * weight for run, weight in zip(vocabulary, idf, strict=True)]
                h = [count(run, reference) * weight for run, weight in zip(vocabulary, idf, strict=True)]
                norms = sqrt(sum(x * x for x in g)) * sqrt(sum(x * x for x in h))
                if norms:
                    dot = sum(min(x, y) * y for x, y in zip(g, h, strict=True))
                    total += e ** (-((len(caption) - len(reference)) ** 2) / 72) * dot / norms / len(own)
        values.append(10 * total / 4)
    return values


@given(images)
def test_the_slow_way_gives_the_same(images):
    hypotheses, references = zip(*images, strict=True)
    statistics = cider_d(hypotheses, references)
    expected = slow_cider_d(hypotheses, references)
    assert statistics.counts[:, 0] == pytest.approx(expected)
    assert statistics.total().value == pytest.approx(sum(expected) / len(expected))


def test_a_worked_example():
    # Every n-gram of the references is in one of the two images: all weigh log 2, which cancels. "a b c x" shares
    # 3 of 4 words, 2 of 3 bigrams and 1 of 2 trigrams with "a b c d"; norms √4, √3, √2 on both sides.
    # "f" has the reference "f f f f": min(1, 4)·4 / (1 · 4) = 1 for single words alone, three words too short.
    found = cider_d(["a b c x", "f"], [["a b c d"], ["f f f f"]])
    assert found.counts.tolist() == [
        [pytest.approx(10 * (3 / 4 + 2 / 3 + 1 / 2) / 4), 1],
        [pytest.approx(10 * e ** (-9 / 72) / 4), 1],
    ]
    assert found.total().signature == "cider-d|n:4|sigma:6|df:references|images:2|tok:caption-words"


def test_repeating_a_word_is_clipped():
    # "f f f f" for "f": min(4, 1)·1 / (4 · 1), three words too long.
    found = cider_d(["f f f f", "x"], [["f"], ["x"]], frequency=DocumentFrequency(2, {}))
    assert found.counts[0, 0] == pytest.approx(10 * e ** (-9 / 72) / 4 / 4)


def test_words_that_all_images_have_weigh_nothing():
    found = cider_d(["a", "a cat"], [["a dog"], ["a cat"]])
    assert found.counts[:, 0].tolist() == [0.0, pytest.approx(5.0)]  # two words: unigrams and a bigram


@given(st.integers(2, 5), st.integers(4, 9))
def test_the_perfect_caption_gets_ten(count, length):
    texts = [" ".join(f"w{image}x{place}" for place in range(length)) for image in range(count)]
    found = cider_d(texts, [[text, text.upper() + "."] for text in texts])
    assert found.counts[:, 0] == pytest.approx(10.0)


@given(images)
def test_the_table_of_the_references_handed_in_changes_nothing(images):
    hypotheses, references = zip(*images, strict=True)
    found = cider_d(hypotheses, references, frequency=document_frequency(references)).total()
    assert found.value == cider_d(hypotheses, references).total().value
    assert "df:given" in found.signature


@given(images)
def test_scores_lie_between_zero_and_ten(images):
    hypotheses, references = zip(*images, strict=True)
    values = cider_d(hypotheses, references).counts[:, 0]
    assert (values >= 0).all()
    assert (values <= 10 + 1e-9).all()


def test_one_image_needs_a_table():
    caption = "a dog runs fast"
    assert cider_d([caption], [[caption]]).total().value == 0
    frequency = document_frequency([["a cat"], ["a dog"], ["birds"]])
    assert cider_d([caption], [[caption]], frequency=frequency).total().value == pytest.approx(10)


def test_documents_are_counted_by_image():
    frequency = document_frequency([["A dog. A dog!", "the dog"], ["a cat"]])
    assert frequency.images == 2
    counts = Counter({run: count for run, count in frequency.counts.items() if len(run) == 1})
    assert counts == {("a",): 2, ("dog",): 1, ("the",): 1, ("cat",): 1}
    assert frequency.counts["dog", "a", "dog"] == 1
    assert max(map(len, frequency.counts)) == 4
    assert frequency.weight(("a",)) == 0
    assert frequency.weight(("dog",)) == frequency.weight(("unseen",)) == pytest.approx(log(2))


def test_runs_of_one_to_four_words_are_counted():
    frequency = document_frequency([["one two three four five six"]])
    assert Counter(map(len, frequency.counts)) == {1: 6, 2: 5, 3: 4, 4: 3}


def test_impossible_tables_are_refused():
    with pytest.raises(DataError, match="of 0 images, but need at least 1"):
        DocumentFrequency(0, {})
    with pytest.raises(DataError, match="in 3 images, but are of 2"):
        DocumentFrequency(2, {("a",): 3, ("b",): 1})


def test_sigma_must_be_positive():
    with pytest.raises(ConfigError, match="sigma is 0, but must be above 0"):
        cider_d(["a"], [["a"]], sigma=0)


def test_length_counts_for_less_with_a_wider_sigma():
    narrow, wide = (
        cider_d(["a b c d", "x"], [["a b c d e f"], ["y"]], sigma=sigma).counts[0, 0] for sigma in (1.0, 100.0)
    )
    assert narrow / wide == pytest.approx(e ** (-2 + 2 / 10**4))
    # All four words, three bigrams, two trigrams and one 4-gram are right: √(n / (n + 2)) for each n of these.
    assert wide == pytest.approx(10 * e ** (-2 / 10**4) * sum(sqrt(n / (n + 2)) for n in (1, 2, 3, 4)) / 4)
