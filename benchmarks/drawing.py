"""Judge pictures of sentences by a captioner that was trained apart from the generator.

    python benchmarks/drawing.py runs/draw runs/scenes --out result.json

Draws the captions of the held-out split, which training has not seen, and lets the captioner read the pictures. A noun
is kept if the captioner names it with its color and place. The same for the real pictures is the captioner's ceiling.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

import saccade
from saccade.corpora.scenes import scenes
from saccade.corpora.scenes.described import described, nouns_kept
from saccade.corpora.scenes.things import COLOURS
from saccade.data.pictures import fit
from saccade.look.picture import png

_RELATIONS = ("between", "inside", "left", "right", "above", "below", "beside")


def relation(caption: str) -> str:
    """Return the kind of a plain caption."""
    places = set().union(*(part.places for part in described(caption)))
    groups = len(described(caption))
    return (
        "corner" if groups == 3 and "between" not in places else next((p for p in _RELATIONS if p in places), "alone")
    )


def shares(asked: list[str], read: list[str]) -> dict[str, Any]:
    """Return the share of nouns kept, of colored nouns whatever their place, of captions read back word for word."""
    pairs = list(zip(asked, read, strict=True))
    counts = np.array([nouns_kept(*pair) for pair in pairs])
    named = [_named(*pair) for pair in pairs]
    chance = np.random.default_rng(1)
    drawn = [counts[chance.integers(0, len(counts), len(counts))].sum(0) for _ in range(1000)]
    low, high = np.percentile([kept / total for kept, total in drawn], [2.5, 97.5])
    groups: dict[str, list[Any]] = defaultdict(list)
    for pair, count in zip(pairs, counts, strict=True):
        groups[relation(pair[0])].append(count)
    return {
        "nouns": float(counts[:, 0].sum() / counts[:, 1].sum()),
        "nouns_band": [float(low), float(high)],
        "colored_nouns": float(np.sum(named) / counts[:, 1].sum()),
        "counted_nouns": float(sum(_counted(*pair) for pair in pairs) / counts[:, 1].sum()),
        "exact": float(np.mean([one == other for one, other in pairs])),
        "by_relation": {
            name: [float(np.sum(part, 0)[0] / np.sum(part, 0)[1]), len(part)] for name, part in sorted(groups.items())
        },
    }


def _named(asked: str, read: str) -> int:
    return _shared([(g.colour, g.kind) for g in described(asked)], [(g.colour, g.kind) for g in described(read)])


def _counted(asked: str, read: str) -> int:
    return _shared(list(described(asked)), list(described(read)))


def _shared(wanted: list[Any], found: list[Any]) -> int:
    return sum(1 for part in wanted if part in found and (found.remove(part) or True))


def read_all(captioner: Any, pictures: list[Any], beam: int) -> list[str]:
    """Return the captioner's captions of pictures."""
    opened = [captioner.task.opened(picture) for picture in pictures]
    search = captioner.search(beam=beam)
    parts = [opened[start : start + 100] for start in range(0, len(opened), 100)]
    return [each.text for part in parts for each in captioner.task.predict(part, search, attention=False)]


def pointing(model: Any, asked: list[str], first: int) -> dict[str, Any]:
    """Compare the map of each color word with the pixels of that color in its drawing.

    hits: the share of words whose strongest region has such a pixel. lift: the mean weight of the word in regions with
    such pixels, as a multiple of its mean weight in all regions; the median. Colors that a caption names twice, and
    those with fewer than 8 pixels, are left out.
    """
    hits, lifts = [], []
    for number, caption in enumerate(asked):
        found = model(caption, seed=first + number)
        grid = found.attention.picture.rows
        pixels = found.image.astype(np.float32)
        shades = np.array([*COLOURS.values(), (235, 235, 235)], np.float32)
        nearest = ((pixels[:, :, None] - shades) ** 2).sum(-1).argmin(-1)
        maps = found.attention.matrix(found.attention.default_site)
        for place, word in enumerate(found.attention.target.words):
            if word not in COLOURS or found.attention.target.words.count(word) > 1:
                continue
            inside = nearest == [*COLOURS].index(word)
            if inside.sum() < 8:
                continue
            size = len(inside) // grid
            regions = inside.reshape(grid, size, grid, size).any((1, 3)).ravel()
            hits.append(bool(regions[maps[place].argmax()]))
            lifts.append(float(maps[place][regions].mean() / maps[place].mean()))
    return {"words": len(hits), "hits": float(np.mean(hits)), "lift": float(np.median(lifts))}


def main() -> None:
    """Judge models and print a line of JSON for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("captioner", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="file for the lines; pictures are written beside it")
    parser.add_argument("--split", default="valid")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--beam", type=int, default=3)
    parser.add_argument("--pointing", type=int, default=0, help="captions whose color words are looked for")
    options = parser.parse_args()
    captioner = saccade.load(options.captioner)
    size = captioner.task.recipe.data.image_size
    lines = []
    for folder in options.models:
        model = saccade.load(folder)
        side = model.task.recipe.data.image_size
        examples = list(scenes(options.split, options.count, 1, canvas=max(48, side), captions=1))
        asked = [example.target or "" for example in examples]
        real = [fit(example.image.load(), side, "crop") for example in examples if example.image is not None]
        began = time.perf_counter()
        drawn = list(model.task.drawn(asked))
        seconds = time.perf_counter() - began
        line: dict[str, Any] = {
            "model": folder.name,
            "split": options.split,
            "captions": len(asked),
            "draw_seconds": seconds,
        }
        for name, pictures in (("drawn", drawn), ("real", real)):
            read = read_all(captioner, [fit(one, size, "crop") for one in pictures], options.beam)
            line[name] = shares(asked, read)
        if options.pointing:
            line["pointing"] = pointing(model, asked[: options.pointing], 1)
        lines.append(line)
        print(json.dumps(line), flush=True)
        rows = [np.concatenate(drawn[start : start + 12], 1) for start in range(0, min(96, len(drawn) - 11), 12)]
        options.out.with_name(f"{folder.name}.png").write_bytes(png(np.concatenate(rows)))
    options.out.write_text("".join(json.dumps(line) + "\n" for line in lines))


if __name__ == "__main__":
    main()
