"""Chat: reply to the turns of a dialogue, with attention to all of them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from saccade.batch import EOS, SPECIALS, UNK, DialogueBatch
from saccade.config import Fault
from saccade.data.example import Example
from saccade.data.familiar import familiar
from saccade.data.features import Feature
from saccade.data.forms import DIALOGUES
from saccade.data.open_vocabulary import OpenVocabulary
from saccade.data.tokenizer import Spelling, Tokenizer, TokenizerConfig, Tokenizers, words_of
from saccade.data.turn_features import turn_features
from saccade.data.turns import History, each_turn, read_history
from saccade.models.hierarchical import HierarchicalConfig
from saccade.prediction import Prediction, Side
from saccade.search import Hypothesis, SearchConfig, Stop
from saccade.tasks.base import Evaluation, Split
from saccade.tasks.batching import in_batches
from saccade.tasks.forced import reply_losses
from saccade.tasks.generation import ModelInput, Sides
from saccade.tasks.inputs import DIALOGUE, Opened
from saccade.tasks.postprocess import texts_of
from saccade.tasks.replies import evaluate_replies
from saccade.tasks.text_to_text import TextToText
from saccade.tasks.tracing import TraceOptions, plain_side
from saccade.trace import Side as TraceSide
from saccade.trace import Trace

if TYPE_CHECKING:
    from saccade.recipes.schema import Recipe

__all__ = ["Chat"]

_LONGEST = 100
"""Default maximum tokens of a reply."""


class Chat(TextToText):
    """Dialogue with any sequence-to-sequence model: its source is the history, with a mark before each turn."""

    name = "chat"
    reads = DIALOGUE
    form = DIALOGUES
    batch = DialogueBatch
    metrics = ("bleu", "f1", "exact", "perplexity", "perplexity_per_word", "slots", "pointing")

    @classmethod
    def learn_tokenizers(cls, config: TokenizerConfig, examples: Callable[[], Iterator[Example]]) -> Tokenizers:
        turns = Tokenizer.train(config, each_turn(examples()), "dialogue")
        if config.shared:
            return Tokenizers(turns, turns)
        return Tokenizers(turns, Tokenizer.train(config, texts_of(examples(), "target"), "reply"))

    @classmethod
    def faults(cls, recipe: Recipe) -> Iterator[Fault]:
        yield from super().faults(recipe)
        chat, most = recipe.chat, recipe.data.max_length
        if chat.tokens > most:
            why = f"histories of {chat.tokens} tokens exceed data.max_length, {most}: raise it, or read fewer tokens"
            yield Fault(("chat", "tokens"), why)
        if chat.mutual and not chat.without_history:
            why = "it needs p(reply), which the model does not learn: set chat.without_history to 0.1 or so"
            yield Fault(("chat", "mutual"), why)

    @classmethod
    def testable(cls, examples: Sequence[Example]) -> list[Example]:
        return [example for example in examples if example.turns and (example.target or "").strip()]

    def features(self, split: Split) -> list[Feature]:
        training = split.name == "train"
        hidden = self.recipe.chat.without_history if training else 0.0
        more = {
            "links": training and self._guided is not None,
            "copies": self.copies,
            "by_turn": isinstance(self.recipe.model_settings(), HierarchicalConfig),
        }
        return turn_features(self.tokenizers, self._history, self.recipe.chat, hidden=hidden, **more)

    def _history(self, turns: Sequence[str]) -> History:
        return read_history(self.source, turns, self.recipe.chat, None if self.room is None else self.room - 1)

    def positions(self, tokens: int) -> tuple[int, int]:
        return tokens, _LONGEST

    def given(self, example: Example) -> dict[str, Any]:
        """Return the model's input of an example."""
        return {"turns": list(example.turns)}

    def opened(self, given: Any, **limits: Any) -> Opened:
        if isinstance(given, Opened):
            return given
        turns = given["turns"] if isinstance(given, Mapping) else [given]
        history = self._history([familiar(self.source, turn, marks=True).text for turn in turns])
        if history.notes:
            _log("A history is longer than the model reads: only its end is read. See chat.tokens and chat.turns.")
        return Opened(history, turns[-1])

    def length(self, given: Any) -> int:
        return len(self.opened(given).value.tokens) + 1

    def lengths(self, inputs: Sequence[Any]) -> list[int]:
        return [self.length(given) for given in inputs]

    def spelling(self, given: Any) -> Spelling:
        history: History = given.value
        return OpenVocabulary(self.target, history.turns, history.tokens) if self.copies else self.target

    def read(self, inputs: Sequence[Any], *, sides: bool = True) -> ModelInput:
        histories: list[History] = [self.opened(given).value for given in inputs]
        shown = [{"source": self._side(history)} for history in histories] if sides else []
        return self._input([one.turns for one in histories], [one.tokens for one in histories], shown)

    def _side(self, history: History) -> Side:
        tokens = [*self.source.pieces(history.tokens), SPECIALS[EOS]]
        words = words_of(history.text)
        return Side(tokens, words, [*history.words, len(words)], [*history.turn_of, len(history.turns)])

    def seen(self, given: Any, sides: Sides) -> dict[str, TraceSide]:
        return {name: plain_side(side, given.value.text) for name, side in sides.items()}

    def _answer(self, given: Any, found: list[Hypothesis], sides: Sides, *, words: bool) -> Prediction:
        return replace(super()._answer(given, found, sides, words=words), notes=given.value.notes)

    def trace(self, given: Any, search: SearchConfig, options: TraceOptions, *, stop: Stop | None = None) -> Trace:
        given = self.opened(given)
        trace = super().trace(given, search, options, stop=stop)
        return trace.model_copy(update={"left_out": [*given.value.notes, *trace.left_out]})

    def _decode(self, read: ModelInput, search: SearchConfig, **limits: Any) -> list[list[Hypothesis]]:
        weight = self.recipe.chat.mutual
        if not weight:
            return super()._decode(read, search, **limits)
        count = max(self.recipe.chat.candidates, search.nbest)
        wide = search.model_copy(update={"nbest": count, "beam": max(search.beam, count)})
        found = super()._decode(read, wide, **limits)
        return [self._by_information(own, weight)[: search.nbest] for own in found]

    def _by_information(self, found: list[Hypothesis], weight: float) -> list[Hypothesis]:
        """Rank replies by log p(reply | history) - weight · log p(reply); the model itself has the latter.

        Paper: Li et al. 2016, arXiv:1510.03055, equation 9. Differs: it ranks whole replies, and p(reply) is the
        model's own, which in training saw some replies without their history.
        """
        # copies of words from the history are unknown words without it
        known = range(len(self.target))
        replies = [[token if token in known else UNK for token in one.tokens if token != EOS] for one in found]
        read = self.read([Opened(self._history([""]), None)] * len(found), sides=False)
        losses = reply_losses(self.model, read.batch, replies)[:, 0]
        values = [one.log_probability + weight * loss for one, loss in zip(found, losses, strict=True)]
        return [found[place] for place in sorted(range(len(found)), key=lambda place: -values[place])]

    def evaluate(self, examples: Sequence[Example], search: SearchConfig) -> Evaluation:
        predictions = in_batches(self, [self.given(example) for example in examples], search)
        return evaluate_replies(self, examples, predictions)


@cache
def _log(message: str) -> None:
    """Log a warning once: in a long dialogue, each reply would repeat it."""
    logging.getLogger("saccade").warning(message)
