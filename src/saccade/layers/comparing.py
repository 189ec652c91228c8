"""Layers that compare a passage with a question: attention flow, and the impatient reader's hops."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from saccade.attention import Additive, Attention, Tape, build_attention
from saccade.layers.encoder import RecurrentEncoder

__all__ = ["Flow", "WordHops"]


class Flow(nn.Module):
    """Attention flow: each passage word attends to similar question words; a second encoder reads both.

        s[t, j] = (w ∘ h[t]) · u[j]
        ũ[t] = Σ_j softmax_j(s[t]) u[j]            h̃ = Σ_t softmax_t(max_j s[t, j]) h[t]
        out = h + V BiRNN(relu(W [h ; ũ ; h ∘ ũ ; h ∘ h̃]))

    The paper's score has two more terms, each of one word alone. The sum with h is ours: it trains on little data.

    Paper: Seo et al. 2017, arXiv:1611.01603.
    """

    def __init__(self, width: int, cell: str) -> None:
        super().__init__()
        self.to_question = build_attention("dot", width, width)
        self.weigh = nn.Parameter(torch.ones(width))
        self.enter = nn.Linear(4 * width, width)
        self.encoder = RecurrentEncoder(cell, width, -(-width // 2), bidirectional=True)
        self.leave = nn.Linear(self.encoder.width, width)

    def forward(
        self, passage: Tensor, mask: Tensor, question: Tensor, question_mask: Tensor, *, tape: Tape | None = None
    ) -> Tensor:
        """Return question-aware vectors (B, S, D) of a passage, given the question (B, Q, D)."""
        weighed = passage * self.weigh
        asked = self.to_question(weighed, self.to_question.bank(question, mask=question_mask), tape=tape).context
        scores = (weighed @ question.mT).masked_fill(~question_mask[:, None], -torch.inf).amax(-1)
        share = torch.softmax(scores.masked_fill(~mask, -torch.inf), -1)
        whole = share[:, None] @ passage
        both = torch.cat([passage, asked, passage * asked, passage * whole], -1)
        found: Tensor = self.leave(self.encoder(torch.relu(self.enter(both)), mask).annotations)
        return passage + found


class WordHops(nn.Module):
    """The impatient reader: at each word of the question it attends to the passage again.

        a[i] = softmax_s(v · tanh(W [r[i-1] ; u[i]] + U h[s]))
        r[i] = Σ_s a[i, s] h[s] + tanh(R r[i-1])

    Paper: Hermann et al. 2015, arXiv:1506.03340.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.attention = Attention(Additive(2 * width, width))
        self.keep = nn.Linear(width, width, bias=False)

    def forward(
        self, passage: Tensor, mask: Tensor, question: Tensor, question_mask: Tensor, *, tape: Tape | None = None
    ) -> Tensor:
        """Return r (B, D) after the last word of the question (B, Q, D)."""
        bank = self.attention.bank(passage, mask=mask)
        read = torch.zeros_like(question[:, 0])
        for word, real in zip(question.unbind(1), question_mask.unbind(1), strict=True):
            query = torch.cat([read, word], -1)[:, None]
            found = self.attention(query, bank, tape=tape).context[:, 0]
            read = torch.where(real[:, None], found + torch.tanh(self.keep(read)), read)
        return read
