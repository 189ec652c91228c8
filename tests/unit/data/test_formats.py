"""Every format in every compression, and every way a corpus can be wrong."""

import json
import tracemalloc

import pytest

from helpers.data import SUFFIXES, put
from saccade.data.example import Example, Links
from saccade.data.formats import jsonl, labelled, pairs, text, tsv
from saccade.data.forms import LABELS, PAIRS, TEXT
from saccade.errors import ConfigError, DataError

CAT = Example(source="the black cat", target="le chat noir")
CAT_LINKS = Links(frozenset({(0, 0), (1, 2)}), frozenset({(2, 1)}))
LINKED_CAT = Example(source=CAT.source, target=CAT.target, links=CAT_LINKS)
BLANK = Example(source="", target="")


@pytest.fixture(params=SUFFIXES, ids=lambda suffix: suffix or "plain")
def corpus(request, tmp_path):
    """A function that writes files, compressed in each way, and returns their paths."""

    def write(**contents):
        paths = [
            put(tmp_path / f"corpus.{name}{request.param}", content)
            for name, content in ((name.rstrip("_"), content) for name, content in contents.items())
        ]
        return paths[0] if len(paths) == 1 else paths

    return write


@pytest.fixture
def plain(tmp_path):
    """The same without compression."""
    return lambda **contents: [put(tmp_path / f"corpus.{name}", content) for name, content in contents.items()]


def test_pairs_line_by_line(corpus):
    paths = corpus(en="the black cat\n\nyes", fr="le chat noir\n\noui\n")
    assert list(pairs(*paths)) == [CAT, BLANK, Example(source="yes", target="oui")]
    assert list(PAIRS.read(paths)) == list(pairs(*paths))


def test_pairs_with_alignments(corpus):
    paths = corpus(en="the black cat\nyes\n", fr="le chat noir\noui\n", align="0-0 1-2 2-1P\n\n")
    expected = [LINKED_CAT, Example(source="yes", target="oui", links=Links(frozenset()))]
    assert list(pairs(*paths)) == list(PAIRS.read(paths)) == expected


def test_alignments_that_count_from_one(corpus):
    paths = corpus(en="the black cat\n", fr="le chat noir\n", gold="1-1 2-3 3p2\n")
    assert list(pairs(*paths, first_word=1)) == list(PAIRS.read(paths, first_word=1)) == [LINKED_CAT]


def test_tsv_of_pairs(corpus):
    path = corpus(tsv="the black cat\tle chat noir\nthe black cat\tle chat noir\t0-0 1-2 2-1P\n\t\n")
    assert list(tsv(path)) == list(PAIRS.read([path])) == [CAT, LINKED_CAT, BLANK]


def test_tsv_of_labels(corpus):
    path = corpus(tsv="good\ta fine film\nbad\t\n")
    expected = [Example(source="a fine film", label="good"), Example(source="", label="bad")]
    assert list(tsv(path, ("label", "source"))) == list(LABELS.read([path])) == expected


def test_tsv_with_columns_in_another_order_and_some_not_read(corpus):
    path = corpus(tsv="7\tle chat noir\tthe black cat\tCC-BY\n")
    columns = ("_", "target", "source", "_")
    assert list(tsv(path, columns)) == list(PAIRS.read([path], columns=columns)) == [CAT]


def test_columns_beyond_a_pair_that_are_no_links_are_ignored_with_a_note(plain, caplog):
    (credit,) = plain(tsv="the black cat\tle chat noir\tCC-BY 2.0 (France)\nyes\toui\n")
    assert list(PAIRS.read([credit])) == [CAT, Example(source="yes", target="oui")]
    list(PAIRS.read([credit]))
    assert [record.getMessage() for record in caplog.records] == [
        f"{credit}: columns after the first 2 are no alignment links and are ignored."
    ]
    (wide,) = plain(tsv="the black cat\tle chat noir\t0-0\tmore\n")
    assert list(PAIRS.read([wide])) == [CAT]


def test_tsv_columns_by_number_and_by_name(plain):
    (bare,) = plain(tsv="7\tle chat noir\tthe black cat\n")
    assert list(PAIRS.read([bare], keys={"source": "3", "target": "2"})) == [CAT]
    (headed,) = plain(tsv="id\tfrench\tenglish\n7\tle chat noir\tthe black cat\n")
    assert list(PAIRS.read([headed], keys={"source": "english", "target": "french"})) == [CAT]
    with pytest.raises(DataError, match=r"line 1 names no column 'german'\. It has: 'id', 'french', 'english'"):
        list(PAIRS.read([headed], keys={"source": "german", "target": "french"}))
    with pytest.raises(DataError, match=r"line 1 has 3 columns, but data\.columns asks for column 4"):
        list(PAIRS.read([bare], keys={"source": "4", "target": "2"}))


