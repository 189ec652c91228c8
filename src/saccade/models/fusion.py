"""Fusion: a model whose scores a search adds to those of a language model, and to those of its own CTC layer."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from saccade import pytree
from saccade.attention import Tape
from saccade.batch import Batch
from saccade.errors import ConfigError
from saccade.models.base import Seq2Seq
from saccade.models.ctc_prefix import Heard, Prefixes, begin, extended, increments
from saccade.models.listening import HEARD

__all__ = ["Fusion"]


@pytree.node
class FusedMemory:
    """The memories of the model and of the language model, and what CTC heard."""

    model: Any
    language: Any
    heard: Heard | None


@pytree.node
class FusedState:
    """The states of the model and of the language model, and the prefixes of CTC."""

    model: Any
    language: Any
    prefixes: Prefixes | None


class Fusion(Seq2Seq):
    """A model for searches alone, whose `step` returns scores to add up:

        (1 - ctc) log p(y[t] | y[<t], x) + ctc log (ψ(y[≤t]) / ψ(y[<t])) + weight · log p_language(y[t] | y[<t])

    ψ is the prefix probability of CTC. The last term is shallow fusion (Gülçehre et al. 2015, arXiv:1503.03535).

    numbers (V,): the language model's number of each token. Attention is that of the model.
    """

    sums_scores = True

    def __init__(
        self,
        model: Seq2Seq,
        *,
        ctc: float = 0.0,
        language: Seq2Seq | None = None,
        weight: float = 0.0,
        numbers: Tensor | None = None,
    ) -> None:
        super().__init__()
        if ctc and getattr(model, "ctc", None) is None:
            raise ConfigError(
                "search.ctc needs a model of speech with a CTC layer: train with model.ctc and the term objective.ctc, "
                "or leave it out."
            )
        self.model, self.language, self.vocabulary = model, language, model.vocabulary
        self.ctc, self.weight = ctc, weight
        self.register_buffer("numbers", numbers, persistent=False)
        self.attends_afterwards = model.attends_afterwards

    @property
    def source_sites(self) -> list[str]:
        return self.model.source_sites

    def sides(self, site: str) -> tuple[str, str]:
        return self.model.sides(site)

    def visible(self, batch: Batch) -> dict[str, Tensor]:
        return self.model.visible(batch)

    def choices(self, batch: Batch) -> int:
        return self.model.choices(batch)

    def encode(self, batch: Batch, *, tape: Tape | None = None) -> FusedMemory:
        own = Tape() if tape is None and self.ctc else tape
        memory = self.model.encode(batch, tape=own)
        language = None if self.language is None else self.language.encode(batch)
        heard = None
        if self.ctc:
            assert own is not None
            mask = self.model.visible(batch)["source"]
            logs = self.model.ctc(own.tensors[HEARD]).double().log_softmax(-1)  # type: ignore[operator]
            heard = Heard(logs.masked_fill(~mask[..., None], 0.0), mask)
        return FusedMemory(memory, language, heard)

    def init_state(self, memory: FusedMemory, max_length: int) -> FusedState:
        language = None if self.language is None else self.language.init_state(memory.language, max_length)
        prefixes = None if memory.heard is None else begin(memory.heard)
        return FusedState(self.model.init_state(memory.model, max_length), language, prefixes)

    def step(
        self, memory: FusedMemory, state: FusedState, tokens: Tensor, *, tape: Tape | None = None
    ) -> tuple[Tensor, FusedState]:
        logits, own = self.model.step(memory.model, state.model, tokens, tape=tape)
        scores = (1.0 - self.ctc) * logits.float().log_softmax(-1)
        language, prefixes = state.language, state.prefixes
        if memory.heard is not None and prefixes is not None:
            prefixes = extended(memory.heard, prefixes, tokens)
            scores = scores + self.ctc * increments(memory.heard, prefixes).float()
        if self.language is not None:
            assert isinstance(self.numbers, Tensor)
            logits, language = self.language.step(memory.language, language, self.numbers[tokens])
            scores = scores + self.weight * logits.float().log_softmax(-1)[:, self.numbers]
        return scores, FusedState(own, language, prefixes)

    def force(self, batch: Batch, *, tape: Tape) -> None:
        self.model.force(batch, tape=tape)
