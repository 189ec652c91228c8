"""The state update of a search step on a GPU: one launch instead of thirty small torch operations."""

# mypy: disable-error-code="untyped-decorator,no-untyped-def,no-untyped-call,no-any-return,unused-ignore"

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from saccade.batch import EOS, PAD
from saccade.kernels.search_update.state import Beams, Pool, Walks

__all__ = ["advance", "walk_on"]


def advance(
    logs: Tensor,
    places: Tensor,
    beams: Beams,
    divisors: Tensor,
    stopped: Tensor | None,
    *,
    vocabulary: int,
    nbest: int,
    max_length: int,
) -> tuple[Tensor, Tensor, Beams]:
    """Compute `Beam.choose` for the 2K best continuations: parents and tokens (B, K), and the next state.

    logs, places (B, 2K): best first; a place is slot · vocabulary + word. divisors (max_length + 2,) float64: the
    length normalization of the log-probability, by number of words. stopped (B,): sentences at their length limit.
    """
    sentences, width = beams.logs.shape
    device = logs.device

    def new(dtype: torch.dtype, *shape: int) -> Tensor:
        return torch.empty(shape or (sentences, width), dtype=dtype, device=device)

    def pool() -> Pool:
        return Pool(new(torch.float64), new(torch.float32), new(torch.int64), new(torch.int64))

    parents, tokens = new(torch.int64), new(torch.int64)
    flags = new(torch.bool, 2, sentences)
    after = Beams(new(torch.float32), new(torch.int64, sentences, 1), pool(), pool(), flags[0], flags[1])
    _advance_kernel[(sentences,)](
        logs, places, beams.t, *(part.contiguous() for part in (*beams.finished, *beams.open)),
        beams.done, beams.over, divisors, logs if stopped is None else stopped,
        parents, tokens, after.logs, after.t, *after.finished, *after.open, after.done, after.over,
        vocabulary, width, nbest, max_length,
        END=EOS, PADDING=PAD, STOPPED=stopped is not None, WIDTH=triton.next_power_of_2(width), num_warps=1,
    )  # fmt: skip
    return parents, tokens, after


def walk_on(tokens: Tensor, gained: Tensor, walks: Walks) -> tuple[Tensor, Walks]:
    """Compute `Greedy.choose` for the next words and their log-probabilities (B, K): words, and the next state."""
    after = Walks(*(torch.empty_like(part) for part in walks))
    words, size = torch.empty_like(tokens), tokens.numel()
    given = (tokens.contiguous(), gained.contiguous(), *(part.contiguous() for part in walks))
    _walk_kernel[(triton.cdiv(size, 128),)](
        *given, words, *after, size, END=EOS, PADDING=PAD, BLOCK=128, num_warps=4
    )  # fmt: skip
    return words, after


