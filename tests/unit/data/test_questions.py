"""Questions: SQuAD's layout and JSON lines, offsets that do not match, what is written is read back."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.data import SUFFIXES, put
from saccade.data import questions
from saccade.data.example import Example
from saccade.data.forms import QUESTIONS
from saccade.data.write import write_questions
from saccade.errors import ConfigError, DataError

PASSAGE = "Ada left Rome. Ada went to Oslo by train. Ada sleeps."
OSLO = PASSAGE.index("Oslo")


@pytest.fixture(autouse=True)
def _forget_warnings():
    questions._log.cache_clear()


def squad(*qas, passage=PASSAGE):
    return {"version": "1.1", "data": [{"title": "t", "paragraphs": [{"context": passage, "qas": [*qas]}]}]}


def asked(*answers, **more):
    found = [{"text": text, "answer_start": start} for text, start in answers]
    return {"id": "1", "question": "Where?", "answers": found, **more}


def read(path, content, **options):
    return list(QUESTIONS.read([put(path, content)], **options))


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("indent", [None, 2])
def test_squad(tmp_path, suffix, indent):
    whole = squad(asked(("Oslo", OSLO), ("Oslo by train", OSLO)), asked(is_impossible=True, plausible_answers=[1]))
    first, second = read(tmp_path / f"a.json{suffix}", json.dumps(whole, indent=indent))
    assert first == Example(
        source=PASSAGE,
        question="Where?",
        target="Oslo",
        references=("Oslo", "Oslo by train"),
        spans=((OSLO, OSLO + 4), (OSLO, OSLO + 13)),
    )
    assert second == Example(source=PASSAGE, question="Where?", target="")


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("kind", ["jsonl", "json"])
def test_json_lines(tmp_path, suffix, kind):
    rows = [
        {"passage": PASSAGE, "question": "Who?", "answers": ["Ada"], "evidence": [[0, 14]], "id": 7},
        {"passage": PASSAGE, "question": "Who?", "answers": [{"text": "Ada", "start": 15}]},
        {"passage": PASSAGE, "question": "Who?", "answers": {"text": ["Ada"], "answer_start": [42]}},
        {"passage": PASSAGE, "question": "Why?", "answers": []},
    ]
    found = read(tmp_path / f"a.{kind}{suffix}", "\n".join(map(json.dumps, rows)))
    assert [example.spans for example in found] == [((0, 3),), ((15, 18),), ((42, 45),), ()]
    assert [example.target for example in found] == ["Ada", "Ada", "Ada", ""]
    assert [example.evidence for example in found] == [((0, 14),), (), (), ()]


def test_other_keys(tmp_path):
    row = {"context": "It is so.", "q": "Is it?", "answers": ["so"]}
    (one,) = read(tmp_path / "a.jsonl", json.dumps(row), keys={"passage": "context", "question": "q"})
    assert (one.question, one.spans) == ("Is it?", ((6, 8),))
    with pytest.raises(ConfigError, match=r"field 'pasage' does not exist. Did you mean 'passage'"):
        read(tmp_path / "a.jsonl", json.dumps(row), keys={"pasage": "context"})


@pytest.mark.parametrize(
    ("answer", "start", "place"),
    [
        ("Ada", 14, 15),
        ("Ada", 9, 15),
        ("Ada", 7, 0),
        ("Ada", -5, 0),
        ("Ada", 1000, 42),
        (" Oslo ", OSLO - 1, OSLO),
        ("Ada", 15, 15),
    ],
)
def test_the_nearest_place_of_the_text_counts(tmp_path, answer, start, place, caplog):
    (one,) = read(tmp_path / "a.json", json.dumps(squad(asked((answer, start)))))
    assert one.spans == ((place, place + len(answer.strip())),)
    moved = "1 answers were moved" in caplog.text
    assert moved == (start not in (15, OSLO - 1))


def test_answers_that_are_not_there_are_left_out_and_counted_once(tmp_path, caplog):
    whole = squad(asked(("Paris", 3), ("Oslo", OSLO), ("", 2)), asked(("Bern", 0)), asked(("Ada", 1)))
    for _ in range(2):
        first, second = read(tmp_path / "a.json", json.dumps(whole))
    assert (first.references, first.spans) == (("Oslo",), ((OSLO, OSLO + 4),))
    assert second.target == "Ada"
    (record,) = caplog.records
    assert record.message.endswith(
        "a.json: answers that are not where the file says: 1 answers were moved to the nearest place of their text, "
        "3 answers were left out, 1 questions were skipped since no answer was left"
    )


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.json", "{", r"a\.json, line 1 is not JSON"),
        ("a.json", "[]", r"a\.json must be one object with 'data', a list of articles"),
        ("a.json", '{"data": 3}', r"a\.json has no list 'data', which SQuAD's layout needs.*It has: data"),
        ("a.json", '{"data": [{}]}', r"a\.json, article 1 has no list 'paragraphs'.*It has: nothing"),
        ("a.json", '{"data": [3]}', r"a\.json, article 1 has no list 'paragraphs'.*It has: 3"),
        (
            "a.json",
            json.dumps(squad(asked(("Ada", "0")))),
            r"a\.json, article 1, paragraph 1, question 1, answer 1: its start is \"0\", but must count characters",
        ),
        ("a.json", json.dumps(squad({"answers": []})), "question 1: 'question' is null, but must be a text"),
        ("a.json", json.dumps(squad(asked(), passage=None)), "paragraph 1: 'context' is null, but must be a text"),
        ("a.jsonl", '{"question": "?", "answers": []}', r"a\.jsonl, line 1: 'passage' is null, but must be a text"),
        ("a.jsonl", '{"passage": "a", "question": "?"}', r"'answers' is null, .* Write \[\] for a question"),
        ("a.jsonl", '{"passage": "a", "question": "?", "answers": [3]}', "answer 1 is 3, but must be a text or"),
        ("a.jsonl", '{"passage": "\\udc00", "question": "?", "answers": []}', "'passage' holds half a character"),
        (
            "a.jsonl",
            '{"passage": "a", "question": "?", "answers": ["a"], "evidence": [[0, 2]]}',
            r"line 1: 'evidence' has \[0, 2\], but each entry must be \[begin, end\) in the 1 characters",
        ),
        (
            "a.jsonl",
            '{"passage": "a", "question": "?", "answers": ["a"], "evidence": 3}',
            r"line 1: 'evidence' is 3, but must be a list of \[begin, end\]",
        ),
        ("a.jsonl", "", r"a\.jsonl is empty"),
    ],
)
def test_files_that_are_no_questions_are_named(tmp_path, name, content, said):
    with pytest.raises(DataError, match=said):
        read(tmp_path / name, content)


def test_settings_of_other_files_are_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"questions about passages are read from one file, but given is nothing"):
        QUESTIONS.read([])
    with pytest.raises(ConfigError, match=r"columns are for a \.tsv file"):
        QUESTIONS.read([tmp_path / "a.jsonl"], columns=["source"])
    with pytest.raises(ConfigError, match=r"keys are for a \.jsonl file, but \S+a\.txt is none"):
        QUESTIONS.read([tmp_path / "a.txt"], keys={"passage": "x"})


texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)


@st.composite
def examples(draw):
    passage = draw(texts)
    edges = st.integers(0, len(passage) - 1).flatmap(
        lambda begin: st.tuples(st.just(begin), st.integers(begin + 1, len(passage)))
    )
    tight = edges.filter(lambda span: passage[slice(*span)] == passage[slice(*span)].strip())
    spans = tuple(draw(st.lists(tight, max_size=3)))
    answers = tuple(passage[slice(*span)] for span in spans)
    return Example(
        source=passage,
        question=draw(texts),
        target=answers[0] if answers else "",
        references=answers,
        spans=spans,
        evidence=tuple(draw(st.lists(edges, max_size=2))),
    )


@given(st.lists(examples(), min_size=1, max_size=4))
def test_what_is_written_is_read_back(tmp_path_factory, corpus):
    folder = tmp_path_factory.mktemp("questions")
    assert list(QUESTIONS.read(write_questions(corpus, folder, "train"))) == corpus


@pytest.mark.parametrize(
    ("example", "said"),
    [
        (Example(question="?"), "example 1 has no source to write"),
        (Example(source="a"), "example 1 has no question to write"),
        (Example(source="a", question="?", target="b"), "example 1 has an answer without its place: 'b'. Set spans"),
        (Example(source="a", question="?", spans=((0, 2),)), "example 1: its span 0 to 2 exceeds 1 characters"),
    ],
)
def test_what_cannot_be_written_is_named(tmp_path, example, said):
    with pytest.raises(DataError, match=said):
        QUESTIONS.write([example], tmp_path, "train", ())
    assert [*tmp_path.iterdir()] == []


def test_questions_about_a_passage_share_a_number():
    corpus = [Example(source=source, question=str(n)) for n, source in enumerate("aabba")]
    assert [number for number, _ in QUESTIONS.numbered(corpus)] == [0, 0, 1, 1, 2]
    with pytest.raises(DataError, match="example 1 has no source, which is the passage"):
        list(QUESTIONS.numbered([Example(target="a")]))
