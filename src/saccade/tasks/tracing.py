"""Tracing: replay the answer with teacher forcing after the search, and record attention and vectors.

Forced decoding of the answer computes the same attention as the search did. So one pass records everything, and the
search itself stays fast.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from saccade.attention import ALIGNS, SCORES, Attention, Steering, Tape
from saccade.attention.tape import DISTRIBUTION
from saccade.batch import BOS, COPY, Batch
from saccade.data.tokenizer import Spelling
from saccade.errors import ConfigError
from saccade.models.base import Seq2Seq
from saccade.prediction import Side as PlainSide
from saccade.search import Hypothesis, SearchConfig
from saccade.search.history import Kept
from saccade.trace import About, Beams, BeamStep, Packed, Side, Site, Step, pack
from saccade.trace.packed import COARSE, COARSER, FINE, check_total

if TYPE_CHECKING:
    from saccade.tasks.base import Task

__all__ = ["TraceOptions", "begin", "describe_sites", "plain_side", "trace_writing"]

Numbers = NDArray[Any]
Part = TypeVar("Part")
CANDIDATES = 10
"""Most likely tokens that a step lists."""
LEAST_COPY = 1e-3
"""Least probability of a copy that a step lists."""
FEW = 40_000
"""Up to this many attention weights, a trace stores them with the finest quantization."""
MOST_NUMBERS = 400_000
"""Maximum numbers in the vectors of a trace."""


@dataclass(frozen=True)
class TraceOptions:
    """Options of a trace: interventions (force, block, pull), vectors (detail) and gold links; see docs/trace.md."""

    force: Sequence[int] = ()
    block: Sequence[int] = ()
    pull: Sequence[tuple[int, int, float]] = ()
    detail: bool = False
    gold: Iterable[tuple[int, int]] | None = None
    name: str = "model"

    def steering(self, sites: Sequence[str], places: int) -> Steering | None:
        """Check block and pull for a source of `places` tokens; return their intervention, or None if there is none."""
        if not self.block and not self.pull:
            return None
        if not sites:
            raise ConfigError("this model does not attend to a source, so there is nothing to block or to pull.")
        for place in [*self.block, *(place for _, place, _ in self.pull)]:
            if not 0 <= place < places:
                raise ConfigError(f"block and pull name the source token {place}, but there are 0 to {places - 1}.")
        if len(set(self.block)) == places:
            raise ConfigError("every source token is blocked, so there is nothing left to attend to. Leave one free.")
        for step, place, weight in self.pull:
            if step < 0 or not 0 <= weight <= 1:
                raise ConfigError(
                    f"pull asks for the weight {weight} in step {step}: steps are from 0, weights 0 to 1."
                )
            if place in self.block:
                raise ConfigError(f"source token {place} is blocked, so no weight can be pulled to it. Leave one out.")
        pulled = {(step, place): weight for step, place, weight in self.pull}
        for step in {step for step, _ in pulled}:
            total = sum(weight for (where, _), weight in pulled.items() if where == step)
            if total > 1 + 1e-6:
                raise ConfigError(f"the weights pulled in step {step} add up to {total:.3f}, but the maximum is 1.")
        return Steering(sites, self.block, pulled)

    def check_steps(self, steps: int) -> None:
        """Raise if a pull names a step beyond the end of the answer, whose length is known only after the search."""
        late = [step for step, _, _ in self.pull if step >= steps]
        if late:
            raise ConfigError(
                f"pull names step {max(late)}, but the answer ends after {steps} steps: 0 to {steps - 1}. Pull "
                "earlier, or ask for a longer answer with min_length."
            )

    def options(self, search: SearchConfig) -> dict[str, Any]:
        """Return the search settings that differ from the defaults, and the interventions."""
        default = SearchConfig().model_dump()
        changed = {
            key: value for key, value in search.model_dump().items() if value != default[key] and key != "batch_size"
        }
        own = {"force": list(self.force), "block": list(self.block), "pull": [list(one) for one in self.pull]}
        return changed | {key: value for key, value in own.items() if value}


def begin(task: Task, options: TraceOptions, search: SearchConfig) -> dict[str, Any]:
    """Return the fields of a trace that do not depend on its input: task, model and options."""
    facts = task.facts()
    about = About(name=options.name, preset=facts["model"], parameters=facts["parameters"])
    return {"task": task.name, "model": about, "options": options.options(search)}


@torch.no_grad()
def trace_writing(
    model: Seq2Seq,
    tokenizer: Spelling,
    found: Hypothesis,
    read: Batch,
    sides: dict[str, Side],
    target: PlainSide,
    steering: Steering | None,
    options: TraceOptions,
) -> dict[str, Any]:
    """Force an answer on the model and return the fields of its trace; `read`: one input, `sides`: its sources."""
    length = len(found.tokens)
    options.check_steps(length)
    words = found.tokens[:-1] if found.finished else found.tokens
    written = Batch.from_lists(targets=[words]).to(next(model.parameters()).device)
    batch = replace(read, target=written.target, target_mask=written.target_mask)
    tape = Tape(detach=True, detailed=True, steering=steering, finished=True)
    logits, vectors = _evaluate(model, batch, tape)
    logs = torch.log_softmax(logits[0, :length].float(), -1)
    logs[:, : BOS + 1] = -torch.inf  # PAD and BOS, which are never generated
    text = tokenizer.decode(found.tokens)
    sides = {**sides, "target": plain_side(target, text)}
    notes = {name: part[0].float().cpu().numpy() for name, part in tape.notes.items()}
    if vectors is not None:
        notes["vector"] = vectors[0, :length].float().cpu().numpy()
    weights = {
        name: tape[name][0].float().cpu().numpy() for name in tape if not name.endswith(DISTRIBUTION) and name != COPY
    }
    copies = tape[COPY][0, 0, :length].float().cpu().numpy() if COPY in tape else None
    sites = describe_sites(model, weights, notes, sides, target, model.sides)
    own: dict[str, Numbers] = {
        name: notes[name][..., :length, :] for name in ("state", "context", "vector") if name in notes
    }
    kept, left_out = _vectors(own, notes, sites) if options.detail else ({}, [])
    return {
        "text": text,
        "score": found.score,
        "sides": sides,
        "sites": sites,
        "steps": _steps(tokenizer, found.tokens, logs, own, copies),
        "vectors": kept,
        "beams": _beams(tokenizer, found),
        "gold": None if options.gold is None else sorted(options.gold),
        "left_out": left_out,
    }


def _evaluate(model: Seq2Seq, batch: Batch, tape: Tape) -> tuple[Tensor, Tensor | None]:
    """Compute logits (B, T, V), and the output layer's input vectors (B, T, D), or None without an output layer."""
    training = model.training
    model.eval()
    vectors = model.hidden_states(batch, tape=tape) if "output" in model._modules else None
    logits = model(batch, tape=tape) if vectors is None else model.output(vectors)
    model.train(training)
    return logits, vectors


