"""CNN/DailyMail as published: a file for each story, and lists of addresses that say which split it belongs to."""

from __future__ import annotations

import hashlib
import json
import logging
from pathlib import Path

from saccade.data.stories import read_story
from saccade.data.text import find_file, lines
from saccade.errors import DataError
from saccade.files import writing

__all__ = ["convert_cnn_dailymail"]

_LISTS = {"train": "all_train.txt", "valid": "all_val.txt", "test": "all_test.txt"}
_FOLDERS = ("cnn/stories", "dailymail/stories", "stories", "cnn", "dailymail", ".")


def convert_cnn_dailymail(origin: Path, out: Path) -> list[Path]:
    """Write train.jsonl, valid.jsonl and test.jsonl with the article as source and the highlights as target.

    A story's file is named by the SHA-1 of its address, and the lists hold addresses.
    """
    folders = [folder for name in _FOLDERS if (folder := origin / name).is_dir() and any(folder.glob("*.story"))]
    if not folders:
        raise DataError(
            f"{origin} has no stories: no folder cnn/stories or dailymail/stories with files named *.story."
        )
    written = []
    for split, name in _LISTS.items():
        addresses = [line.strip() for line in lines(_list(origin, name)) if line.strip()]
        names = [f"{hashlib.sha1(address.encode()).hexdigest()}.story" for address in addresses]
        places = [next((folder / name for folder in folders if (folder / name).exists()), None) for name in names]
        found = [place for place in places if place is not None]
        if not found:
            raise DataError(f"none of the {len(names):,} stories of {name} is in {origin}. Unpack the stories there.")
        if len(found) < len(names):
            missing = len(names) - len(found)
            logging.getLogger("saccade").warning("%s: %s of %s stories are missing", name, f"{missing:,}", len(names))
        written.append(out / f"{split}.jsonl")
        with writing(written[-1]) as file:
            for story in map(read_story, found):
                record = {"source": story.source, "target": story.target}
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
    return written


def _list(origin: Path, name: str) -> Path:
    there = [find_file(folder / name) for folder in (origin, origin / "url_lists")]
    found = next((path for path in there if path.exists()), None)
    if found is None:
        raise DataError(f"{origin} has no {name}, the list of a split. Copy the folder url_lists there.")
    return found
