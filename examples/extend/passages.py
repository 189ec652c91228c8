# %% [markdown]
# A model with two sources: a passage and a question in, the answer in words out, with attention to both.
#
# An input is a line, `passage | question`. The model names the sides of each of its attention sites; predictions,
# traces, figures and the page use these names.
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from saccade import pytree
from saccade.attention import Bank, Tape, build_attention, name_sites
from saccade.batch import EOS, Batch, read
from saccade.data.features import Feature, TokenFeature
from saccade.data.store import Numbered
from saccade.data.tokenizer import Tokenizer
from saccade.errors import DataError
from saccade.models.base import Seq2Seq
from saccade.models.family import Family
from saccade.tasks.base import Split
from saccade.tasks.generation import ModelInput
from saccade.tasks.postprocess import read_side
from saccade.tasks.translation import Translation


def halves(text: str) -> tuple[str, str]:
    passage, bar, question = text.rpartition("|")
    if not (bar and passage.strip() and question.strip()):
        raise DataError(f"{text!r} is not a passage and a question. Write both in one line with a bar between them.")
    return passage.strip(), question.strip()


# %% The batch: the passage is the source, the question is a further field.
@pytree.node
class AskedBatch(Batch):
    question: Tensor | None = read("question")
    question_mask: Tensor | None = read("question", counts=False)


class Half(TokenFeature):
    def __init__(self, name: str, tokenizer: Tokenizer, half: int) -> None:
        super().__init__(name, tokenizer)
        self.half = half

    def encode(self, chunk: Sequence[Numbered]) -> Sequence[list[int]]:
        return self.tokenizer.tokens([halves(example.source or "")[self.half] for _, example in chunk])

    def fingerprint(self) -> Any:
        return [self.name, self.half]


# %% The model: one encoder for both texts, and a decoder that attends to the question, then to the passage.
@pytree.node
class Memory:
    passage: Bank
    question: Bank


class Answerer(Seq2Seq):
    def __init__(self, family: Family, words: int, answers: int) -> None:
        super().__init__()
        source = family.encoder_of_words(words)
        width = source.network.width
        self.embedding, self.encoder, self.vocabulary = source.embedding, source.network, answers
        self.passage = build_attention("general", 2 * width, width)
        self.question = build_attention("general", width, width)
        self.written = nn.Embedding(answers, width)
        self.cell = nn.GRUCell(3 * width, width)
        self.output = nn.Linear(3 * width, answers)
        name_sites(self)

    @property
    def source_sites(self) -> list[str]:
        return ["passage"]

    def sides(self, site: str) -> tuple[str, str]:
        return ("target", "question") if site == "question" else super().sides(site)

    def visible(self, batch: Batch) -> dict[str, Tensor]:
        return {**super().visible(batch), "question": batch.question_mask}

    def encode(self, batch: Batch, *, tape: Tape | None = None) -> Memory:
        return Memory(
            self._bank(self.passage, batch.source, batch.source_mask),
            self._bank(self.question, batch.question, batch.question_mask),
        )

    def _bank(self, attention: Any, tokens: Tensor, mask: Tensor) -> Bank:
        bank: Bank = attention.bank(self.encoder(self.embedding(tokens), mask).annotations, mask=mask)
        return bank

    def init_state(self, memory: Memory, max_length: int) -> Tensor:
        return memory.passage.values.new_zeros(len(memory.passage.values), self.cell.hidden_size)

    def step(self, memory: Memory, state: Tensor, tokens: Tensor, *, tape: Tape | None = None) -> tuple[Tensor, Tensor]:
        vector, state = self._advance(memory, state, tokens, tape)
        return self.output(vector), state

    def hidden_states(self, batch: Batch, *, tape: Tape | None = None) -> Tensor:
        memory = self.encode(batch, tape=tape)
        state, made = self.init_state(memory, 0), []
        for tokens in batch.inputs.T:
            vector, state = self._advance(memory, state, tokens, tape)
            made.append(vector)
        return torch.stack(made, 1)

    def _advance(self, memory: Memory, state: Tensor, tokens: Tensor, tape: Tape | None) -> tuple[Tensor, Tensor]:
        asked = self.question(state[:, None], memory.question, tape=tape).context
        found = self.passage(torch.cat([state[:, None], asked], -1), memory.passage, tape=tape).context
        state = self.cell(torch.cat([self.written(tokens), asked[:, 0], found[:, 0]], -1), state)
        return torch.cat([state, asked[:, 0], found[:, 0]], -1), state


# %% The task: parses a line, and names the positions of both sides.
class Answering(Translation):
    name = "answering"
    batch = AskedBatch
    head = None

    def _build(self) -> Answerer:
        return Answerer(self.recipe.model_settings(), len(self.source), len(self.target))

    def features(self, split: Split) -> list[Feature]:
        _, target, *others = super().features(split)
        return [Half("source", self.source, 0), Half("question", self.source, 1), target, *others]

    def opened(self, given: str, **limits: Any) -> str:
        halves(given)
        return given

    def read(self, inputs: Sequence[str], *, sides: bool = True) -> ModelInput:
        passages, questions = zip(*map(halves, inputs), strict=True)
        found, asked = super().read(passages), self.source.encode_all(questions)
        rows = Batch.from_lists([[*part.tokens, EOS] for part in asked]).to(self.device)
        batch = AskedBatch(**{**vars(found.batch), "question": rows.source, "question_mask": rows.source_mask})
        if not sides:
            return ModelInput(batch, found.sizes, [])
        parts = zip(found.sides, questions, asked, strict=True)
        return ModelInput(
            batch, found.sizes, [{**own, "question": read_side(self.source, *pair)} for own, *pair in parts]
        )
