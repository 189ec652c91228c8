"""Train one row, measure it, and write its small files."""

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
from plan import LOWER_IS_BETTER, Group, Row

import saccade
from saccade.data.example import Example
from saccade.data.public import PUBLIC
from saccade.data.text import find_file
from saccade.errors import ConfigError
from saccade.files import write_atomically
from saccade.front import load
from saccade.look.view import View
from saccade.metrics import align, alignment_statistics, error_rate, sums_interval
from saccade.prediction import Attention
from saccade.recipes import to_yaml
from saccade.recipes.schema import Recipe
from saccade.runs.corpus import Corpus
from saccade.runs.evaluation import examples_to_test, summarise
from saccade.runs.recipe import load_recipe
from saccade.runs.training import train
from saccade.train.log import Watcher

SILVER = 500
"""Validation sentences with links from an aligner that decide which head is read."""
PUBLISHED = {"tatoeba": "tatoeba_en_fr", "alignment": "."}
"""What is made from what was published: our folder, and theirs."""
LOGGED = 100
"""Lines of a log that are kept, validations not counted."""


class Facts(Watcher):
    """Keeps what training says at its beginning."""

    def __init__(self) -> None:
        self.facts: dict[str, Any] = {}

    def begins(self, steps: int, first: int, facts: dict[str, Any]) -> None:
        self.facts = facts


