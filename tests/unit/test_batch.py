"""Batches: padding, decoder inputs and targets, and all errors."""

from dataclasses import replace
from enum import IntEnum

import pytest
import torch

from saccade import masks, pytree
from saccade.batch import BOS, EOS, PAD, SPECIALS, UNK, Batch, check_tokens, read, round_up
from saccade.errors import DataError, ShapeError

TOKENS = torch.ones(2, 3, dtype=torch.long)
KEEP = torch.ones(2, 3, dtype=torch.bool)


def test_special_tokens_stand_at_their_names():
    assert [SPECIALS[token] for token in (PAD, BOS, EOS, UNK)] == ["<pad>", "<bos>", "<eos>", "<unk>"]


def test_lists_are_padded_and_targets_get_bos_and_eos():
    batch = Batch.from_lists([[7, 8, 9], [7]], [[4], [5, 6]], labels=[0, 1])
    assert batch.source.tolist() == [[7, 8, 9], [7, PAD, PAD]]
    assert batch.source_mask.int().tolist() == [[1, 1, 1], [1, 0, 0]]
    assert batch.target.tolist() == [[BOS, 4, EOS, PAD], [BOS, 5, 6, EOS]]
    assert batch.target_mask.int().tolist() == [[1, 1, 1, 0], [1, 1, 1, 1]]
    assert batch.labels.tolist() == [0, 1]
    assert batch.size == 2


@pytest.mark.parametrize(("first", "last", "step"), [(1, 64, 4), (65, 128, 8), (129, 256, 16), (257, 512, 32)])
def test_lengths_are_rounded_up_to_few(first, last, step):
    for length in range(first, last + 1):
        rounded = round_up(length)
        assert rounded % step == 0
        assert 0 <= rounded - length < step
    assert round_up(0) == 4, "an empty sentence has one position"
    assert len({round_up(length) for length in range(5000)}) < 80


def test_a_target_is_fed_without_its_end_and_expected_without_its_beginning():
    batch = Batch.from_lists(targets=[[4], [5, 6]])
    assert batch.inputs.tolist() == [[BOS, 4, EOS], [BOS, 5, 6]]
    assert batch.expected.tolist() == [[4, EOS, PAD], [5, 6, EOS]]
    assert batch.expected_mask.int().tolist() == [[1, 1, 0], [1, 1, 1]]


def test_an_empty_target_is_bos_and_eos():
    assert Batch.from_lists(targets=[[]]).target.tolist() == [[BOS, EOS]]


def test_a_blank_batch_is_bos_alone():
    blank = Batch.blank(3)
    assert blank.target.tolist() == [[BOS]] * 3
    assert blank.target_mask.all()
    assert blank.size == 3
    assert blank.expected.shape == (3, 0)


def test_numbers_may_stand_in_place_of_tokens():
    batch = Batch(torch.randn(2, 3, 5), KEEP)
    assert batch.size == 2


