"""Language models: any CausalLayer, predicting the next word."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from saccade import pytree
from saccade.attention import Tape, name_sites
from saccade.batch import Batch, check_tokens
from saccade.kernels.dropout import Dropout
from saccade.layers.causal import CausalLayer
from saccade.models.base import Seq2Seq, check_fed, inputs_of, tie

__all__ = ["LanguageModel", "NoSource"]


@pytree.node
class NoSource:
    """The memory of a model without a source: an empty tensor (B, 0) that holds only the batch size."""

    rows: Tensor


class LanguageModel(Seq2Seq):
    """embedding → causal network → output layer: p(y[t] | y[0..t-1])."""

    def __init__(
        self,
        embedding: nn.Embedding,
        reader: CausalLayer,
        *,
        tied: bool = False,
        dropout: Dropout | None = None,
        scale: float = 1.0,
    ) -> None:
        super().__init__()
        self.embedding, self.reader = embedding, reader
        self.vocabulary = embedding.num_embeddings
        self.output = nn.Linear(reader.width, self.vocabulary)
        self.dropout, self.scale = dropout or Dropout(0.0), scale
        if tied:
            tie(self.output, embedding)
        name_sites(self)

    def encode(self, batch: Batch, *, tape: Tape | None = None) -> NoSource:
        return NoSource(self.output.weight.new_zeros(batch.size, 0))

    def init_state(self, memory: NoSource, max_length: int) -> Any:
        return self.reader.start(memory.rows.shape[0], max_length, memory.rows)

    def step(self, memory: NoSource, state: Any, tokens: Tensor, *, tape: Tape | None = None) -> tuple[Tensor, Any]:
        check_fed(tokens, memory, state)
        output, state = self.reader.step(self._embed(tokens), state, tape=tape)
        return self.output(self._drop(output)), state

    def hidden_states(self, batch: Batch, *, tape: Tape | None = None) -> Tensor:
        return self._drop(self.reader(self._embed(inputs_of(batch)), tape=tape))

    def _embed(self, tokens: Tensor) -> Tensor:
        check_tokens("target", tokens, self.vocabulary)
        embedded = self.embedding(tokens)
        if self.scale != 1.0:
            embedded = embedded * self.scale
        return self._drop(embedded)

    def _drop(self, x: Tensor) -> Tensor:
        dropped: Tensor = self.dropout(x)
        return dropped