def prepared(name: str, data: Path, runs: Path) -> Path:
    """The folder of a data set, made from what was published where it has to be."""
    if (data / name).is_dir():
        return (data / name).resolve()
    made = runs / "data" / name
    if name not in PUBLISHED:
        raise SystemExit(f"{data} has no folder {name}. See: saccade data {name}")
    if not made.is_dir():
        convert = PUBLIC[name].convert
        assert convert is not None
        draft = made.with_name(f"{name}.part")
        shutil.rmtree(draft, ignore_errors=True)
        convert(data / PUBLISHED[name], draft)
        draft.rename(made)
    for links in (data / "links").glob("*.align*"):  # an aligner's, see aligner.py; they may have come later
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
    """Train a row into `folder` unless it is there, measure it, and write to `out`; whether it came to its end."""
    recipe, watcher = load_recipe(row.recipe, settings), Facts()
    if (folder / "settings.yaml").exists() and (folder / "settings.yaml").read_text("utf-8") != resolved(recipe, group):
        raise SystemExit(f"{folder} was begun with other settings: give these a --tag, or remove it")
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / "settings.yaml", resolved(recipe, group))
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
        shutil.rmtree(folder / "checkpoints", ignore_errors=True)  # the model stays
    seen = json.loads((folder / "trained.json").read_text(encoding="utf-8"))
    found = evaluated(recipe, group, folder, final=final, device=device)
    versions = {"saccade": saccade.__version__, "torch": torch.__version__, "python": platform.python_version()}
    names = {"recipe": row.recipe, "label": row.label, "metric": group.metric, "final": final, "command": command}
    report = {**about, **names, **found, **seen, "versions": versions, "learning": learning(folder / "log.jsonl")}
    out.mkdir(parents=True, exist_ok=True)
    draw(group, folder, out, found, device)
    write_atomically(out / "recipe.yaml", resolved(recipe, group))
    write_atomically(out / "log.jsonl", short_log(folder / "log.jsonl"))
    write_atomically(out / "card.md", card(report, group))
    write_atomically(out / "metrics.json", json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    return True


def named(facts: dict[str, Any]) -> dict[str, Any]:
    """Facts in which files have names, but no places."""
    laid = facts.get("vectors")
    return facts if laid is None else {**facts, "vectors": {**laid, "file": Path(laid["file"]).name}}


def evaluated(recipe: Recipe, group: Group, folder: Path, *, final: bool, device: str) -> dict[str, Any]:
    """The metrics of a model, of each length too, and of each head where there are links to align by.

    The gold links are for the end; until then the aligner's own take their place.
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
    """Validation sentences with links that an aligner made, if there are any: they choose the head that is read."""
    paths = [*recipe.data.paths("valid")[:2], find_file(Path(recipe.data.folder or "") / "valid.align")]
    if not paths[-1].exists():
        return []
    found = [example for example in Corpus(recipe).read(paths) if example.links and example.links.sure]
    return found[:SILVER]


def heads(task: Any, gold: list[Example], silver: list[Example]) -> dict[str, Any]:
    """The error rate of each head, layer and all of them, under each shift, and of what agrees best with the aligner.

    Without such links the mean of all heads is read, at the step that writes the word. The guided head is read where
    one was taught. `lowest` is what hindsight would have chosen. `band` is the 95 % band of the chosen one.
    """
    taught = task.terms.get("guided_alignment")
    looked, tried = task.attend(gold), task.attend(silver) if silver else []
    counts = {site: len(looked[0].weights[site]) for site in task.model.source_sites}
    sites = [(site, head) for site, count in counts.items() for head in (None, *range(count))]
    guided = (taught.site, taught.head) if taught is not None and taught.weight else None
    rows = []
    for site, head in [(None, None), *sites]:
        for shift in (0, 1):
            entry = {"site": site, "head": head, "shift": shift, "aer": rate(looked, gold, site, head, shift)}
            entry["silver"] = rate(tried, silver, site, head, shift) if silver else None
            rows.append(entry)
    allowed = [row for row in rows if guided is None or (row["site"], row["head"]) == guided]
    chosen = min(allowed, key=lambda row: row["silver"]) if silver else allowed[0]
    counts_of_chosen = read_links(looked, gold, chosen["site"], chosen["head"], chosen["shift"])
    band = sums_interval(counts_of_chosen, error_rate)
    chosen = {**chosen, "band": [band.lower, band.upper]}
    return {"chosen": chosen, "lowest": min(rows, key=lambda row: row["aer"]), "all": rows}


def rate(looked: Sequence[Attention], examples: Sequence[Example], site: Any, head: Any, shift: int) -> float:
    """The alignment error rate of one way to read attention."""
    return error_rate(read_links(looked, examples, site, head, shift).sum(0))


def read_links(
    looked: Sequence[Attention], examples: Sequence[Example], site: Any, head: Any, shift: int
) -> NDArray[np.float64]:
    """What each sentence adds to the alignment error rate (N, 4) when attention is read in one way."""
    links = []
    for attention in looked:
        matrix = attention.matrix(site, head)[:, : len(attention.source.words)]
        links.append(align(matrix, shift=shift, words=len(matrix) - 1))
    return alignment_statistics(links, [example.links for example in examples if example.links])


def draw(group: Group, folder: Path, out: Path, found: dict[str, Any], device: str) -> None:
    """The picture of the group's sentence, where the model looks at anything."""
    if group.picture is None:
        return
    model = load(folder, device=device)
    if model.task.name == "language":
        (seen,) = model.task.predict([group.picture], model.search(max_length=1))
        view = View(style="reading")
    else:
        (seen,) = model.task.predict([group.picture], model.search())
        chosen = found["heads"]["chosen"] if "heads" in found else {"site": None, "head": None}
        view = View(site=chosen["site"], head=chosen["head"])
    try:
        seen.attention.save(out / "attention.svg", view=view)
    except ConfigError:  # a model without attention
        return


def resolved(recipe: Recipe, group: Group) -> str:
    """A recipe with all its settings, but for the places of this machine."""
    settings = recipe.dump()
    settings["data"] |= {"folder": group.data, "cache": None}
    if settings["vectors"]["file"] is not None:
        settings["vectors"]["file"] = Path(settings["vectors"]["file"]).name
    return to_yaml(settings)


def learning(path: Path) -> list[dict[str, float]]:
    """The validations: when they were, in seconds of training, and what they found."""
    entries = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [
        {"step": entry["step"], "seconds": round(entry["seconds"], 1)}
        | {name: round(value, 4) for name, value in entry["valid"].items() if value is not None and "/" not in name}
        for entry in entries
        if "valid" in entry
    ]


def short_log(path: Path) -> str:
    """A log with all its validations, but no more of its other lines than a figure needs."""
    lines = path.read_text(encoding="utf-8").splitlines()
    plain = [number for number, line in enumerate(lines) if '"valid"' not in line]
    every = max(1, -(-len(plain) // LOGGED))
    kept = set(plain[every - 1 :: every]) | {number for number in range(len(lines)) if number not in set(plain)}
    return "".join(f"{lines[number]}\n" for number in sorted(kept))


def origin(group: Group) -> str:
    """Where a group's data come from, for model cards."""
    if group.data is None:
        return "a corpus that saccade makes by its own grammar."
    source = PUBLIC[group.data]
    return f"{source.about} {source.address}. Licence: {source.licence}."


def card(report: dict[str, Any], group: Group) -> str:
    """The model card: what it is, what it was trained on, how well it does, what it is not for."""
    rows = []
    for name, value in report["metrics"].items():
        low, high = report["bands"].get(name, (None, None))
        rows.append(f"| {name} | {value:.4g} | {'' if low is None else f'{low:.4g} to {high:.4g}'} |")
    signatures = [f"- {name}: `{text}`" for name, text in report.get("signatures", {}).items()]
    name = report["row"].removesuffix(f"-{report['tag']}") if report["tag"] else report["row"]
    facts, test_note = report["facts"], group.row(name).test_note
    laid = facts.get("vectors")
    lines = [
        f"# {report['label']}, {group.title}",
        "",
        f"Recipe `{report['recipe']}`, seed {report['seed']}, {facts.get('parameters', 0):,} parameters, "
        f"{report['steps']:,} steps in {report['seconds'] / 60:.1f} minutes on {report['device']}"
        f" (torch {report['versions']['torch']}).",
        "",
        f"    {report['command']}",
        "",
        f"Data: {origin(group)}",
        "" if laid is None else f"\nWord vectors: {laid['file']}, {laid['coverage']:.1%} of the words.\n",
        f"Measured on the {report['split']} part"
        + (", which also chose the best step." if report["split"] == "valid" else f"; {test_note}."),
        "",
        f"| metric ({'lower' if group.metric in LOWER_IS_BETTER else 'higher'} {group.metric} is better) | value |"
        " 95 % band |",
        "|---|---|---|",
        *rows,
        "",
        *signatures,
        "",
        "Small, trained for minutes on one kind of text, for experiments with attention: not for use on anything that "
        "matters. What it says reflects the text it was trained on.",
    ]
    return "\n".join(lines) + "\n"
