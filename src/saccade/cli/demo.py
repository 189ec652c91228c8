"""The demo: train on the built-in corpus, evaluate, translate, draw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from saccade.files import write_atomically
from saccade.look import Sample, Table, report, save
from saccade.look.canvas import drawing
from saccade.prediction import Prediction
from saccade.recipes.schema import Recipe
from saccade.runs.corpus import Corpus
from saccade.runs.evaluation import draw_lengths, summarise
from saccade.runs.folder import load_task
from saccade.runs.recipe import load_recipe
from saccade.runs.training import train, write_report
from saccade.tasks.base import Evaluation
from saccade.tasks.batching import in_batches
from saccade.tasks.translation import Translation
from saccade.train.log import TrainingCallback
from saccade.train.loop import Outcome

__all__ = ["PHRASES", "Shown", "run_demo"]

PHRASES = (
    "the European Economic Area",
    "the law on the European Economic Area was signed in August 1992 .",
    "the young doctor does not know them .",
    "I have not read the book that you bought .",
    "why did they close the old school ?",
    "she gave the keys to her brother because he was tired .",
)
"""Sentences that the demo translates; in the first, French reverses the order of the adjectives."""

_BEYOND = 40
"""Maximum sentence length in the test of the comparison, in words."""


@dataclass(frozen=True)
class Shown:
    """The results of the demo."""

    folder: Path
    outcome: Outcome
    evaluation: Evaluation
    samples: list[Prediction]
    files: list[Path]
    fixed: Evaluation | None = None


def run_demo(
    folder: Path, *, compare: bool = False, changes: list[str] | None = None, watcher: Callable[[str], TrainingCallback]
) -> Shown | None:
    """Train the demo's model in a folder, or resume training, and evaluate it; None if interrupted.

    `watcher` returns a TrainingCallback for a title.
    """
    recipe = load_recipe("english-french", changes)
    with drawing():
        pass  # fail before minutes of training if figures cannot be drawn
    outcome = train(recipe, folder, resume=True, watcher=watcher("with attention"))
    if outcome.why == "interrupted":
        return None
    task = _trained(folder)
    evaluation = task.evaluate(list(Corpus(recipe).examples("test")), recipe.search)
    samples = in_batches(task, PHRASES, recipe.search, attention=True)
    files = [folder / "alignment.png"]
    save(_longest(samples).attention.map(), files[0])
    fixed = None
    if compare:
        found = _compare(task, recipe, folder, changes or [], watcher)
        if found is None:
            return None
        fixed, figure = found
        files.append(figure)
    write_report(folder, summarise(evaluation))
    files.append(folder / "report.html")
    write_atomically(files[-1], _page(task, evaluation, samples, files[1:-1]))
    return Shown(folder, outcome, evaluation, samples, files, fixed)


def _trained(folder: Path) -> Translation:
    task = load_task(folder)
    assert isinstance(task, Translation)
    return task


def _compare(
    task: Translation, recipe: Recipe, folder: Path, changes: list[str], watcher: Callable[[str], TrainingCallback]
) -> tuple[Evaluation, Path] | None:
    """Train the model without attention; plot the quality of both by sentence length, beyond training lengths."""
    # guided alignment needs attention
    other = load_recipe("english-french-fixed", [*changes, "objective.guided_alignment=null"])
    place = folder.with_name(f"{folder.name}-fixed")
    if train(other, place, resume=True, watcher=watcher("one fixed vector")).why == "interrupted":
        return None
    long = load_recipe("english-french", [*changes, f"data.lengths=[3,{_BEYOND}]"])
    examples = list(Corpus(long).examples("test"))
    with_attention, without = (each.evaluate(examples, recipe.search) for each in (task, _trained(place)))
    figure = folder / "lengths.png"
    curves = [("with attention", with_attention), ("one fixed vector", without)]
    draw_lengths(figure, curves, trained_to=recipe.data.lengths[1])
    return without, figure


def _longest(samples: list[Prediction]) -> Prediction:
    return max(samples, key=lambda sample: len(sample.attention.source.words))


def _page(task: Translation, evaluation: Evaluation, samples: list[Prediction], figures: list[Path]) -> str:
    metrics = evaluation.metrics
    summary = {"BLEU": f"{metrics['bleu']:.1f}", "chrF": f"{metrics['chrf']:.1f}"}
    summary["alignment error rate"] = f"{metrics['aer']:.3f}"
    facts = [(name, f"{value:,}" if isinstance(value, int) else str(value)) for name, value in task.facts().items()]
    bins = [(f"{b.low}-{b.high}", f"{b.score:.1f}", str(b.count)) for b in evaluation.by_length()]
    return report(
        "English to French, with attention",
        summary,
        [Sample(sample.source or "", sample.attention.map()) for sample in samples],
        [Table("Quality by length", bins, ("words", "BLEU", "sentences")), Table("The model", facts)],
        [("Quality against the length of the sentence", figure) for figure in figures],
    )
