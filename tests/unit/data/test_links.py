"""Gold alignments as they are written in files."""

import pytest

from saccade.data.example import Links
from saccade.errors import DataError


def test_sure_and_possible_links_are_told_apart():
    links = Links.parse("0-0 1-2S 3-4P 5p6")
    assert links.sure == {(0, 0), (1, 2)}
    assert links.maybe == {(3, 4), (5, 6)}
    assert links.possible == {(0, 0), (1, 2), (3, 4), (5, 6)}


def test_a_link_that_is_sure_and_possible_is_sure():
    assert Links.parse("0-0P 0-0") == Links.parse("0-0 0p0") == Links(frozenset({(0, 0)}))


def test_words_may_be_counted_from_one():
    assert Links.parse("1-1 2p10", base=1) == Links(frozenset({(0, 0)}), frozenset({(1, 9)}))


def test_what_is_written_is_read_back():
    links = Links.parse("10-2 2p3 0-0")
    assert str(links) == "0-0 2-3P 10-2"
    assert Links.parse(str(links)) == links


def test_no_link_at_all_is_an_alignment_too():
    assert Links.parse("") == Links(frozenset())


@pytest.mark.parametrize("entry", ["1", "1-", "-1", "a-b", "1--2", "1-2X", "1p2P", "1-2-3", "0,1", "1" * 5000 + "-1"])
def test_what_is_no_link_is_quoted(entry):
    with pytest.raises(DataError, match=f"gold, line 7: '{entry}' is no link. Write source-target, as in 0-0"):
        Links.parse(f"0-0 {entry}", "gold, line 7")


@pytest.mark.parametrize("entry", ["0-1", "1-0", "0p3"])
def test_a_link_before_the_first_word_is_refused(entry):
    with pytest.raises(DataError, match=f"gold: '{entry}' lies before the first word, which has the number 1 here"):
        Links.parse(f"1-1 {entry}", "gold", base=1)
