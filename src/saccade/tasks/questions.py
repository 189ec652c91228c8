"""Questions: answer a question by a span of words in a passage, with attention to the passage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from saccade.attention import Tape
from saccade.batch import EOS, SPECIALS, AskedBatch
from saccade.data.example import Example
from saccade.data.features import Feature
from saccade.data.forms import QUESTIONS
from saccade.data.question_features import MATCHES, matches, padded_matches, question_features
from saccade.data.tokenizer import Offsets, Tokenizer, TokenizerConfig, Tokenizers, words_of
from saccade.errors import ConfigError, DataError
from saccade.metrics import answer_scores, split_sentences
from saccade.models import build_head
from saccade.models.span_reader import SpanReader
from saccade.prediction import AttentionMaps, Prediction, Side, side
from saccade.search import SearchConfig, Stop
from saccade.tasks.base import Evaluation, Split, Statistics, Task
from saccade.tasks.batching import in_batches
from saccade.tasks.inputs import QUESTION, Opened
from saccade.tasks.objectives import span_loss
from saccade.tasks.postprocess import texts_of
from saccade.tasks.spans import Span, best_spans
from saccade.tasks.tracing import CANDIDATES, TraceOptions, begin, describe_sites, plain_side
from saccade.trace import Step, Trace
from saccade.train.objective import SpanLoss

__all__ = ["Asked", "Questions"]


class Asked(NamedTuple):
    """A question on a passage."""

    question: str
    passage: str


@dataclass(frozen=True)
class _Read:
    """A text as the model reads it."""

    text: str
    tokens: list[int]
    pieces: list[str]
    word_of: list[int]
    offsets: Offsets

    def side(self) -> Side:
        return side(self.pieces, words_of(self.text), self.word_of, SPECIALS[EOS])

    def part(self, begin: int, end: int) -> _Read:
        """Return some of the tokens, with offsets in the whole text."""
        own = self.word_of[begin:end]
        words = words_of(self.text)[own[0] : own[-1] + 1] if own else []
        cut = slice(begin, end)
        numbers = [word - own[0] for word in own]
        return _Read(" ".join(words), self.tokens[cut], self.pieces[cut], numbers, self.offsets[cut])

    @property
    def spelled(self) -> list[str]:
        return [self.text[begin:end] for begin, end in self.offsets]


@dataclass(frozen=True)
class _Window:
    """A question with a passage or a part of it, which the model reads at once."""

    number: int
    question: _Read
    passage: _Read
    matches: Any


class Questions(Task):
    """Extractive question answering: the answer is a span of the passage, or there is none."""

    name = "questions"
    reads = QUESTION
    form = QUESTIONS
    batch = AskedBatch
    head = "span_reader"
    parts = ("source",)
    metrics = ("f1", "exact", "pointing")
    takes_vectors = True
    model: SpanReader

    @property
    def source(self) -> Tokenizer:
        """The tokenizer of passages and questions."""
        assert self.tokenizers.source is not None
        return self.tokenizers.source

    def _build(self) -> SpanReader:
        settings = self.recipe.model_settings()
        made: SpanReader = build_head(self.head, settings, len(self.source), MATCHES, config=self.recipe.reader)
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
        return question_features(self.source, with_matches=self.recipe.reader.matches)

    def objective(self) -> SpanLoss:
        return span_loss(self)

    def opened(self, given: Any, **limits: Any) -> Opened:
        if isinstance(given, Opened):
            return given
        for name in ("question", "passage"):
            if not given[name].strip():
                raise DataError(f"the {name} is empty. Give a question and the passage that answers it.")
        return Opened(Asked(given["question"], given["passage"]), given["question"])

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
            size = len(window.passage.tokens)
            spans = best_spans(logs[row][:, : size + 1], self.recipe.reader.longest, search.nbest)
            answers[window.number] += [(span, row) for span in spans]
        weights = {} if tape is None else {site: tape[site].float().cpu().numpy() for site in tape}
        found = []
        for one, own in zip(asked, answers, strict=True):
            ranked = sorted(own, key=lambda entry: -entry[0].score)[: search.nbest]
            best, *others = [self._prediction(one, span, windows[row], weights, row) for span, row in ranked]
            parts = best.text, best.score, best.tokens, best.attention, best.source
            found.append(Prediction(*parts, alternatives=others, span=best.span))
        return found

    def _windows(self, number: int, asked: Asked) -> list[_Window]:
        """Return the windows of a passage, which overlap by half."""
        question, passage = self._read(asked.question), self._read(asked.passage)
        found = matches(passage.spelled, question.spelled) if self.recipe.reader.matches else None
        size = min(self.recipe.reader.window, self.room or self.recipe.reader.window)
        starts = range(0, max(len(passage.tokens) - size // 2, 1), max(size // 2, 1))
        if len(passage.tokens) <= size:
            return [_Window(number, question, passage, found)]
        cuts = [(begin, min(begin + size, len(passage.tokens))) for begin in starts]
        return [
            _Window(number, question, passage.part(*cut), None if found is None else found[slice(*cut)]) for cut in cuts
        ]

    def _read(self, text: str) -> _Read:
        encoded, (offsets,) = self.source.encode(text), self.source.offsets([text])
        return _Read(text, encoded.tokens, self.source.pieces(encoded.tokens), encoded.words, offsets)

    def _batch(self, windows: Sequence[_Window]) -> AskedBatch:
        passages = self._to_batch([[*window.passage.tokens, EOS] for window in windows])
        questions = self._to_batch([[*window.question.tokens, EOS] for window in windows])
        assert passages.source_mask is not None
        found = None
        if self.recipe.reader.matches:
            found = padded_matches([window.matches for window in windows], passages.source_mask).to(self.device)
        asked = {"question": questions.source, "question_mask": questions.source_mask, "matches": found}
        return AskedBatch(passages.source, passages.source_mask, **asked)

    @torch.no_grad()
    def _logs(self, windows: Sequence[_Window], tape: Tape | None, start: int | None = None) -> Any:
        """Return log-probabilities (B, 2, S) of first and last tokens."""
        training = self.model.training
        fixed = None if start is None else torch.tensor([start], device=self.device)
        logs = self.model.eval()(self._batch(windows), start=fixed, tape=tape)
        self.model.train(training)
        return logs.float().cpu().numpy()

    def _prediction(self, asked: Asked, span: Span, window: _Window, weights: dict[str, Any], row: int) -> Prediction:
        target = self._target(span, window)
        sides = self._sides(window, target)
        own = {}
        for site, part in weights.items():
            rows, columns = self.model.sides(site)
            own[site] = part[row][:, : len(sides[rows].tokens), : len(sides[columns].tokens)]
        between = {site: self.model.sides(site) for site in own}
        extra = {name: sides[name] for name in ("question", "summary")} if own else {}
        source_sites = self.model.source_sites if own else ()
        attention = AttentionMaps(sides["source"], target, own, source_sites, between, extra, model=self.model_name)
        place = _characters(span, window)
        text = "" if place is None else asked.passage[slice(*place)]
        return Prediction(text, span.score, target.tokens, attention, asked.question, span=place)

    def _target(self, span: Span, window: _Window) -> Side:
        """Return the side of an answer: its first and its last word, or twice the end for no answer."""
        if span.first is None or span.last is None:
            return Side([SPECIALS[EOS]] * 2, [], [0, 0])
        words = [window.passage.pieces[place] for place in (span.first, span.last)]
        return Side(words, words, [0, 1])

    def _sides(self, window: _Window, target: Side) -> dict[str, Side]:
        whole = Side([_WHOLE], [_WHOLE], [0])
        return {
            "source": window.passage.side(),
            "question": window.question.side(),
            "target": target,
            "summary": whole,
        }

    def trace(self, given: Any, search: SearchConfig, options: TraceOptions, *, stop: Stop | None = None) -> Trace:
        asked: Asked = self.opened(given).value
        windows = self._windows(0, asked)
        left_out = []
        window = windows[0]
        if len(windows) > 1:
            logs = self._logs(windows, None)
            longest = self.recipe.reader.longest
            pairs = zip(logs, windows, strict=True)
            scores = [best_spans(row[:, : len(one.passage.tokens) + 1], longest, 1)[0].score for row, one in pairs]
            window = windows[int(np.argmax(scores))]
            left_out.append(f"The passage is read in {len(windows)} windows; shown is the one with the best answer.")
        size = len(window.passage.tokens)
        first, last = _forced(options.force, size)
        steering = options.steering(self.model.source_sites, size + 1)
        tape = Tape(detach=True, detailed=True, steering=steering)
        logs = self._logs([window], tape, first)[0]
        (span,) = best_spans(logs, self.recipe.reader.longest, 1, first=first, last=last)
        target = self._target(span, window)
        sides = {name: plain_side(part, " ".join(part.words)) for name, part in self._sides(window, target).items()}
        weights = {site: tape[site][0].float().cpu().numpy() for site in tape}
        notes = {name: part[0].float().cpu().numpy() for name, part in tape.notes.items() if name.endswith(".scores")}
        place = _characters(span, window)
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
        predictions = in_batches(self, inputs, search)
        references = [example.references or ((example.target,) if example.target else ()) for example in examples]
        scores = answer_scores([prediction.text for prediction in predictions], references)
        statistics = {name: Statistics(part.counts, part.score) for name, part in scores.items()}
        pointing = [_points(*pair) for pair in zip(predictions, examples, strict=True)]
        statistics["pointing"] = Statistics(np.array(pointing), _share)
        metrics = {name: part.value for name, part in statistics.items()}
        details = {"questions": len(examples), "signatures": {name: part.signature for name, part in scores.items()}}
        lengths = [len(words_of(example.source or "")) for example in examples]
        return Evaluation(metrics, details, statistics, lengths, predictions)


_WHOLE = "the question"
"""The single row of attention whose query is the whole question."""


def _characters(span: Span, window: _Window) -> tuple[int, int] | None:
    """Return the characters of the passage that are an answer."""
    if span.first is None or span.last is None:
        return None
    return window.passage.offsets[span.first][0], window.passage.offsets[span.last][1]


def _forced(force: Sequence[int], size: int) -> tuple[int | None, int | None]:
    """Return the forced first and last token of an answer."""
    if len(force) > 2 or any(not 0 <= place < size for place in force) or list(force) != sorted(force):
        raise ConfigError(
            f"force is {list(force)}, but an answer has a first and a last token of the passage, from 0 to {size - 1}."
        )
    first, last = [*force, None, None][:2]
    return first, last


def _step(logs: Any, token: int, tokens: Sequence[str]) -> Step:
    """Return a step of a trace: a token of the passage is pointed at."""
    best = np.argsort(-logs, kind="stable")[:CANDIDATES].tolist()
    candidates = [(place, tokens[place], float(logs[place])) for place in best]
    return Step(token=token, text=tokens[token], log_probability=float(logs[token]), candidates=candidates)


def _points(prediction: Prediction, example: Example) -> tuple[float, float]:
    """Return whether the answer was found in a sentence that supports the right one, and 1 if such a one is known."""
    evidence = example.evidence or tuple(_sentence(example.source or "", begin) for begin, _ in example.spans)
    begin = -1 if prediction.span is None else prediction.span[0]
    return float(any(first <= begin < last for first, last in evidence)), float(bool(evidence))


def _sentence(text: str, place: int) -> tuple[int, int]:
    """Return the sentence of a text that has a character."""
    end = 0
    for sentence in split_sentences(text):
        begin = text.index(sentence, end)
        end = begin + len(sentence)
        if end > place:
            return begin, end
    return end, len(text)


def _share(sums: NDArray[np.float64]) -> float:
    return float(sums[0] / sums[1]) if sums[1] else 0.0
