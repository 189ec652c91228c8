"""A model whose probabilities are written down in a table."""

import functools
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from saccade import pytree
from saccade.attention.tape import Tape
from saccade.batch import EOS, PAD, Batch
from saccade.models import Seq2Seq


@pytree.node
class Written:
    """The state of a Table model: its words so far (N, T), how many there are, and the sentence's number."""

    words: Tensor
    count: Tensor
    sentence: Tensor


@pytree.node
class Sources:
    """Its memory: the first word of each source, and how long the sources are."""

    first: Tensor
    mask: Tensor


class Table(Seq2Seq):
    """A model on paper: `opinion(sentence, words)` gives the probabilities of the next word after those words.

    `sentence` is the first word of the source. `looks(sentence, words)` gives the attention of that step.
    `fed` counts the steps taken.
    """

    dtype = torch.float64

    def __init__(
        self,
        vocabulary: int,
        opinion: Callable[[int, tuple[int, ...]], dict[int, float]],
        looks: Callable[[int, tuple[int, ...]], Sequence[float]] | None = None,
    ) -> None:
        super().__init__()
        self.vocabulary, self.opinion, self.looks = vocabulary, opinion, looks
        self.fed = 0

    @property
    def source_sites(self) -> list[str]:
        return [] if self.looks is None else ["attention"]

    def encode(self, batch: Batch, *, tape: Tape | None = None) -> Sources:
        return Sources(batch.source[:, 0], batch.source_mask)

    def init_state(self, memory: Sources, max_length: int) -> Written:
        words = memory.first.new_full((memory.first.shape[0], max_length + 1), PAD)
        return Written(words, torch.zeros_like(memory.first), memory.first.clone())

    def step(self, memory: Sources, state: Written, tokens: Tensor, *, tape: Tape | None = None):
        self.fed += 1
        words = pytree.write_at(state.words, state.count, tokens)
        state = Written(words, state.count + 1, state.sentence)
        beginnings = [
            (sentence, tuple(row[1:count]))
            for row, count, sentence in zip(words.tolist(), state.count.tolist(), state.sentence.tolist(), strict=True)
        ]
        chances = torch.zeros(len(beginnings), self.vocabulary, dtype=torch.float64)
        for row, beginning in enumerate(beginnings):
            for word, chance in self.opinion(*beginning).items():
                chances[row, word] = chance
        if tape is not None and self.looks is not None:
            weights = torch.zeros(len(beginnings), 1, 1, memory.mask.shape[1], dtype=torch.float64)
            for row, beginning in enumerate(beginnings):
                look = torch.tensor(self.looks(*beginning), dtype=torch.float64)[: weights.shape[-1]]
                weights[row, 0, 0, : len(look)] = look
            tape.write("attention", weights)
        return chances.log().to(self.dtype), state


def random_table(seed: int, vocabulary: int = 7, source: int = 3, end: float = 1.0, sharpness: float = 2.0) -> Table:
    """Random probabilities and attention that depend on the sentence and on every word so far."""

    @functools.cache
    def numbers(kind: int, sentence: int, words: tuple[int, ...], size: int) -> Tensor:
        generator = torch.Generator().manual_seed(hash((seed, kind, sentence, *words)) % 2**31)
        return torch.randn(size, generator=generator, dtype=torch.float64)

    def opinion(sentence: int, words: tuple[int, ...]) -> dict[int, float]:
        logits = sharpness * numbers(0, sentence, words, vocabulary)
        logits[EOS] += end
        return dict(enumerate(torch.softmax(logits, 0).tolist()))

    def looks(sentence: int, words: tuple[int, ...]) -> list[float]:
        return torch.softmax(2 * numbers(1, sentence, words, source), 0).tolist()

    return Table(vocabulary, opinion, looks)
