"""Captioning of photographs from scratch: the recipe `flickr8k`, soft and hard attention, on a GPU.

    python benchmarks/photographs.py --data DIR [--only soft] [--out runs]

DIR holds train.captions.tsv.xz and valid.captions.tsv.xz, with an image name and a caption on each line, and the images
in train.images.zip and valid.images.zip. Trains as `saccade train` does unless the model exists, and evaluates it on
the validation images. Two controls separate content from fluency: each caption scored against another image's
references, and the most frequent caption for all images. Prints a JSON line for each.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from pathlib import Path

import torch

from saccade.api import load
from saccade.data.captions import by_picture
from saccade.metrics import CAPTION_METRICS, caption_statistics
from saccade.runs.corpus import Corpus
from saccade.runs.recipe import load_recipe
from saccade.runs.training import train


def trained(kind: str, data: Path, folder: Path) -> int | None:
    """Train a model and return the seconds; None if it exists already."""
    if (folder / "model.safetensors").exists():
        return None
    recipe = load_recipe("flickr8k", [f"data.folder={data}", f"model.preset=show-attend-tell-{kind}"])
    began = time.perf_counter()
    train(recipe, folder)
    return round(time.perf_counter() - began)


def score(texts: list[str], references: list[list[str]]) -> dict[str, float]:
    """Compute every caption metric."""
    parts = {name: caption_statistics(name, texts, references) for name in CAPTION_METRICS}
    return {name: round(float(part.score(part.counts.sum(0))), 3) for name, part in parts.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=["soft", "hard"], choices=["soft", "hard"], metavar="KIND")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("runs"))
    options = parser.parse_args()
    recipe = load_recipe("flickr8k", [f"data.folder={options.data}"])
    examples = list(Corpus(recipe).examples("valid"))
    references = list({name: list(example.references or ()) for name, example in by_picture(examples)}.values())
    for kind in options.only:
        folder = options.out / f"flickr8k-{kind}"
        seconds = trained(kind, options.data, folder)
        model = load(folder)
        texts = [prediction.text for prediction in model.evaluate(examples).predictions]
        usual, count = Counter(texts).most_common(1)[0]
        cases = {
            kind: texts,
            f"{kind}, against another picture's captions": [*texts[1:], texts[0]],
            f"{kind}, its most frequent caption for all": [usual] * len(texts),
        }
        for case, written in cases.items():
            print(json.dumps({"case": case, **score(written, references)}), flush=True)
        facts = {"pictures": len(texts), "captions that differ": len(set(texts)), "most frequent": [usual, count]}
        print(json.dumps({"case": kind, "seconds": seconds, **facts, "torch": torch.__version__}), flush=True)


if __name__ == "__main__":
    main()