@triton.jit
def _advance_kernel(
    logs, places, t, f_scores, f_logs, f_steps, f_slots, o_scores, o_logs, o_steps, o_slots, done, over, divisors,
    stopped, parents, tokens, live_after, t_after, nf_scores, nf_logs, nf_steps, nf_slots, no_scores, no_logs, no_steps,
    no_slots, done_after, over_after, vocabulary, width, nbest, max_length,
    END: tl.constexpr, PADDING: tl.constexpr, STOPPED: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(0).to(tl.int64)
    k, c = tl.arange(0, WIDTH), tl.arange(0, 2 * WIDTH)
    kept, there = k < width, c < 2 * width
    row, now = b * width + k, tl.load(t + b)
    is_done = tl.load(done + b)
    log = tl.load(logs + b * 2 * width + c, there, -float("inf"))
    place = tl.load(places + b * 2 * width + c, there, 0)
    slot, word = place // vocabulary, place % vocabulary
    divisor = tl.load(divisors + now + 1)

    # merge ended hypotheses into the sorted pool: the position of each is the number of better ones
    ends = there & (word == END)
    enters = ends & (c < width) & (is_done == 0)
    score = tl.where(enters, log.to(tl.float64) / divisor, -float("inf"))
    old = tl.load(f_scores + row, kept, -float("inf")).to(tl.float64)
    old_first = (old[None, :] > old[:, None]) | ((old[None, :] == old[:, None]) & (k[None, :] < k[:, None]))
    old_rank = tl.sum(old_first.to(tl.int32), 1) + tl.sum((score[None, :] > old[:, None]).to(tl.int32), 1)
    new_first = (score[None, :] > score[:, None]) | ((score[None, :] == score[:, None]) & (c[None, :] < c[:, None]))
    # masked entries beyond the width must not count as ahead
    ahead = (old[None, :] >= score[:, None]) & kept[None, :]
    new_rank = tl.sum(new_first.to(tl.int32), 1) + tl.sum(ahead.to(tl.int32), 1)
    stays, comes = kept & (old_rank < width), new_rank < width
    first = b * width
    tl.store(nf_scores + first + old_rank, old, stays)
    tl.store(nf_logs + first + old_rank, tl.load(f_logs + row, kept, 0.0), stays)
    tl.store(nf_steps + first + old_rank, tl.load(f_steps + row, kept, 0), stays)
    tl.store(nf_slots + first + old_rank, tl.load(f_slots + row, kept, 0), stays)
    tl.store(nf_scores + first + new_rank, score, comes)
    tl.store(nf_logs + first + new_rank, tl.where(score == -float("inf"), -float("inf"), log), comes)
    tl.store(nf_steps + first + new_rank, now + c * 0, comes)
    tl.store(nf_slots + first + new_rank, slot, comes)

    # the other hypotheses stay live, in their order
    goes = there & (word != END)
    earlier = c[None, :] < c[:, None]
    order = tl.sum((earlier & goes[None, :]).to(tl.int32), 1)
    behind = tl.sum(goes.to(tl.int32), 0) + tl.sum((earlier & ~goes[None, :]).to(tl.int32), 1)
    order = tl.where(goes, order, behind)
    lives = there & (order < width)
    log = tl.where(goes, log, -float("inf"))
    alive = tl.max(tl.where(lives & (log != -float("inf")), 1, 0), 0)
    tl.store(parents + first + order, slot, lives)
    tl.store(tokens + first + order, tl.where(log == -float("inf"), PADDING, word), lives)
    tl.store(live_after + first + order, log, lives)
    # if no hypothesis is live, keep the last live ones in the open pool
    if alive > 0:
        tl.store(no_scores + first + order, log.to(tl.float64) / divisor, lives)
        tl.store(no_logs + first + order, log, lives)
        tl.store(no_steps + row, now + 1 + k * 0, kept)
        tl.store(no_slots + row, k.to(tl.int64), kept)
    else:
        tl.store(no_scores + row, tl.load(o_scores + row, kept, 0.0).to(tl.float64), kept)
        tl.store(no_logs + row, tl.load(o_logs + row, kept, 0.0), kept)
        tl.store(no_steps + row, tl.load(o_steps + row, kept, 0), kept)
        tl.store(no_slots + row, tl.load(o_slots + row, kept, 0), kept)

    # done: no live hypothesis can still beat the n-th best finished one
    reach = tl.max(tl.where(lives, log, -float("inf")), 0).to(tl.float64)
    reach = reach / tl.maximum(tl.load(divisors + now + 2), tl.load(divisors + max_length))
    nth = tl.maximum(
        tl.max(tl.where(stays & (old_rank == nbest - 1), old, -float("inf")), 0),
        tl.max(tl.where(comes & (new_rank == nbest - 1), score, -float("inf")), 0),
    )
    is_done = is_done | (nth >= reach)
    is_over = alive == 0
    if STOPPED:
        ends_here = tl.load(stopped + b) != 0
        is_done = is_done | ends_here
        is_over = is_over & ~ends_here
    tl.store(done_after + b, is_done)
    tl.store(over_after + b, is_over | (tl.load(over + b) != 0))
    tl.store(t_after + b, now + 1)


@triton.jit
def _walk_kernel(
    tokens, gained, logs, steps, ended, stopped, words, logs_after, steps_after, ended_after, stopped_after, size,
    END: tl.constexpr, PADDING: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    n = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    there = n < size
    word, gain = tl.load(tokens + n, there, PADDING), tl.load(gained + n, there, 0.0)
    going = (tl.load(stopped + n, there, 1) == 0) & (gain > -float("inf"))
    ending = going & (word == END)
    tl.store(words + n, tl.where(going, word, PADDING), there)
    tl.store(logs_after + n, tl.load(logs + n, there, 0.0) + tl.where(going, gain, 0.0), there)
    tl.store(steps_after + n, tl.load(steps + n, there, 0) + (going & ~ending).to(tl.int64), there)
    tl.store(ended_after + n, (tl.load(ended + n, there, 0) != 0) | ending, there)
    tl.store(stopped_after + n, ~going | ending, there)
