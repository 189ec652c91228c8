"""Train one row, measure it, and write its report files."""

from __future__ import annotations

import json
import platform
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from plan import Group, Row
from smaller import smaller

import saccade
from saccade.api import load
from saccade.data.example import Example
from saccade.data.public import PUBLIC
from saccade.data.text import find_file
from saccade.errors import ConfigError
from saccade.files import write_atomically
from saccade.look.figure_spec import FigureSpec
from saccade.metrics import align, alignment_statistics, error_rate, sums_interval
from saccade.prediction import AttentionMaps
from saccade.recipes import read_yaml, to_yaml
from saccade.recipes.schema import Recipe
from saccade.runs.corpus import Corpus
from saccade.runs.evaluation import examples_to_test, summarise
from saccade.runs.recipe import load_recipe, parse_recipe
from saccade.runs.training import train
from saccade.train.log import TrainingCallback

SILVER = 500
"""Number of validation sentences with aligner links that select the head to read."""
PUBLISHED = {"tatoeba": "tatoeba_en_fr", "alignment": "."}
"""Data sets that a converter makes from published files: name -> folder of the published files below --data."""
LOGGED = 25
"""Log lines to keep, besides validations."""
DIGITS = 4
"""Significant digits to keep of a number in the log."""


class Facts(TrainingCallback):
    """Stores the facts that training reports at its start."""

    def __init__(self) -> None:
        self.facts: dict[str, Any] = {}

    def on_train_begin(self, steps: int, first: int, facts: dict[str, Any]) -> None:
        self.facts = facts


def prepared(name: str, data: Path, runs: Path) -> Path:
    """Return the folder of a data set; convert the published files first if needed."""
    if (data / name).is_dir():
        return (data / name).resolve()
    made = runs / "data" / name
    if name not in PUBLISHED:
        raise SystemExit(f"{data} has no folder {name}. See: saccade data {name}")
    if not made.is_dir():
        convert = PUBLIC[name].convert
        assert convert is not None
        partial = made.with_name(f"{name}.part")
        shutil.rmtree(partial, ignore_errors=True)
        convert(data / PUBLISHED[name], partial)
        partial.rename(made)
    for links in (data / "links").glob("*.align*"):  # from aligner.py, possibly later than the data
        if not (made / links.name).exists():
            shutil.copy(links, made / links.name)
    return made.resolve()


