"""Dialogues: DailyDialog's layout and JSON lines; what is written is read back."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.data import SUFFIXES, put
from saccade.data import dialogues
from saccade.data.example import Example, Links
from saccade.data.forms import DIALOGUES
from saccade.data.write import write_dialogues
from saccade.errors import ConfigError, DataError

ANSWERED = [
    Example(turns=("Hi .",), target="Hello , Ann !"),
    Example(turns=("Hi .", "Hello , Ann !"), target="Bye ."),
]


@pytest.fixture(autouse=True)
def _forget_warnings():
    dialogues._log.cache_clear()


def read(path, content, **options):
    return list(DIALOGUES.read([put(path, content)], **options))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_turns_that_end_with_a_mark(tmp_path, suffix):
    text = "Hi . __eou__ Hello , Ann ! __eou__ Bye . __eou__\n\nYes ? __eou__ No\r\n"
    for ends in (text, text.replace("\n\n", "\r\r"), text.replace("\r\n", "\n").replace("\n", "\r")):
        found = read(tmp_path / f"dialogues.txt{suffix}", ends)
        assert found == [*ANSWERED, Example(turns=("Yes ?",), target="No")]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("kind", ["jsonl", "json"])
def test_json_lines(tmp_path, suffix, kind):
    rows = [{"turns": ["Hi .", "Hello , Ann !", "Bye ."], "id": 3}, {"turns": ["a", "b c"], "links": [None, "0-1"]}]
    for end in ("\n", "\r\n", "\r"):
        found = read(tmp_path / f"a.{kind}{suffix}", end.join(map(json.dumps, rows)))
        assert found == [*ANSWERED, Example(turns=("a",), target="b c", links=Links.parse("0-1"))]


def test_some_turns_are_replies_and_links_count_words_of_all_turns(tmp_path):
    row = {"turns": ["I am Ann .", "Oh .", "Who ?", "Ann ."], "replies": [1, 3], "links": [None, None, None, "2-0"]}
    first, second = read(tmp_path / "a.jsonl", json.dumps(row))
    assert (first.turns, first.target, first.links) == (("I am Ann .",), "Oh .", None)
    assert (second.turns, second.target) == (("I am Ann .", "Oh .", "Who ?"), "Ann .")
    assert second.links.sure == {(2, 0)}


def test_other_keys_and_words_counted_from_one(tmp_path):
    row = {"dialog": ["a", "b"], "links": [None, "1-1"]}
    (one,) = read(tmp_path / "a.jsonl", json.dumps(row), keys={"turns": "dialog"}, first_word=1)
    assert (one.target, one.links.sure) == ("b", {(0, 0)})
    with pytest.raises(ConfigError, match=r"field 'turn' does not exist. Did you mean 'turns'"):
        read(tmp_path / "a.jsonl", json.dumps(row), keys={"turn": "dialog"})


def test_a_dialogue_without_a_reply_is_counted_once(tmp_path, caplog):
    for _ in range(2):
        assert read(tmp_path / "a.txt", "Hi . __eou__\na __eou__ b __eou__\n") == [Example(turns=("a",), target="b")]
    assert [record.message for record in caplog.records] == [
        f"{tmp_path / 'a.txt'}: 1 dialogues have fewer than two turns, so there is no reply to learn; left out"
    ]
    assert read(tmp_path / "a.jsonl", '{"turns": []}') == []
    assert "a.jsonl: 1 dialogues have fewer" in caplog.text


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.txt", "Hi . __eou__ Ho .\nHi .\n", r"a\.txt, line 2 has no __eou__: 'Hi \.'\. End each turn with it"),
        ("a.txt", "", r"a\.txt is empty"),
        ("a.jsonl", '{"turns": "Hi"}', r"a\.jsonl, line 1: 'turns' is \"Hi\", but must be a list of texts"),
        ("a.jsonl", '{"turns": ["a", 3]}', "'turns' is .* but must be a list of texts"),
        ("a.jsonl", '{"turn": []}', "'turns' is null, but must be a list of texts"),
        ("a.jsonl", '{"turns": ["a", "\\udc00"]}', "line 1, turn 2 holds half a character"),
        ("a.jsonl", '{"turns": ["a", "b"], "replies": [2]}', r"'replies' is \[2\], but must list turns from 1 to 1"),
        ("a.jsonl", '{"turns": ["a", "b", "c"], "replies": [2, 1]}', "must list turns from 1 to 2, in order"),
        ("a.jsonl", '{"turns": ["a", "b"], "links": []}', "'links' must be a list with an entry for each of 2 turns"),
        ("a.jsonl", '{"turns": ["a", "b"], "links": [null, 3]}', "links of turn 1 are 3, but must be text such as"),
        ("a.jsonl", '{"turns": ["a", "b"], "links": [null, "1-0"]}', "links of turn 1: link 1-0 points beyond"),
    ],
)
def test_files_that_are_no_dialogues_are_named(tmp_path, name, content, said):
    with pytest.raises(DataError, match=said):
        read(tmp_path / name, content)


words = st.text(st.characters(codec="utf-8"), max_size=12)


@st.composite
def corpora(draw):
    found = []
    for turns in draw(st.lists(st.lists(words, min_size=2, max_size=5), min_size=1, max_size=3)):
        for place in sorted(draw(st.sets(st.integers(1, len(turns) - 1), min_size=1))):
            sides = len(" ".join(turns[:place]).split()), len(turns[place].split())
            links = None
            if min(sides) and draw(st.booleans()):
                links = Links(frozenset({(draw(st.integers(0, sides[0] - 1)), draw(st.integers(0, sides[1] - 1)))}))
            found.append(Example(turns=tuple(turns[:place]), target=turns[place], links=links))
    return found


@given(corpora())
def test_what_is_written_is_read_back(tmp_path_factory, corpus):
    folder = tmp_path_factory.mktemp("dialogues")
    assert list(DIALOGUES.read(write_dialogues(corpus, folder, "train"))) == corpus


def test_a_dialogue_is_one_line(tmp_path):
    (path,) = DIALOGUES.write(ANSWERED * 2, tmp_path, "train", ())
    assert path.read_text() == '{"turns": ["Hi .", "Hello , Ann !", "Bye ."]}\n' * 2


@pytest.mark.parametrize(
    ("example", "said"),
    [
        (Example(target="a"), "example 1 has no turns, which are the history"),
        (Example(turns=("a",)), "example 1 has no target to write"),
        (Example(turns=("\udc00",), target="a"), "example 1, turn 1 holds half a character"),
    ],
)
def test_what_cannot_be_written_is_named(tmp_path, example, said):
    with pytest.raises(DataError, match=said):
        DIALOGUES.write([example], tmp_path, "train", ())


def test_replies_of_a_dialogue_share_a_number():
    other = Example(turns=("Hi .", "Hello , Ann !", "Bye .", "What ?"), target="Nothing .")
    corpus = [*ANSWERED, other, ANSWERED[0], ANSWERED[0], Example(turns=("x", "y"), target="z")]
    assert [number for number, _ in DIALOGUES.numbered(corpus)] == [0, 0, 0, 1, 2, 3]


def test_a_long_dialogue_is_read(tmp_path):
    found = read(tmp_path / "a.txt", " __eou__ ".join(map(str, range(500))))
    assert len(found) == 499
    assert len(found[-1].turns) == 499