def test_a_batch_is_a_tree():
    batch = pytree.take_rows(Batch.from_lists([[7, 8], [9]]), torch.tensor([1]))
    assert batch.source.tolist() == [[9, PAD]]
    assert batch.target is None
    assert Batch.from_lists([[7]]).to("cpu").source.tolist() == [[7]]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Batch(), DataError, "source, a target or both"),
        (lambda: Batch.from_lists([]), DataError, "source side of the batch has no sentences.*at least one"),
        (lambda: Batch.from_lists([[1], []]), DataError, "source 1 of the batch is empty.*Leave empty lines out"),
        (lambda: Batch.from_lists([[1]]).inputs, DataError, r"no target.*Batch.from_lists\(sources, targets\)"),
        (lambda: Batch.from_lists([[1]]).expected_mask, DataError, "no target"),
        (lambda: Batch(TOKENS), ShapeError, r"source_mask is missing.*\(2, 3\).*masks.padding"),
        (lambda: Batch(TOKENS, KEEP[:, :2]), ShapeError, r"source_mask is \(2, 2\), but source is \(2, 3\)"),
        (lambda: Batch(TOKENS, KEEP.float()), ShapeError, "source_mask is torch.float32.*torch.bool, True = keep"),
        (lambda: Batch(TOKENS.float(), KEEP), ShapeError, r"source is torch.float32.*int64.*\.long\(\)"),
        (lambda: Batch(TOKENS[0], KEEP[0]), ShapeError, r"source is \(3,\).*\(B, S\) tokens or \(B, S, D\)"),
        (lambda: Batch(target=torch.ones(2, 3, 4), target_mask=KEEP), ShapeError, r"target is \(2, 3, 4\).*tokens\. "),
        (lambda: Batch(TOKENS[:, :0], KEEP[:, :0]), DataError, r"source is \(2, 0\): it is empty"),
        (lambda: Batch(TOKENS[:0], KEEP[:0]), DataError, r"source is \(0, 3\)"),
        (
            lambda: Batch(TOKENS, masks.padding(torch.tensor([3, 0]))),
            DataError,
            "source 1 of the batch is empty: its mask keeps nothing",
        ),
        (
            lambda: Batch(TOKENS, torch.tensor([[True, True, False], [True, False, True]])),
            ShapeError,
            "source_mask row 1 has a gap.*on the right",
        ),
        (lambda: Batch.from_lists([[1], [2]], [[3]]), ShapeError, "sizes differ: {'source': 2, 'target': 1}"),
        (lambda: Batch.from_lists([[1], [2]], labels=[0]), ShapeError, "'source': 2, 'labels': 1"),
    ],
)
def test_what_is_wrong_with_a_batch_is_said(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize("wrong", [-1, 10, 99])
def test_tokens_outside_the_vocabulary_are_refused(wrong):
    with pytest.raises(DataError, match=rf"source holds token {wrong}, but .* 0\.\.9.*tokenizer"):
        check_tokens("source", torch.tensor([[3, wrong]]), 10)


def test_tokens_of_the_vocabulary_pass():
    check_tokens("source", torch.tensor([[0, 9]]), 10)
    check_tokens("source", torch.zeros(0, dtype=torch.long), 10)


@pytest.mark.parametrize("sources", [[4, 5, 6], [["a", "b"]], [[4.7, 5.2]], ["456"]], ids=str)
def test_what_is_no_list_of_tokens_is_refused(sources):
    with pytest.raises(DataError, match=r"source 0 of the batch is .*a sentence is a list of tokens"):
        Batch.from_lists(sources)


@pytree.node
class Dialogue(Batch):
    """A batch that the package does not know: turns with a mask of their own, and a nested record."""

    turns: torch.Tensor | None = read("turns")
    turns_mask: torch.Tensor | None = read("turns", counts=False)
    names: list[str] | None = None
    inner: Batch | None = None


def dialogue():
    plain = Batch.from_lists([[4, 5, 6], [7], [8]], [[9], [10, 11], [12]])
    turns = torch.tensor([[1, 2, 0, 0], [3, 0, 0, 0], [4, 5, 6, 0]])
    more = {"links": torch.arange(27.0).view(3, 3, 3), "turns": turns, "turns_mask": turns > 0}
    return Dialogue(**vars(plain) | more, names=["a", "b", "c"], inner=Batch.from_lists([[1], [2], [3]]))


@pytest.mark.parametrize("rows", [slice(1, 3), torch.tensor([1, 2])])
def test_rows_are_taken_with_all_that_belongs_to_them(rows):
    whole = dialogue()
    part = whole.take(rows)
    assert type(part) is Dialogue
    for name in ("source", "source_mask", "target", "target_mask", "links", "turns", "turns_mask"):
        assert torch.equal(getattr(part, name), getattr(whole, name)[1:]), name
    assert part.names == ["b", "c"]
    assert part.inner.source.tolist() == [[2], [3]]


def test_padding_is_trimmed_on_every_axis_that_has_a_mask():
    part = dialogue().take(slice(1, 2)).trimmed()
    assert part.source.tolist() == [[7]]
    assert part.turns.tolist() == [[3]]
    assert part.turns_mask.tolist() == [[True]]
    assert part.links.tolist() == [[[9.0], [12.0], [15.0]]], "every target position, but only the source left"
    assert part.target.shape == (1, 4), "what is written is not cut"


def test_trimming_keeps_the_longest_row():
    whole = dialogue()
    assert whole.trimmed().source.shape == (3, 3)
    assert whole.trimmed().turns.shape == (3, 3)


def test_rows_have_different_keys_where_something_different_is_read():
    whole = dialogue()
    keys = whole.row_keys()
    assert keys[1] == "[7][3]"
    assert len(set(keys)) == 3
    assert whole.take(slice(1, 2)).trimmed().row_keys() == [keys[1]], "padding does not count"
    other = replace(whole, target=whole.target + 1, names=["x", "y", "z"])
    assert other.row_keys() == keys
    pictures = Batch(pictures=torch.tensor([[[[0, 0, 1]]], [[[0, 0, 2]]]], dtype=torch.uint8))
    assert len(set(pictures.row_keys())) == 2


def test_the_shape_key_of_a_batch_has_shapes_and_types_and_no_numbers():
    one, same = dialogue(), replace(dialogue(), turns=dialogue().turns + 1)
    assert one.shape_key == same.shape_key
    for other in (
        replace(one, links=None),
        replace(one, turns=one.turns.int()),
        replace(one, inner=Batch.from_lists([[1, 2], [2], [3]])),
        one.take(slice(0, 2)),
    ):
        assert other.shape_key != one.shape_key


def test_a_batch_may_read_only_what_a_subclass_added():
    turns = torch.tensor([[1, 2]])
    assert Dialogue(turns=turns, turns_mask=turns > 0).reads == ("turns",)


def test_rows_of_added_fields_are_counted():
    with pytest.raises(ShapeError, match=r"sizes differ: .*'names': 2"):
        replace(dialogue(), names=["a", "b"])


def test_whole_numbers_of_any_kind_are_tokens():
    class Word(IntEnum):
        ANT = 7

    assert Batch.from_lists([[Word.ANT, 8], [Word.ANT]]).source.tolist() == [[7, 8], [7, PAD]]


def test_what_lies_on_a_device_is_not_waited_for():
    """Reading values would sync a GPU, so masks and tokens are not checked there."""
    batch = Batch.from_lists([[7, 8], [9]], [[4], [5]], labels=[0, 1]).to("meta")
    assert {leaf.device.type for leaf in pytree.leaves(batch)} == {"meta"}
    assert (batch.size, batch.inputs.shape) == (2, (2, 2))
    check_tokens("source", batch.source, 2)
    assert masks.padding(torch.tensor([5, 2], device="meta"), 3).shape == (2, 3)


def test_pictures_have_a_row_for_each_sentence_too():
    assert Batch(pictures=torch.zeros(2, 4, 4, 3)).size == 2
    with pytest.raises(ShapeError, match="'target': 2, 'pictures': 3"):
        Batch(target=TOKENS, target_mask=KEEP, pictures=torch.zeros(3, 4, 4, 3))
