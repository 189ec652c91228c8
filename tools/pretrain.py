"""Make the models that ship with the package: train, evaluate once on the test split, store in half precision.

python tools/pretrain.py [NAME …]           one thread, 2 to 3 minutes of CPU time each, into src/saccade/pretrained
python tools/pretrain.py NAME --from DIR    store a model trained before with these settings

Corpus and grammar are part of saccade, so data and weights have its license.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import torch

import saccade
from saccade import checksums
from saccade.recipes import to_yaml
from saccade.runs.corpus import Corpus
from saccade.runs.folder import write_model
from saccade.train.checkpoint import weights_of

PLACE = Path(__file__).parent.parent / "src" / "saccade" / "pretrained"
STEPS = {"steps": 1800, "validate_every": 1800, "checkpoint_every": 600}
RECURRENT = {
    "model": {"embedding": 48, "encoder": {"width": 64}, "decoder": {"width": 96, "output_width": 48}},
    "train": STEPS,
}
TRANSFORMER = {"tokenizer": {"kind": "word", "size": None}, "model": {"width": 64, "feed_forward": 256}, "train": STEPS}
MODELS = {
    "demo": ("english-french", RECURRENT, "English to French with additive attention (Bahdanau et al.)"),
    "demo-fixed": ("english-french-fixed", RECURRENT, "English to French through one fixed vector, without attention"),
    "demo-transformer": ("english-french-transformer", TRANSFORMER, "English to French, a small Transformer"),
}


def store(model: saccade.Model, name: str, about: str) -> None:
    """Write a trained model in half precision, with its BLEU on the test split in its note."""
    task, folder = model.task, PLACE / name
    bleu = model.evaluate(Corpus(task.recipe).examples("test")).metrics["bleu"]
    settings = task.recipe.dump() | {"note": f"{about}; BLEU {bleu:.1f}", "takes": None}
    settings["data"]["cache"] = None
    folder.mkdir(parents=True, exist_ok=True)
    checksums.write_listed(folder / "recipe.yaml", to_yaml(settings))
    checksums.write_listed(folder / "tokenizer.json", task.tokenizers.dump())
    write_model(folder, {key: part.half() for key, part in weights_of(task.model).items()}, task.tokenizers)
    again = saccade.load(folder, device="cpu")
    stored = again.evaluate(Corpus(task.recipe).examples("test")).metrics["bleu"]
    size = sum(file.stat().st_size for file in folder.iterdir())
    print(f"{name}: BLEU {bleu:.2f}, in half precision {stored:.2f}; {size:,} bytes")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("names", nargs="*", default=[*MODELS])
    arguments.add_argument("--from", dest="origin", type=Path, help="folder of a model trained before")
    chosen = arguments.parse_args()
    torch.set_num_threads(1)
    for name in chosen.names:
        recipe, changes, about = MODELS[name]
        if chosen.origin is not None:
            store(saccade.load(chosen.origin, device="cpu"), name, about)
            continue
        with tempfile.TemporaryDirectory() as place:
            store(saccade.train(recipe, Path(place) / name, progress=True, **changes), name, about)


if __name__ == "__main__":
    main()