def describe_sites(
    model: nn.Module,
    weights: Mapping[str, Numbers],
    notes: Mapping[str, Numbers],
    sides: dict[str, Side],
    target: PlainSide,
    sides_of: Callable[[str], tuple[str, str]],
) -> list[Site]:
    """Return the attention sites of a model with their weights (H, rows, columns).

    `sides_of` maps a site to the names of its row and column sides. For decoder self-attention, this adds the side of
    the decoder's input to `sides`.
    """
    parts = {part.site: part for part in model.modules() if isinstance(part, Attention)}
    _check_size(weights, notes)
    fine = sum(part.size for part in weights.values()) <= FEW
    made = []
    for name, values in weights.items():
        rows, columns = sides_of(name)
        if columns == "written":
            unwritten = values.shape[-2] - len(target.tokens)  # EOS, if the answer ended without it
            columns = _written(sides, target, values.shape[-1] - unwritten)
        cut = (slice(None), slice(len(sides[rows].tokens)), slice(len(sides[columns].tokens)))
        scores = notes.get(f"{name}.scores")
        part = parts[name]
        made.append(
            Site(
                name=name,
                layer=_layer(name),
                rows=rows,
                columns=columns,
                score=_name(part.score, SCORES),
                align=_name(part.align, ALIGNS),
                formula=_formula(part, part.score),
                heads=len(values),
                weights=pack(values[cut], FINE if fine else COARSE, low=0, high=1),
                scores=None if scores is None else pack(scores[cut], FINE if fine else COARSER),
            )
        )
    return made


def _check_size(weights: Mapping[str, Numbers], notes: Mapping[str, Numbers]) -> None:
    """Raise, before packing, if the arrays are too large for a trace."""
    scores = (notes[name] for name in (f"{site}.scores" for site in weights) if name in notes)
    check_total((part.shape for part in (*weights.values(), *scores)), "Trace a shorter text.")


def _written(sides: dict[str, Side], target: PlainSide, columns: int) -> str:
    """Add the side of the decoder's input for self-attention: the target shifted right; return its name."""
    seeds = columns - len(target.tokens)
    name = "written"
    if name in sides and len(sides[name].tokens) != columns:  # decoders of one model may have other start entries
        name = f"written-{seeds}"
    if name not in sides:
        shifted = target.shifted(seeds)
        sides[name] = Side(
            text=" ".join(shifted.words),
            tokens=shifted.tokens,
            words=shifted.words,
            word_of=shifted.word_of,
            marks=list(range(seeds + 1)),
        )
    return name


