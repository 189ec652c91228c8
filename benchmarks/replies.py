"""Compare ways of writing replies on training dialogues that were left out, then measure the best on other data.

    python benchmarks/replies.py split dialogues_train.txt.xz FOLDER
    python benchmarks/replies.py search MODEL FOLDER/valid.txt dialogues_validation.txt.xz
    python benchmarks/replies.py check MODEL dialogues_validation.txt.xz

`split` writes 400 dialogues to valid.txt and the others to train.txt. `search` prints a JSON line per setting: greedy
search with limits, beam search, minimum Bayes risk and sampling. Of each of the first three, the best F1 is measured on
the other data, too; of the slow searches, on 3,000 replies. `check` measures the settings that were chosen so.
"""

from __future__ import annotations

import argparse
import json
import lzma
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import saccade
from saccade.data.dialogues import dialogues
from saccade.metrics import answer_scores

LEFT_OUT = 400  # dialogues
SOME = 1400
"""Left-out replies for each setting."""
SLOW = 3000
"""Replies to other data, for searches that take long."""
_GREEDY: dict[str, Any] = {"sample": False, "no_repeat_ngram": None}
_MBR: dict[str, Any] = {"sample": True, "top_p": None, "batch_size": 128}
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "greedy": [
        _GREEDY,
        *[_GREEDY | {"no_repeat_ngram": 3, "min_length": least} for least in (0, 6, 8, 10)],
        *[_GREEDY | {"no_repeat_ngram": 2, "min_length": least} for least in (6, 8, 10, 12)],
        *[_GREEDY | {"no_repeat_ngram": 1, "min_length": least} for least in (6, 8, 10)],
    ],
    "beam": [{"sample": False, "beam": 4, "length_penalty": 1.0, "min_length": least} for least in (0, 8)],
    "mbr": [
        _MBR | {"mbr": 64, "temperature": 0.7},
        _MBR | {"mbr": 64, "temperature": 0.7, "min_length": 8},
        _MBR | {"mbr": 64, "temperature": 0.5, "min_length": 10},
        _MBR | {"mbr": 64, "temperature": 0.7, "min_length": 10},
        _MBR | {"mbr": 64, "temperature": 0.5, "min_length": 12},
    ],
    "sampled": [{}],
}
CHOSEN: dict[str, dict[str, Any]] = {
    "greedy": _GREEDY,
    "limited": _GREEDY | {"no_repeat_ngram": 2, "min_length": 8},
    "mbr": _MBR | {"mbr": 64, "temperature": 0.5, "min_length": 10, "no_repeat_ngram": 3},
    "sampled": {},
}


def split(path: Path, folder: Path) -> None:
    """Leave the last dialogues out of training."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        lines = list(file)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "valid.txt").write_text("".join(lines[-LEFT_OUT:]), encoding="utf-8")
    (folder / "train.txt").write_text("".join(lines[:-LEFT_OUT]), encoding="utf-8")


def search(folder: Path, valid: Path, others: Path) -> Iterator[dict[str, Any]]:
    """Yield the metrics of each setting on `valid`, then of the best ones on `others`."""
    model = saccade.load(folder)
    held_out, examples = list(dialogues(valid)), list(dialogues(others))
    best: dict[str, tuple[float, dict[str, Any]]] = {}
    for kind, settings in SETTINGS.items():
        best[kind] = (-1.0, settings[0])
        for options in settings:
            metrics = measured(model, held_out[:SOME], options)
            best[kind] = max(best[kind], (metrics["f1"], options), key=lambda pair: pair[0])
            yield {"data": "left out", "kind": kind, "options": options, **metrics}
    yield {"data": "validation", "kind": "greedy", "options": _GREEDY, **measured(model, examples, _GREEDY)}
    for kind, (_, options) in best.items():
        out, most = folder / f"{kind}.txt", SLOW if kind in ("beam", "mbr") else len(examples)
        yield {"data": "validation", "kind": kind, "options": options, **measured(model, examples[:most], options, out)}


def check(folder: Path, others: Path) -> Iterator[dict[str, Any]]:
    """Yield the metrics of the chosen settings."""
    model, examples = saccade.load(folder), list(dialogues(others))
    for kind, options in CHOSEN.items():
        some = examples[:SLOW] if kind == "mbr" else examples
        found = measured(model, some, options, folder / f"{kind}.txt")
        yield {"data": "validation", "kind": kind, "options": options, **found}


def measured(model: Any, examples: list[Any], options: dict[str, Any], out: Path | None = None) -> dict[str, Any]:
    """Return the metrics of replies, and F1 by the rules of SQuAD; write dialogues and replies to `out`."""
    began = time.perf_counter()
    found = model.evaluate(examples, **options)
    seconds = time.perf_counter() - began
    texts, references = [made.text for made in found.predictions], [[one.target] for one in examples]
    squad = answer_scores(texts, references)["f1"].total().value
    if out is not None:
        lines = (
            f"{' / '.join(one.turns[-3:])}\n  -> {text}\n   = {one.target}\n"
            for one, text in zip(examples, texts, strict=True)
        )
        out.write_text("".join(lines), encoding="utf-8")
    human = {f"human_{name}": found.details["references"][name] for name in ("distinct_2", "reply_length")}
    return {"replies": len(texts), "seconds": seconds, "f1_squad": squad, **found.metrics, **human}


def main() -> None:
    """Run one of the commands."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["split", "search", "check"])
    parser.add_argument("paths", nargs="+", type=Path)
    given = parser.parse_args()
    if given.command == "split":
        split(*given.paths)
        return
    for line in (search if given.command == "search" else check)(*given.paths):
        print(json.dumps({name: round(x, 4) if isinstance(x, float) else x for name, x in line.items()}), flush=True)


if __name__ == "__main__":
    main()
