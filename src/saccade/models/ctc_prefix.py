"""Prefix probabilities of CTC, for searches that combine them with an attention decoder.

    ψ(g) = Σ p(labeling) over all labelings that begin with the tokens g

Log-probabilities of keys are (B, S, V), the K prefixes of a recording are adjacent: (B, K, ...).
Paper: Hori, Watanabe and Hershey 2017, "Joint CTC/attention decoding for end-to-end speech recognition", algorithm 2.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from saccade import pytree
from saccade.batch import BOS, EOS, PAD

__all__ = ["Heard", "Prefixes", "begin", "extended", "increments"]


@pytree.node
class Heard:
    """Log-probabilities (B, S, V) in float64, 0 where padding is, and the mask (B, S); PAD is the blank."""

    logs: Tensor
    mask: Tensor


@pytree.node
class Prefixes:
    """Prefixes (N,): their last tokens, and log ψ.

    token, blank (N, S + 1): log-probability that the first t keys say the prefix, and that the last of them is a token,
    or a blank.
    """

    token: Tensor
    blank: Tensor
    last: Tensor
    total: Tensor


def begin(heard: Heard) -> Prefixes:
    """Return the empty prefix of each recording."""
    blank = F.pad(heard.logs[..., PAD].cumsum(1), (1, 0))
    total = blank.new_zeros(len(blank))
    return Prefixes(torch.full_like(blank, -torch.inf), blank, torch.full_like(total, BOS, dtype=torch.long), total)


def extended(heard: Heard, before: Prefixes, tokens: Tensor) -> Prefixes:
    """Return the prefixes (N,) with one more token each; BOS adds nothing.

        token[t] = (token[t-1] + φ[t-1]) p_t(c)     blank[t] = (blank[t-1] + token[t-1]) p_t(blank)

    φ is token + blank, but blank alone if c repeats the last token.
    """
    rows, size = len(heard.logs), heard.logs.shape[1]
    own = heard.logs.gather(2, tokens.view(rows, 1, -1).expand(-1, size, -1)).mT.flatten(0, 1)  # (N, S)
    ready = torch.where((tokens == before.last)[:, None], before.blank, torch.logaddexp(before.blank, before.token))
    token = _recursion(own, ready)
    blank = _recursion(_per_prefix(heard.logs[..., PAD], tokens), token)
    inside = _per_prefix(heard.mask, tokens)
    total = (ready[:, :-1] + own).masked_fill(~inside, -torch.inf).logsumexp(1)
    idle = tokens == BOS
    rest = idle[:, None]
    return Prefixes(
        torch.where(rest, before.token, token),
        torch.where(rest, before.blank, blank),
        torch.where(idle, before.last, tokens),
        torch.where(idle, before.total, total),
    )


def increments(heard: Heard, prefixes: Prefixes) -> Tensor:
    """Return log ψ(g c) - log ψ(g) (N, V) for every token c; for EOS, log p(g is all that is said) - log ψ(g)."""
    rows, size = len(heard.logs), heard.logs.shape[1]
    both = torch.logaddexp(prefixes.token, prefixes.blank).view(rows, -1, size + 1)
    ready = both[..., :-1].masked_fill(~heard.mask[:, None], -torch.inf)
    most = ready.amax(-1, keepdim=True).clamp_min(-1e30)  # all may be -inf
    totals = ((ready - most).exp() @ heard.logs.exp()).log() + most  # (B, K, V)
    repeated = extended(heard, prefixes, prefixes.last).total.view(rows, -1, 1)
    totals = totals.scatter(2, prefixes.last.view(rows, -1, 1), repeated)
    ends = heard.mask.sum(1)[:, None, None].expand(-1, both.shape[1], 1)
    totals[..., EOS] = both.gather(2, ends).squeeze(2)
    found: Tensor = (totals.flatten(0, 1) - prefixes.total[:, None]).nan_to_num(nan=-torch.inf, neginf=-torch.inf)
    return found


def _recursion(own: Tensor, ready: Tensor) -> Tensor:
    """Return x (N, S + 1) with x[0] = -inf, x[t] = own[t] + log(exp x[t-1] + exp ready[t-1]), without a loop."""
    sums = F.pad(own.cumsum(1), (1, 0))
    found = sums[:, 1:] + (ready[:, :-1] - sums[:, :-1]).logcumsumexp(1)
    return F.pad(found, (1, 0), value=-torch.inf)


def _per_prefix(values: Tensor, tokens: Tensor) -> Tensor:
    """Repeat the rows (B, S) of recordings for each of their prefixes (N, S)."""
    return values.repeat_interleave(len(tokens) // len(values), 0)
