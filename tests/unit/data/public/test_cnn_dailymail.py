"""CNN/DailyMail: stories are found by the addresses of a split's list, and become JSON lines."""

import hashlib
import logging

import pytest

from helpers.commands import run
from saccade.data.forms import SUMMARIES
from saccade.data.public.cnn_dailymail import convert_cnn_dailymail
from saccade.errors import DataError

LISTS = {"train": [1, 2], "val": [3], "test": [4]}


def address(number: int) -> str:
    return f"http://news.example/{number}"


@pytest.fixture
def origin(tmp_path):
    """Stories 1 and 2 of one publisher, 3 and 4 of the other; the last line of a list has no end."""
    for number in range(1, 5):
        folder = tmp_path / ("cnn" if number < 3 else "dailymail") / "stories"
        folder.mkdir(parents=True, exist_ok=True)
        name = hashlib.sha1(address(number).encode()).hexdigest()
        (folder / f"{name}.story").write_text(f"Report {number}\n\n@highlight\n\nNews {number}\n")
    (tmp_path / "url_lists").mkdir()
    for split, numbers in LISTS.items():
        (tmp_path / "url_lists" / f"all_{split}.txt").write_text("\n".join(map(address, numbers)))
    return tmp_path


def test_each_split_gets_its_stories(origin, tmp_path, capsys):
    ran = run(capsys, "data", "cnn-dailymail", "--from", origin, "--out", tmp_path / "out")
    assert ran.code == 0, ran.err
    found = {split: list(SUMMARIES.read([tmp_path / "out" / f"{split}.jsonl"])) for split in ("train", "valid", "test")}
    assert [(one.source, one.target) for one in found["train"]] == [
        ("Report 1 .", "News 1 ."),
        ("Report 2 .", "News 2 ."),
    ]
    assert [one.source for one in found["valid"]] == ["Report 3 ."]
    assert [one.target for one in found["test"]] == ["News 4 ."]


def test_missing_stories_are_counted_and_none_at_all_is_an_error(origin, tmp_path, caplog):
    next(path for path in (origin / "cnn/stories").iterdir() if "Report 1" in path.read_text()).unlink()
    with caplog.at_level(logging.WARNING, "saccade"):
        written = convert_cnn_dailymail(origin, tmp_path / "out")
    assert caplog.messages == ["all_train.txt: 1 of 2 stories are missing"]
    assert len(written[0].read_text().splitlines()) == 1
    (origin / "url_lists" / "all_test.txt").write_text(address(9))
    with pytest.raises(DataError, match=r"none of the 1 stories of all_test\.txt is in"):
        convert_cnn_dailymail(origin, tmp_path / "out")


def test_what_is_missing_is_named(origin, tmp_path):
    (origin / "url_lists" / "all_val.txt").unlink()
    with pytest.raises(DataError, match=r"has no all_val\.txt, the list of a split"):
        convert_cnn_dailymail(origin, tmp_path / "out")
    with pytest.raises(DataError, match="has no stories: no folder cnn/stories"):
        convert_cnn_dailymail(tmp_path / "url_lists", tmp_path / "out")
