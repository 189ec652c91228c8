"""Points and their positions: texts, arrays, files and batches."""

import json

import numpy as np
import pytest
import torch

from saccade.batch import BOS, EOS
from saccade.data.example import Example
from saccade.data.forms import ORDERS
from saccade.data.loader import collate
from saccade.data.point_features import OrderFeature, PointFeature
from saccade.data.points import Positions, padded_points, parse_order, parse_points
from saccade.data.store import Store
from saccade.errors import DataError


@pytest.mark.parametrize(
    ("text", "points"),
    [
        ("0.5,1 -2,3e-1", [[0.5, 1.0], [-2.0, 0.3]]),
        (" 0.5  2 ", [[0.5], [2.0]]),
        ("[[0.5, 1], [2, 3]]", [[0.5, 1.0], [2.0, 3.0]]),
        ("[0.5, 2]", [[0.5], [2.0]]),
    ],
)
def test_texts_and_arrays(text, points):
    assert parse_points(text) == points
    assert parse_points(text, len(points[0])) == points


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("here", "'here' is no list of points. Write x,y for each point"),
        ("1,,2", "is no list of points"),
        ("[1, [2]", "is no list of points"),
        ('["1"]', "is no list of points"),
        ("[[]]", "is no list of points"),
        ("[true]", "is no list of points"),
        ("[]", "has no points"),
        ("1,nan", "a number that is not finite"),
        ("1e30 2", "a number that is not finite"),
        ("1,2 3", "point 2 of '1,2 3' has 1 numbers, but needs 2"),
        ("1,2,3", "point 1 of '1,2,3' has 3 numbers, but needs 2"),
    ],
)
def test_what_is_no_points_is_named(text, said):
    with pytest.raises(DataError) as error:
        parse_points(text, 2)
    assert said in str(error.value)


def test_positions_count_from_one():
    assert parse_order("3 1", 3) == [2, 0]
    assert parse_order("", 3) == []
    for text in ("0 1", "4", "1.5", "a"):
        with pytest.raises(DataError, match="is no list of positions from 1 to 3"):
            parse_order(text, 3)


def test_positions_are_tokens():
    spelling = Positions(3)
    encoded = spelling.encode("3 1")
    assert (encoded.tokens, encoded.words) == ([6, 4], [0, 1])
    assert spelling.decode([6, 4, EOS, 5]) == "3 1"
    assert spelling.pieces([BOS, 6, EOS]) == ["<bos>", "3", "<eos>"]
    assert spelling.spelled([6, 4], words=False)[1].words == []


def test_padding_and_the_end():
    parts = padded_points([[[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]]], 2, 3, 5)
    assert parts["source"].shape == (3, 5, 2)
    assert parts["source_mask"].sum(1).tolist() == [2, 3, 1]
    assert parts["source"][0, :2].tolist() == [[1, 2], [0, 0]]
    assert parts["source"][1, 2:].abs().sum() == parts["source"][2].abs().sum() == 0


def test_a_store_gives_batches(tmp_path):
    examples = [Example(source="0.1,0.2 0.3,0.4", target="2 1"), Example(source="[[0.5, 0.5]]", target="1")]
    store = Store.open(tmp_path, "key", examples, [PointFeature(2), OrderFeature()])
    batch = collate(store, np.array([1, 0]))
    assert batch.source.dtype == torch.float32
    assert batch.source[1, :2].flatten().tolist() == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert batch.source_mask.tolist() == [[True, True, False], [True, True, True]]
    assert batch.target.tolist() == [[BOS, 4, EOS, 0], [BOS, 5, 4, EOS]]
    assert [feature.lengths(store.columns[feature.name]).tolist() for feature in store.features] == [[3, 2], [3, 2]]


@pytest.mark.parametrize(
    ("example", "said"),
    [
        (Example(source="1,2 3", target="1"), "example 1: point 2 of"),
        (Example(source="1,2", target="2"), "example 1: '2' is no list of positions from 1 to 1"),
        (Example(source="1,2"), "example 1 has no target"),
    ],
)
def test_examples_with_faults_are_named(tmp_path, example, said):
    with pytest.raises(DataError, match=said):
        Store.open(tmp_path, "key", [example], [PointFeature(2), OrderFeature()])


def test_answers_that_a_model_could_not_give_are_named(tmp_path):
    points, strict = Example(source="1 2 3", target="1 3 1"), OrderFeature(repeated=False)
    with pytest.raises(DataError, match=r"example 1 has a position twice: '1 3 1'\. Set points\.choose to any"):
        strict.encode([(1, points)])
    assert OrderFeature().encode([(1, points)]) == [[4, 6, 4]]
    short = Example(source="1 2 3", target="1 3")
    assert strict.encode([(1, short)]) == [[4, 6]]
    with pytest.raises(DataError, match=r"example 1 has 2 of 3 positions: '1 3'\. Set points\.choose to once"):
        OrderFeature(repeated=False, whole=True).encode([(1, short)])
    assert len({str(each.fingerprint()) for each in (strict, OrderFeature(), OrderFeature(whole=True))}) == 3


def test_other_dimensions_are_another_column():
    assert PointFeature(1).fingerprint() != PointFeature(2).fingerprint()


def read(tmp_path, *records, keys=None):
    path = tmp_path / "points.jsonl"
    path.write_text("\n".join(map(json.dumps, records)))
    return [(one.source, one.target) for one in ORDERS.read([path], keys=keys)]


def test_json_lines(tmp_path):
    records = {"points": [[0.5, 1], [2, 3]], "order": [2, 1]}, {"points": "1 2", "order": "1 2"}
    assert read(tmp_path, *records) == [("0.5,1 2,3", "2 1"), ("1 2", "1 2")]
    keys = {"source": "p", "target": "o"}
    assert read(tmp_path, {"p": [0.5, 1], "o": [2, 1]}, keys=keys) == [("0.5 1", "2 1")]


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"points": [["a"]], "order": [1]}, r"line 1: 'points' is .*, but holds numbers or lists of them"),
        ({"points": [1]}, "order"),
    ],
)
def test_json_lines_with_faults_are_named(tmp_path, record, said):
    with pytest.raises(DataError, match=said):
        read(tmp_path, record)


def test_pairs_of_files(tmp_path):
    paths = ORDERS.write([Example(source="1 2", target="2 1")], tmp_path, "text", ("points", "order"))
    assert [path.name for path in paths] == ["text.points", "text.order"]
    assert [(one.source, one.target) for one in ORDERS.read(paths)] == [("1 2", "2 1")]
