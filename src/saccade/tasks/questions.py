"""Questions: answer a question by a span of words in a passage, with attention to the passage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from saccade.attention import Tape
from saccade.batch import EOS, AskedBatch
from saccade.data.example import Example
from saccade.data.features import Feature
from saccade.data.forms import QUESTIONS
from saccade.data.question_features import MATCHES, SENTENCE_MATCHES, matches, padded_matches, question_features
from saccade.data.tokenizer import Tokenizer, TokenizerConfig, Tokenizers
from saccade.errors import ConfigError, DataError
from saccade.models import build_head
from saccade.models.span_reader import SpanReader
from saccade.prediction import AttentionMaps, Prediction
from saccade.search import SearchConfig, Stop
from saccade.tasks.base import Evaluation, Split, Task
from saccade.tasks.batching import in_batches
from saccade.tasks.inputs import QUESTION, Opened
from saccade.tasks.objectives import span_loss
from saccade.tasks.passages import Asked, Window, windows_of
from saccade.tasks.postprocess import texts_of
from saccade.tasks.question_scores import evaluated
from saccade.tasks.spans import Span, best_spans, no_answer, ranked
from saccade.tasks.tracing import CANDIDATES, TraceOptions, begin, describe_sites, plain_side
from saccade.trace import Step, Trace
from saccade.train.objective import SpanLoss
from saccade.train.terms import GuidedHops

__all__ = ["Asked", "Questions"]


class Questions(Task):
    """Extractive question answering: the answer is a span of the passage, or there is none."""

    name = "questions"
    reads = QUESTION
    form = QUESTIONS
    batch = AskedBatch
    head = "span_reader"
    parts = ("source",)
    metrics = ("f1", "exact", "pointing", "support", "support_precision")
    offers = frozenset({GuidedHops.needs})
    takes_vectors = True
    model: SpanReader

    @property
    def source(self) -> Tokenizer:
        """The tokenizer of passages and questions."""
        assert self.tokenizers.source is not None
        return self.tokenizers.source

    def _build(self) -> SpanReader:
        settings, reader = self.recipe.model_settings(), self.recipe.reader
        count = MATCHES + reader.sentences * SENTENCE_MATCHES
        made: SpanReader = build_head(self.head, settings, len(self.source), count, config=reader)
        return made

    @classmethod
    def learn_tokenizers(cls, config: TokenizerConfig, examples: Callable[[], Iterator[Example]]) -> Tokenizers:
        return Tokenizers(Tokenizer.train(config, texts_of(examples(), "source", "question"), "passage"), None)

    @classmethod
    def testable(cls, examples: Sequence[Example]) -> list[Example]:
        for number, example in enumerate(examples, 1):
            if not example.question or not example.source:
                raise DataError(f"example {number} lacks its question or its passage. An example needs both.")
        return list(examples)

    def features(self, split: Split) -> list[Feature]:
        guided = any(isinstance(term, GuidedHops) for term in self.terms.values())
        reader = self.recipe.reader
        return question_features(
            self.source, with_matches=reader.matches, sentences=reader.sentences, with_evidence=guided
        )

    def objective(self) -> SpanLoss:
        return span_loss(self)

    def opened(self, given: Any, **limits: Any) -> Opened:
        if isinstance(given, Opened):
            return given
        return Opened(Asked.of(given), given["question"])

    def given(self, example: Example) -> dict[str, str]:
        """Return the model's input of an example."""
        return {"question": example.question or "", "passage": example.source or ""}

    def length(self, given: Any) -> int:
        return max(len(tokens) + 1 for tokens in self.source.tokens(list(self.opened(given).value)))

    def predict(
        self,
        inputs: Sequence[Any],
        search: SearchConfig,
        *,
        attention: bool = True,
        prefix: str | None = None,
        stop: Stop | None = None,
    ) -> list[Prediction]:
        if prefix is not None:
            raise ConfigError("an answer is a part of the passage, so it cannot be given a prefix. Leave it out.")
        if stop is not None:
            stop()
        asked: list[Asked] = [self.opened(given).value for given in inputs]
        windows = [window for number, one in enumerate(asked) for window in self._windows(number, one)]
        tape = Tape(detach=True) if attention else None
        logs = self._logs(windows, tape)
        answers: list[list[tuple[Span, int]]] = [[] for _ in asked]
        for row, window in enumerate(windows):
            answers[window.number] += [(span, row) for span in self._spans(logs[row], window, search.nbest)]
        weights = {} if tape is None else {site: tape[site].float().cpu().numpy() for site in tape}
        found = []
        for one, own in zip(asked, answers, strict=True):
            best, *others = [
                self._prediction(one, span, windows[row], weights, row)
                for span, row in ranked(own, search.nbest, search.no_answer)
            ]
            parts = best.text, best.score, best.tokens, best.attention, best.source
            found.append(Prediction(*parts, alternatives=others, span=best.span))
        return found

    def _windows(self, number: int, asked: Asked) -> list[Window]:
        reader = self.recipe.reader
        size = min(reader.window, self.room or reader.window)
        compare = partial(matches, sentences=reader.sentences) if reader.matches else None
        return windows_of(number, asked, self.source, size, compare)

    def _spans(self, logs: Any, window: Window, count: int) -> list[Span]:
        """Return the best answers in a window, and "no answer"."""
        own = logs[:, : window.size + 1]
        return [*best_spans(own, self.recipe.reader.longest, count), no_answer(own)]

    def _batch(self, windows: Sequence[Window]) -> AskedBatch:
        passages = self._to_batch([[*window.passage.tokens, EOS] for window in windows])
        questions = self._to_batch([[*window.question.tokens, EOS] for window in windows])
        assert passages.source_mask is not None
        found = None
        if self.recipe.reader.matches:
            found = padded_matches([window.matches for window in windows], passages.source_mask).to(self.device)
        asked = {"question": questions.source, "question_mask": questions.source_mask, "matches": found}
        return AskedBatch(passages.source, passages.source_mask, **asked)

    @torch.no_grad()
    def _logs(self, windows: Sequence[Window], tape: Tape | None, start: int | None = None) -> Any:
        """Return log-probabilities (B, 2, S) of first and last tokens."""
        training = self.model.training
        fixed = None if start is None else torch.tensor([start], device=self.device)
        logs = self.model.eval()(self._batch(windows), start=fixed, tape=tape)
        self.model.train(training)
        return logs.float().cpu().numpy()

    def _prediction(self, asked: Asked, span: Span, window: Window, weights: dict[str, Any], row: int) -> Prediction:
        target = window.target(span)
        sides = window.sides(target)
        own = {}
        for site, part in weights.items():
            rows, columns = self.model.sides(site)
            own[site] = part[row][:, : len(sides[rows].tokens), : len(sides[columns].tokens)]
        between = {site: self.model.sides(site) for site in own}
        extra = {name: sides[name] for name in ("question", "summary")} if own else {}
        source_sites = self.model.source_sites if own else ()
        attention = AttentionMaps(sides["source"], target, own, source_sites, between, extra, model=self.model_name)
        place = window.characters(span)
        text = "" if place is None else asked.passage[slice(*place)]
        return Prediction(text, span.score, target.tokens, attention, asked.question, span=place)

    def trace(self, given: Any, search: SearchConfig, options: TraceOptions, *, stop: Stop | None = None) -> Trace:
        asked: Asked = self.opened(given).value
        windows = self._windows(0, asked)
        left_out, shown = [], 0
        if len(windows) > 1:
            logs = self._logs(windows, None)
            found = [(span, row) for row, one in enumerate(windows) for span in self._spans(logs[row], one, 1)]
            shown = ranked(found, 1, search.no_answer)[0][1]
            left_out.append(f"The passage is read in {len(windows)} windows; shown is the one with the best answer.")
        window = windows[shown]
        size = window.size
        first, last = _forced(options.force, size)
        steering = options.steering(self.model.source_sites, size + 1)
        tape = Tape(detach=True, detailed=True, steering=steering)
        logs = self._logs([window], tape, first)[0]
        spans = best_spans(logs, self.recipe.reader.longest, 1, first=first, last=last)
        if not options.force:
            spans.append(no_answer(logs))
        ((span, _),) = ranked([(span, 0) for span in spans], 1, search.no_answer)
        target = window.target(span)
        sides = {name: plain_side(part, " ".join(part.words)) for name, part in window.sides(target).items()}
        weights = {site: tape[site][0].float().cpu().numpy() for site in tape}
        notes = {name: part[0].float().cpu().numpy() for name, part in tape.notes.items() if name.endswith(".scores")}
        place = window.characters(span)
        chosen = [size if end is None else end for end in (span.first, span.last)]
        seen: dict[str, Any] = {
            "text": "" if place is None else asked.passage[slice(*place)],
            "score": span.score,
            "sites": describe_sites(self.model, weights, notes, sides, target, self.model.sides),
            "sides": sides,
            "steps": [_step(row, token, sides["source"].tokens) for row, token in zip(logs, chosen, strict=True)],
            "gold": None if options.gold is None else sorted(options.gold),
            "left_out": left_out,
        }
        return Trace(**begin(self, options, search), **seen)

    def evaluate(self, examples: Sequence[Example], search: SearchConfig) -> Evaluation:
        inputs = [self.given(example) for example in examples]
        looked = any(example.evidence for example in examples)
        predictions = in_batches(self, inputs, search, attention=looked)
        return evaluated(examples, predictions, tokenizer=self.source if looked else None)


def _forced(force: Sequence[int], size: int) -> tuple[int | None, int | None]:
    """Return the forced first and last token of an answer."""
    if len(force) > 2 or any(not 0 <= place < size for place in force) or list(force) != sorted(force):
        raise ConfigError(
            f"force is {list(force)}, but it takes at most a first and a last token, in order, from 0 to {size - 1}."
        )
    first, last = [*force, None, None][:2]
    return first, last


def _step(logs: Any, token: int, tokens: Sequence[str]) -> Step:
    """Return a trace step: the choice of an answer's first or last token."""
    best = np.argsort(-logs, kind="stable")[:CANDIDATES].tolist()
    candidates = [(place, tokens[place], float(logs[place])) for place in best]
    return Step(token=token, text=tokens[token], log_probability=float(logs[token]), candidates=candidates)