@pytest.mark.parametrize("name", ["tsv", "jsonl"])
def test_blank_lines_are_left_out_and_counted(plain, name, caplog):
    line = {"tsv": "a\tb", "jsonl": '{"source": "a", "target": "b"}'}[name]
    (path,) = plain(**{name: f"\n{line}\n  \n{line}\n"})
    assert list(PAIRS.read([path])) == [Example(source="a", target="b")] * 2
    assert [record.getMessage() for record in caplog.records] == [f"{path}: 2 blank lines left out."]


def test_tsv_with_alignments_that_count_from_one(corpus):
    path = corpus(tsv="the black cat\tle chat noir\t1-1 2-3 3p2\n")
    assert list(PAIRS.read([path], first_word=1)) == [LINKED_CAT]


def test_jsonl_of_pairs(corpus):
    rows = [{"source": CAT.source, "target": CAT.target, "id": 7}]
    rows += [rows[0] | {"links": "0-0 1-2 2-1P"}, rows[0] | {"links": None}, {"source": "", "target": ""}]
    path = corpus(jsonl="\n".join(map(json.dumps, rows)))
    assert list(jsonl(path)) == list(PAIRS.read([path])) == [CAT, LINKED_CAT, CAT, BLANK]


def test_jsonl_of_labels(corpus):
    values = ["good", 3, True]
    path = corpus(json="".join(json.dumps({"text": "a film", "label": value}) + "\n" for value in values))
    expected = [Example(source="a film", label=label) for label in ("good", "3", "true")]
    assert list(LABELS.read([path])) == expected


def test_jsonl_of_text(corpus):
    assert list(TEXT.read([corpus(jsonl='{"text": "a\\u2028b"}\n')])) == [Example(target="a\u2028b")]


def test_jsonl_with_other_keys_and_objects_inside(corpus):
    path = corpus(jsonl=json.dumps({"translation": {"en": "the black cat"}, "fr.text": "le chat noir", "a": "1-1"}))
    keys = {"source": "translation.en", "target": "fr.text", "links": "a"}
    expected = [Example(source=CAT.source, target=CAT.target, links=Links(frozenset({(0, 0)})))]
    assert list(PAIRS.read([path], keys=keys, first_word=1)) == expected
    assert list(jsonl(path, keys, first_word=1)) == expected


def test_text_alone(corpus):
    path = corpus(en="one\n\ntwo\u2028three\n")
    expected = [Example(target="one"), Example(target=""), Example(target="two\u2028three")]
    assert list(text(path)) == list(TEXT.read([path])) == expected


def test_labels_before_the_text(corpus):
    path = corpus(txt="3 It 's\ta lovely film\n0\tno good at all\n1  two spaces\n2 \n")
    found = [(example.label, example.source) for example in labelled(path)]
    assert found == [("3", "It 's\ta lovely film"), ("0", "no good at all"), ("1", " two spaces"), ("2", "")]
    assert list(LABELS.read([path])) == list(labelled(path))


def test_a_byte_order_mark_is_no_part_of_a_label_or_a_key(corpus):
    assert next(labelled(corpus(txt="\ufeff3 fine\n"))).label == "3"
    assert next(jsonl(corpus(jsonl='\ufeff{"source": "a", "target": "b"}\n'))).source == "a"


@pytest.mark.parametrize("reader", [tsv, jsonl, text, labelled])
def test_an_empty_file_is_refused(corpus, reader):
    with pytest.raises(DataError, match=r"corpus\.x\S* is empty"):
        list(reader(corpus(x="")))


def test_an_empty_side_is_refused(corpus):
    with pytest.raises(DataError, match=r"corpus\.fr\S* is empty"):
        list(pairs(*corpus(en="one\n", fr="")))
    with pytest.raises(DataError, match=r"corpus\.en\S* is empty"):
        list(pairs(*corpus(en="", fr="")))


def test_a_shorter_target_is_named_with_the_line_left_over(plain):
    paths = plain(en="one\ntwo\nthree and " + "more " * 20, fr="un\ndeux\n")
    with pytest.raises(
        DataError,
        match=r"corpus\.fr ends at line 2, but \S+corpus\.en goes on: its line 3, 'three and more [^']{24}…', has no",
    ):
        list(pairs(*paths))


def test_a_shorter_source_is_named_and_what_came_before_is_read(plain):
    reader = pairs(*plain(en="one", fr="un\ndeux\n"))
    assert next(reader) == Example(source="one", target="un")
    with pytest.raises(
        DataError, match=r"corpus\.en ends at line 1, but \S+corpus\.fr goes on: its line 2, 'deux', has"
    ):
        next(reader)


