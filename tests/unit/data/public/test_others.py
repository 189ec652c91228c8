"""Trees, gold alignments, and text tokenized like them."""

import pytest

from saccade.data.forms import LABELS, PAIRS
from saccade.data.public import PUBLIC
from saccade.data.public.alignment import convert_alignment, english_words, french_words
from saccade.data.public.hansards import convert_hansards
from saccade.data.public.trees import convert_trees, sentence_of
from saccade.errors import DataError
from saccade.recipes import shipped

TREES = [
    "(3 (2 It) (4 (2 's) (4 great)))",
    "(1 (2 -LRB-) (1 (1 bad) (2 -RRB-)))",
    "(2 (2 so) (2 (2 and\\/or) (2 so)))",
]


def write(path, *lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_trees_become_labelled_sentences(tmp_path):
    write(tmp_path / "train.txt", *TREES)
    write(tmp_path / "dev.txt", TREES[0])
    written = convert_trees(tmp_path, tmp_path / "out")
    assert [path.name for path in written] == [f"stsa.{k}.{s}" for s in ("train", "dev") for k in ("fine", "binary")]
    fine = list(LABELS.read([written[0]]))
    assert [(e.label, e.source) for e in fine] == [("3", "It 's great"), ("1", "( bad )"), ("2", "so and/or so")]
    assert [e.label for e in LABELS.read([written[1]])] == ["1", "0"], "the neutral one is left out"


@pytest.mark.parametrize("tree", ["(3 (2 It) (4 works)", "It works", "(3 )"])
def test_what_is_no_tree_is_told(tree):
    with pytest.raises(DataError, match=r"here is no labelled tree, such as \(3 \(2 It\) \(4 works\)\)"):
        sentence_of(tree, "here")


@pytest.fixture
def gold(tmp_path):
    folder = tmp_path / "hansards"
    write(folder / "trial.e", "<s snum=1> the house </s>", "<s snum=0002>I see</s>")
    write(folder / "trial.f", "<s snum=1> la chambre </s>", "<s snum=0002>je vois</s>")
    write(folder / "trial.wa", "1 1 1 S", "1 2 2", "0002 1 1 P 0.5", "0002 2 0 P", "2 1 2 P", "2 1 2 S")
    return folder


def test_gold_alignments_count_from_zero(gold, tmp_path):
    written = convert_hansards(gold, tmp_path / "out")
    first, second = PAIRS.read(written)
    assert (first.source, first.target, str(first.links)) == ("the house", "la chambre", "0-0 1-1")
    assert str(second.links) == "0-0P 0-1", "a link that is also listed as sure is sure"


@pytest.mark.parametrize(
    ("file", "line", "message"),
    [
        ("trial.e", "the house", r"trial\.e, line 1 is no sentence such as <s snum=1>"),
        ("trial.wa", "1 one 1 S", r"trial\.wa, line 1 is no link such as 18 1 1 S"),
        ("trial.e", "<s snum=7> x </s>", r"different sentences: number 1 is only in one"),
    ],
)
def test_gold_files_that_are_broken_are_told(gold, tmp_path, file, line, message):
    write(gold / file, line)
    with pytest.raises(DataError, match=message):
        convert_hansards(gold, tmp_path / "out")


def test_a_folder_without_gold_is_told(tmp_path):
    with pytest.raises(DataError, match=r"has no file that ends in \.wa"):
        convert_hansards(tmp_path, tmp_path / "out")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I don't know, Mr. Smith.", "I do not know , Mr. Smith ."),
        ("It can't cost 1,500.50!", "It can not cost 1,500.50 !"),
        ("It’s Tom's job-creation; we'll see", "It 's Tom 's job - creation ; we 'll see"),
        ("You cannot, won't", "You can not , will not"),
    ],
)
def test_english_is_cut_as_the_gold_is(text, words):
    assert english_words(text) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("L'eau du lac, qu'il n'a pas vu.", "Le eau de le lac , que il ne a pas vu ."),
        ("Des amis vont aux jardins d’été\xa0!", "de les amis vont à les jardins de été !"),
        ("aujourd'hui lui-même", "aujourd' hui lui - même"),
        ("M. Roy est au bord de l'eau", "M. Roy est à le bord de le eau"),
    ],
)
def test_french_that_grew_together_is_taken_apart(text, words):
    assert french_words(text) == words


def test_text_to_align_is_cut_alike_and_leaves_the_gold_out(gold, tmp_path):
    write(tmp_path / "tatoeba" / "train.en-fr.tsv", *["I don't see.\tJe ne vois pas l'eau."] * 4)
    write(tmp_path / "tatoeba" / "valid.en-fr.tsv", "Yes.\tOui.")
    for split in ("train", "val"):
        write(tmp_path / "multi30k" / f"{split}.en", "A dog.")
        write(tmp_path / "multi30k" / f"{split}.fr", "Un chien.")
    out = tmp_path / "out"
    convert_alignment(tmp_path, out)
    train = (out / "train.en").read_text()
    assert len(train.splitlines()) == 5 + 2, "half as many joined ones as there are sentences"
    assert "I do not see ." in train
    assert "A dog ." in train
    assert "house" not in train
    assert (out / "valid.fr").read_text().splitlines() == ["Oui .", "Un chien ."]
    assert (out / "test.align").read_text().splitlines() == ["0-0 1-1", "0-0P 0-1"]


def test_a_part_that_is_missing_is_named(tmp_path):
    with pytest.raises(DataError, match=r"has no folder tatoeba\. It must hold multi30k, tatoeba and hansards"):
        convert_alignment(tmp_path, tmp_path / "out")


@pytest.mark.parametrize("name", PUBLIC)
def test_instructions_name_address_licence_and_a_recipe_that_ships(name):
    entry = PUBLIC[name]
    said = entry.instructions(name)
    assert entry.address in said
    assert entry.licence in said
    assert entry.recipes in shipped()
    assert f"saccade train {entry.recipes} --set data.folder=" in said