def measure(
    row: Row,
    group: Group,
    settings: list[str],
    folder: Path,
    out: Path,
    *,
    final: bool,
    device: str,
    about: dict[str, Any],
    command: str,
) -> bool:
    """Train a row into `folder` unless done, measure it, write to `out`. Return False if training was interrupted."""
    recipe, watcher = load_recipe(row.recipe, settings), Facts()
    begun = folder / "settings.yaml"
    if begun.exists() and resolved(parse_recipe(read_yaml(begun)), group) != resolved(recipe, group):
        raise SystemExit(f"{folder} was begun with other settings: give these a --tag, or remove it")
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(begun, resolved(recipe, group))
    seen: dict[str, Any]
    if not (folder / "trained.json").exists():
        outcome = train(recipe, folder, resume=(folder / "checkpoints").is_dir(), watcher=watcher)
        if outcome.why == "interrupted":
            return False
        progress = outcome.progress
        seen = {
            "why": outcome.why,
            "steps": progress.step,
            "seconds": round(progress.seconds, 1),
            "best_step": progress.best_step,
            "facts": named(watcher.facts),
            "device": torch.cuda.get_device_name() if torch.cuda.is_available() and device != "cpu" else "CPU",
        }
        write_atomically(folder / "trained.json", json.dumps(seen))
        shutil.rmtree(folder / "checkpoints", ignore_errors=True)  # keeps the exported model
    seen = json.loads((folder / "trained.json").read_text(encoding="utf-8"))
    found = evaluated(recipe, group, folder, final=final, device=device)
    versions = {"saccade": saccade.__version__, "torch": torch.__version__, "python": platform.python_version()}
    names = {"recipe": row.recipe, "label": row.label, "metric": group.metric, "final": final, "command": command}
    report = {**about, **names, **found, **seen, "versions": versions, "learning": learning(folder / "log.jsonl")}
    out.mkdir(parents=True, exist_ok=True)
    if final and about["seed"] == 1 and not about["tag"]:
        draw(group, folder, out.parents[1] / f"attention-{about['row']}.svg", found, device)
    write_atomically(out / "recipe.yaml", resolved(recipe, group))
    write_atomically(out / "log.jsonl", short_log(folder / "log.jsonl"))
    write_atomically(out / "metrics.json", json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    return True


def named(facts: dict[str, Any]) -> dict[str, Any]:
    """Replace paths in the facts by file names."""
    laid = facts.get("vectors")
    return facts if laid is None else {**facts, "vectors": {**laid, "file": Path(laid["file"]).name}}


def evaluated(recipe: Recipe, group: Group, folder: Path, *, final: bool, device: str) -> dict[str, Any]:
    """Compute the metrics of a model, also by length, and the alignment error rate of each head if there are links.

    Only final runs use the gold links; other runs use the aligner's links instead.
    """
    model = load(folder, device=device)
    files = recipe.data.test is not None and all(path.exists() for path in recipe.data.paths("test"))
    test = files or recipe.data.corpus is not None
    split = "test" if final and test else "valid"
    examples = examples_to_test(recipe, split=split)
    found = model.evaluate(examples)
    summary = summarise(found)
    del summary["by_length"]
    bins = [vars(entry) for entry in found.by_length(bounds=group.bounds)]
    report = {"split": split, **summary, "by_length": bins}
    taught = silver(recipe) if group.metric == "aer" else []
    gold = [example for example in examples if example.links] if final else taught
    if group.metric == "aer" and gold:
        report["heads"] = heads(model.task, gold, taught)
        chosen = report["heads"]["chosen"]
        report["metrics"]["aer"], report["bands"]["aer"] = chosen["aer"], chosen["band"]
    return report


def silver(recipe: Recipe) -> list[Example]:
    """Return validation sentences with links from an aligner, if any; they select the head to read."""
    paths = [*recipe.data.paths("valid")[:2], find_file(Path(recipe.data.folder or "") / "valid.align")]
    if not paths[-1].exists():
        return []
    found = [example for example in Corpus(recipe).read(paths) if example.links and example.links.sure]
    return found[:SILVER]


def heads(task: Any, gold: list[Example], silver: list[Example]) -> dict[str, Any]:
    """Compute the error rate of each head, each layer's mean and the overall mean under each shift, and choose one.

    The chosen one agrees best with the aligner's links; a guided head, if there is one, is always chosen. Without
    aligner links it is the mean of all heads, at the step that predicts the word. `lowest` is the best on the gold
    links, which is not a fair choice. `band` is the 95 % confidence interval of the chosen one.
    """
    taught = task.terms.get("guided_alignment")
    attentions, tried = task.attend(gold), task.attend(silver) if silver else []
    counts = {site: len(attentions[0].weights[site]) for site in task.model.source_sites}
    sites = [(site, head) for site, count in counts.items() for head in (None, *range(count))]
    guided = (taught.site, taught.head) if taught is not None and taught.weight else None
    rows = []
    for site, head in [(None, None), *sites]:
        for shift in (0, 1):
            entry = {"site": site, "head": head, "shift": shift, "aer": rate(attentions, gold, site, head, shift)}
            entry["silver"] = rate(tried, silver, site, head, shift) if silver else None
            rows.append(entry)
    allowed = [row for row in rows if guided is None or (row["site"], row["head"]) == guided]
    chosen = min(allowed, key=lambda row: row["silver"]) if silver else allowed[0]
    counts_of_chosen = read_links(attentions, gold, chosen["site"], chosen["head"], chosen["shift"])
    band = sums_interval(counts_of_chosen, error_rate)
    chosen = {**chosen, "band": [band.lower, band.upper]}
    return {"chosen": chosen, "lowest": min(rows, key=lambda row: row["aer"]), "all": rows}


def rate(attentions: Sequence[AttentionMaps], examples: Sequence[Example], site: Any, head: Any, shift: int) -> float:
    """Compute the alignment error rate of one site, head and shift."""
    return error_rate(read_links(attentions, examples, site, head, shift).sum(0))


def read_links(
    attentions: Sequence[AttentionMaps], examples: Sequence[Example], site: Any, head: Any, shift: int
) -> NDArray[np.float64]:
    """Return the counts of each sentence for the alignment error rate (N, 4), for one site, head and shift."""
    links = []
    for attention in attentions:
        matrix = attention.matrix(site, head)[:, : len(attention.source.words)]
        links.append(align(matrix, shift=shift, words=len(matrix) - 1))
    return alignment_statistics(links, [example.links for example in examples if example.links])


def draw(group: Group, folder: Path, path: Path, found: dict[str, Any], device: str) -> None:
    """Draw the attention on the group's sentence, if the model has attention."""
    if group.picture is None:
        return
    model = load(folder, device=device)
    if model.task.name == "language-modeling":
        (seen,) = model.task.predict([group.picture], model.search(max_length=1))
        view = FigureSpec(style="reading")
    else:
        (seen,) = model.task.predict([group.picture], model.search())
        chosen = found["heads"]["chosen"] if "heads" in found else {"site": None, "head": None}
        view = FigureSpec(site=chosen["site"], head=chosen["head"])
    try:
        seen.attention.save(path, view=view)
    except ConfigError:  # a model without attention
        return
    write_atomically(path, smaller(path.read_text(encoding="utf-8")))


def resolved(recipe: Recipe, group: Group) -> str:
    """Return the complete recipe as YAML, without paths of this machine."""
    settings = recipe.dump()
    settings["data"] |= {"folder": group.data, "cache": None}
    if settings["embeddings"]["file"] is not None:
        settings["embeddings"]["file"] = Path(settings["embeddings"]["file"]).name
    return to_yaml(settings)


def learning(path: Path) -> list[dict[str, float]]:
    """Return the validations of a log: step, seconds of training and scores."""
    entries = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [
        {"step": entry["step"], "seconds": round(entry["seconds"], 1)}
        | {name: round(value, 4) for name, value in entry["valid"].items() if value is not None and "/" not in name}
        for entry in entries
        if "valid" in entry
    ]


def short_log(path: Path) -> str:
    """Shorten a log to its validations and about LOGGED of its other lines, and round its numbers."""
    lines = path.read_text(encoding="utf-8").splitlines()
    plain = [number for number, line in enumerate(lines) if '"valid"' not in line]
    every = max(1, -(-len(plain) // LOGGED))
    kept = set(plain[every - 1 :: every]) | {number for number in range(len(lines)) if number not in set(plain)}
    entries = (rounded(json.loads(lines[number])) for number in sorted(kept))
    return "".join(f"{json.dumps(entry, ensure_ascii=False)}\n" for entry in entries)


def rounded(value: Any) -> Any:
    """Round the numbers of a log entry to DIGITS digits."""
    if isinstance(value, dict):
        return {name: rounded(part) for name, part in value.items()}
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