def test_alignments_of_another_length_are_named(plain):
    with pytest.raises(DataError, match=r"corpus\.align ends at line 1, but \S+corpus\.en goes on: its line 2, 'b'"):
        list(pairs(*plain(en="a\nb\n", fr="a\nb\n", align="0-0\n")))
    with pytest.raises(DataError, match=r"corpus\.en ends at line 1, but \S+corpus\.align goes on: its line 2, '0-0'"):
        list(pairs(*plain(en="a\n", fr="a\n", align="0-0\n0-0\n")))


@pytest.mark.parametrize(("link", "first_word"), [("3-0", 0), ("0-4", 0), ("0-9P", 0), ("4-1", 1), ("1p5", 1)])
def test_a_link_beyond_the_sentence_names_words_and_link(plain, link, first_word):
    paths = plain(en="yes\nthe black cat\n", fr="oui\nle chat noir .\n", align=f"{first_word}-{first_word}\n{link}\n")
    shown = link.replace("p", "-").removesuffix("P")
    with pytest.raises(
        DataError,
        match=rf"corpus\.align, line 2: link {shown} points beyond the sentence: the source has 3 words and the target "
        rf"4 words, counted from {first_word}\.",
    ) as raised:
        list(pairs(*paths, first_word=first_word))
    assert ("set data.alignment_base to 1" in str(raised.value)) == (first_word == 0)


def test_the_last_words_may_be_linked(plain):
    paths = plain(en="a b\n", fr="c\n", align="1-0\n")
    assert next(pairs(*paths)).links == Links(frozenset({(1, 0)}))


def test_alignments_that_are_none_name_their_line(plain):
    with pytest.raises(DataError, match=r"corpus\.align, line 2: 'x-0' is no link"):
        list(pairs(*plain(en="a\nb\n", fr="a\nb\n", align="0-0\nx-0\n")))
    with pytest.raises(DataError, match=r"corpus\.align, line 1: '0-0' lies before the first word.*number 1"):
        list(pairs(*plain(en="a\n", fr="a\n", align="0-0\n"), first_word=1))


@pytest.mark.parametrize(
    ("columns", "line", "said"),
    [
        (("source", "target", "links"), "no tab", "1 column, but 2 or 3 wanted: source, target, links, .*'no tab'"),
        (("source", "target", "links"), "a\tb\t0-0\td", r"4 columns, but 2 or 3 wanted"),
        (("label", "source"), "a\tb\tc", "3 columns, but 2 wanted: label, source, with a tab"),
        (("label", "source"), "a", "1 column, but 2 wanted"),
        (("target",), "a\tb", "2 columns, but 1 wanted: target"),
    ],
)
def test_a_wrong_number_of_columns_names_the_line(plain, columns, line, said):
    good = "\t".join("a" for column in columns if column != "links")
    (path,) = plain(tsv=f"{good}\n{line}\n")
    with pytest.raises(DataError, match=rf"corpus\.tsv, line 2 has {said}"):
        list(tsv(path, columns))


def test_bad_links_in_one_file_name_the_line(plain):
    (path,) = plain(tsv="a\tb\na b\tc\t1-1\n")
    with pytest.raises(DataError, match=r"corpus\.tsv, line 2: link 1-1 .*source has 2 words and the target 1 word,"):
        list(tsv(path))
    (path,) = plain(jsonl='{"source": "a", "target": "b", "links": "0:0"}\n')
    with pytest.raises(DataError, match=r"corpus\.jsonl, line 1: '0:0' is no link"):
        list(jsonl(path))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"source": "a"', r"is not JSON \(Expecting ',' delimiter\): '{\"source\": \"a\"'. Every line must"),
        ("[" * 100_000, r"is not JSON \(.+\): '\[{39}…'"),
        ('{"source": ' + "1" * 5000 + "}", r"is not JSON \(.*4300.*\)"),
        ("[1, 2]", "is a list, but must be an object with source, target, links"),
        ('"text"', "is the text 'text', but must be an object"),
        ("null", "is null, but must be an object"),
        ('{"source": "a", "text": "b"}', "has no 'target'. It has: source, text."),
        ('{"source": "a", "translation": {"en": 1, "fr": 2}}', r"has no 'target'. It has: source, translation\.en, "),
        ("{}", "has no 'source'. It has: nothing."),
        ('{"source": "a", "target": 5}', "'target' must be text, but is the number 5"),
        ('{"source": "a", "target": true}', "'target' must be text, but is true"),
        ('{"source": null, "target": "b"}', "'source' must be text, but is null"),
        ('{"source": ["a"], "target": "b"}', "'source' must be text, but is a list"),
        ('{"source": {}, "target": "b"}', "'source' must be text, but is an object"),
        ('{"source": "a", "target": "b", "links": [[0, 0]]}', "'links' must be text, but is a list"),
        ('{"source": "a\\ud83d", "target": "b"}', r"'source' holds half a character, \\ud83d"),
    ],
)
def test_objects_that_cannot_be_used_name_line_and_key(plain, line, said):
    (path,) = plain(jsonl=f'{{"source": "a", "target": "b"}}\n{line}\n')
    with pytest.raises(DataError, match=rf"corpus\.jsonl, line 2:? {said}"):
        list(jsonl(path))


