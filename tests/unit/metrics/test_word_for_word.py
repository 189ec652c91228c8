"""The word-for-word baseline."""

from saccade.metrics.word_for_word import word_for_word

PAIRS = [("the red car", "la voiture rouge"), ("the car", "la voiture"), ("the house", "la maison"), ("red", "rouge")]


def test_each_word_becomes_the_word_it_occurs_with_most():
    assert word_for_word(PAIRS, ["the red car", "red house", "a  car", ""]) == [
        "la rouge voiture",
        "rouge maison",
        "a voiture",
        "",
    ]


def test_a_frequent_word_does_not_win_by_its_frequency():
    """`la` occurs with every word, but most often without `house`."""
    assert word_for_word([*PAIRS, ("the", "la"), ("house", "maison")], ["house"]) == ["maison"]


def test_a_word_never_seen_with_a_target_stays():
    assert word_for_word([("one", "")], ["one two"]) == ["one two"]