def plain_side(side: PlainSide, text: str) -> Side:
    """Return a side in trace format."""
    marks = [place for place, word in enumerate(side.word_of) if word == len(side.words)]
    more: dict[str, Any] = {"turn_of": side.turn_of} if side.turn_of else {}
    return Side(text=text, tokens=side.tokens, words=side.words, word_of=side.word_of, marks=marks, **more)


def _layer(site: str) -> int | None:
    found = re.search(r"layers\.(\d+)", site)
    return None if found is None else int(found[1])


def _name(part: Part, table: Mapping[str, type[Part]]) -> str:
    return next((name for name, kind in table.items() if type(part) is kind), type(part).__name__)


def _formula(*parts: object) -> str:
    """Return the formula from the first docstring that has a line `e[t, s] = …`, else the last part's name."""
    texts = (type(part).__doc__ or "" for part in parts)
    found = (re.search(r"^\s*e\[t, s\] = (.+?)\s*$", text, re.MULTILINE) for text in texts)
    line = next((one[1] for one in found if one), type(parts[-1]).__name__)
    return re.sub(r"\[t\]|\[s\]", "", line)


def _steps(
    tokenizer: Spelling, tokens: list[int], logs: Tensor, vectors: Mapping[str, Numbers], copies: Numbers | None
) -> list[Step]:
    best = logs.topk(min(CANDIDATES, int((logs[0] > -torch.inf).sum())), -1) if len(tokens) else None
    made = []
    for t, token in enumerate(tokens):
        assert best is not None
        likely, numbers = best.indices[t].tolist(), best.values[t].tolist()
        texts = tokenizer.pieces([token, *likely])
        made.append(
            Step(
                token=token,
                text=texts[0],
                log_probability=float(logs[t, token]),
                candidates=list(zip(likely, texts[1:], numbers, strict=True)),
                norms={name: float(np.linalg.norm(part[t])) for name, part in vectors.items()},
                copies=None if copies is None else _notable(copies[t]),
            )
        )
    return made


def _notable(shares: Numbers) -> list[tuple[int, float]]:
    """Return the positions from which a token was copied, and the probability of each, without tiny ones."""
    return [(int(place), float(shares[place])) for place in np.flatnonzero(shares >= LEAST_COPY)]


def _vectors(
    own: Mapping[str, Numbers], notes: Mapping[str, Numbers], sites: list[Site]
) -> tuple[dict[str, Packed], list[str]]:
    """Pack as many vectors as fit: the decoder's own first, then queries, keys and values site by site."""
    kept = {name: pack(part, COARSE) for name, part in own.items()}
    room = MOST_NUMBERS - sum(part.size for part in own.values())
    left_out = []
    for site in sites:
        rows, columns = site.weights.shape[1:]
        parts = {f"{site.name}.query": rows, f"{site.name}.key": columns, f"{site.name}.value": columns}
        parts = {name: count for name, count in parts.items() if name in notes}
        size = sum(notes[name][..., :count, :].size for name, count in parts.items())
        if size > room:
            left_out.append(f"The queries, keys and values of {site.name} were left out: they are too many for a file.")
            continue
        room -= size
        kept |= {name: pack(notes[name][..., :count, :], COARSE) for name, count in parts.items()}
    return kept, left_out


def _beams(tokenizer: Spelling, found: Hypothesis) -> Beams | None:
    if not found.beams or len(found.beams[0].tokens) < 2:
        return None
    kept, slots = found.beams[: len(found.tokens)], list(found.slots)
    if found.finished:
        kept[-1] = _with_end(kept[-1], found)
        slots.append(0)
    steps = []
    for step in kept:
        alive = [log > -torch.inf for log in step.logs]
        texts = tokenizer.pieces(step.tokens)
        steps.append(
            BeamStep(
                tokens=[token if live else -1 for token, live in zip(step.tokens, alive, strict=True)],
                texts=[text if live else "" for text, live in zip(texts, alive, strict=True)],
                parents=step.parents,
                scores=[log if live else 0.0 for log, live in zip(step.logs, alive, strict=True)],
            )
        )
    return Beams(width=len(kept[0].tokens), steps=steps, best=slots)


def _with_end(last: Kept, found: Hypothesis) -> Kept:
    """Return the last step with the answer's end first, without the worst hypothesis.

    A search stores finished hypotheses separately, so its own steps hold only live ones.
    """
    worst = min(range(len(last.logs)), key=last.logs.__getitem__)
    ends = (found.tokens[-1], found.slots[-1] if found.slots else 0, found.log_probability)
    others = [entry for place, entry in enumerate(zip(*last, strict=True)) if place != worst]
    tokens, parents, logs = zip(ends, *others, strict=True)
    return Kept(list(tokens), list(parents), list(logs))