def test_many_keys_are_not_all_listed(plain):
    (path,) = plain(jsonl=json.dumps({f"k{number}": "" for number in range(50)}))
    with pytest.raises(DataError, match=r"It has: k0, .*, k11, …\.$"):
        list(jsonl(path))


def test_a_label_must_be_a_text_or_a_whole_number(plain):
    (path,) = plain(jsonl='{"text": "a", "label": 0.5}')
    with pytest.raises(DataError, match=r"line 1: 'label' must be text, but is the number 0\.5"):
        list(LABELS.read([path]))


@pytest.mark.parametrize("line", ["", "alone", " no label", "\tno label"])
def test_lines_without_a_label_or_a_text_are_refused(plain, line):
    (path,) = plain(txt=f"1 fine\n{line}\n")
    with pytest.raises(DataError, match=r"corpus\.txt, line 2 is '.*', but must be a label, a space or a tab, and a"):
        list(labelled(path))


def test_an_empty_label_is_refused(plain):
    for path in plain(tsv="\ta film\n", jsonl='{"text": "a film", "label": ""}\n'):
        with pytest.raises(DataError, match=r"corpus\.\w+, line 1 has an empty label"):
            list(LABELS.read([path]))


@pytest.mark.parametrize(
    ("form", "names", "said"),
    [
        (PAIRS, [], "no file is given to read. For sentence pairs, give two plain files or three with alignments"),
        (PAIRS, ["a.en"], r"1 plain file cannot be read: a\.en\. For sentence pairs, give two plain files"),
        (PAIRS, ["a", "b", "c", "d"], "4 plain files cannot be read: a, b, c, d. For sentence pairs"),
        (PAIRS, ["a.tsv.gz", "b.tsv.gz"], r"a\.tsv\.gz holds a whole corpus, but comes with 1 more"),
        (PAIRS, ["a.en", "b.fr", "c.json"], r"c\.json holds a whole corpus, but comes with 2 more"),
        (
            TEXT,
            ["a.en", "b.fr"],
            r"2 plain files cannot be read: a\.en, b\.fr\. For texts, give one plain file,",
        ),
        (LABELS, ["a", "b"], "2 plain files .*For labeled texts, give one plain file of LABEL text, or one"),
    ],
)
def test_files_that_do_not_fit_the_task_are_refused_at_once(tmp_path, monkeypatch, form, names, said):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=said):
        form.read([tmp_path.joinpath(name).relative_to(tmp_path) for name in names])


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        (
            "a.jsonl",
            {"columns": ["source"]},
            r"columns are for a \.tsv file, but \S*a\.jsonl is none. Leave columns out",
        ),
        ("a.tsv", {"keys": {"source": "x"}}, "keys do not name target, which sentence pairs need"),
        ("a.tsv", {"columns": ["label", "source"]}, "columns do not name target, which sentence pairs need"),
        ("a.jsonl", {"keys": {}}, "keys do not name source and target, which sentence pairs need"),
        ("a.tsv", {"columns": ["source", "targte", "target"]}, "column 'targte' does not exist. Did you mean 'target'"),
        ("a.tsv", {"columns": ["source", "target", "source"]}, "column 'source' is named twice"),
        (
            "a.jsonl",
            {"keys": {"source": "a", "target": "b", "x": "c"}},
            "field 'x' does not exist.*Known: label, links,",
        ),
    ],
)
def test_settings_that_do_not_fit_are_refused_at_once(tmp_path, name, options, said):
    with pytest.raises(ConfigError, match=said):
        PAIRS.read([tmp_path / name], **options)


def test_columns_must_hold_something(tmp_path):
    with pytest.raises(ConfigError, match=r"no column is named. Name some of source, target, label, links"):
        tsv(tmp_path / "a.tsv", ["_"])
    with pytest.raises(ConfigError, match="links join the words of source and target: name all three"):
        tsv(tmp_path / "a.tsv", ["source", "links"])


def test_memory_stays_flat_while_pairs_are_read(tmp_path):
    rows = 200_000
    paths = [
        put(tmp_path / f"a.{side}.gz", "".join(f"{number} {side} words in a row\n" for number in range(rows)))
        for side in ("en", "fr")
    ]
    tracemalloc.start()
    count = sum(1 for _ in PAIRS.read(paths))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == rows
    assert peak < 3_000_000
