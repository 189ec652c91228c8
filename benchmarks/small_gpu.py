"""The small GPU kernels, each compared with its reference in torch's operations; a JSON line for each.

    python benchmarks/small_gpu.py

The operations of a decoding step: recurrent cells of 128 rows and width 1024, top-k over 32 000 words for 128
sentences and for beams of 5, and attention over 30 source words with eight heads. bf16; median
µs of CUDA graph replays, without Python's overhead. `share` is the time of a plain copy of the minimal memory traffic,
divided by our time. Small kernels stay far below 1, because a launch takes about 2 µs.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from limits import share_of_copying
from torch import Tensor
from triton.testing import do_bench_cudagraph

from saccade.kernels.cells import gru_cell, lstm_cell
from saccade.kernels.cells.naive import naive_gru_cell, naive_lstm_cell
from saccade.kernels.dot.step import attend_source
from saccade.kernels.ranking import best, best_together
from saccade.kernels.ranking.choose import SIZE
from saccade.kernels.ranking.fused import select, summaries

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))  # for the reference implementations
from helpers.naive_kernels import naive_best, naive_best_together

Work = Callable[[], Any]


def numbers(*shape: int) -> Tensor:
    return torch.randn(shape, device="cuda", dtype=torch.bfloat16)


def report(case: str, ours: Work, torchs: Work, bytes_: int) -> None:
    mine, theirs = (1e3 * float(do_bench_cudagraph(work, return_mode="median")) for work in (ours, torchs))
    line = {"case": case, "us": round(mine, 2), "torch_us": round(theirs, 2), "speedup": round(theirs / mine, 1)}
    print(json.dumps({**line, "share": share_of_copying(bytes_, mine / 1e3)}), flush=True)


def cells(rows: int, width: int) -> None:
    """Measure forward and both passes; both gate inputs and the state are read and get gradients."""
    for name, gates, ours, naive in (("LSTM", 4, lstm_cell, naive_lstm_cell), ("GRU", 3, gru_cell, naive_gru_cell)):
        parts = [numbers(rows, size * width).requires_grad_() for size in (gates, gates, 1)]
        made = 2 if name == "LSTM" else 1

        def forward(way: Any, parts: list[Tensor] = parts) -> Any:
            return way(*parts)

        def both(way: Any, parts: list[Tensor] = parts) -> Any:
            out = way(*parts)
            out = out if isinstance(out, tuple) else (out,)
            return torch.autograd.grad(out, parts, [torch.ones_like(one) for one in out])

        numbers_of = rows * width * 2
        read = 2 * gates + 1
        for label, work, moved in (("forward", forward, read + made), ("both passes", both, 3 * read + 2 * made)):
            report(
                f"{name} cell, {label}",
                lambda work=work, ours=ours: work(ours),
                lambda work=work, naive=naive: work(naive),
                moved * numbers_of,
            )


def ranking(sentences: int, beam: int, words: int) -> None:
    logits, before = numbers(sentences * beam, words), torch.randn(sentences, beam, device="cuda")
    greedy = logits[:sentences].contiguous()
    report("the best word", lambda: best(greedy, 3, 1), lambda: naive_best(greedy, 3, 1), greedy.nbytes)
    report(
        f"the best {2 * beam} of {beam} hypotheses",
        lambda: best_together(logits, before, 3, 2 * beam),
        lambda: naive_best_together(logits, before, 3, 2 * beam),
        logits.nbytes,
    )
    for rows, likely, count in ((greedy, None, 1), (logits, before, 2 * beam)):
        seen = summaries(rows, 3, SIZE)
        for name, work in (
            ("greatest of blocks, and sums", lambda rows=rows: summaries(rows, 3, SIZE)),
            (f"the {count} best of them", lambda rows=rows, seen=seen, a=likely, n=count: select(rows, seen, a, 3, n)),
        ):
            took = 1e3 * float(do_bench_cudagraph(work, return_mode="median"))
            print(json.dumps({"case": f"{name}, {len(rows)} rows", "us": round(took, 2)}), flush=True)


def attention(sentences: int, beam: int, size: int, heads: int, width: int) -> None:
    """Measure the attention of one target word for each hypothesis over its source."""
    each = width // heads
    keys, values = numbers(sentences * heads, each, size), numbers(sentences * heads, size, each)
    query = numbers(sentences * beam, width)

    def torchs() -> Tensor:
        asked = query.view(sentences, beam, heads, each).transpose(1, 2)
        bank = (part.view(sentences, heads, size, each) for part in (keys.mT, values))
        return torch.nn.functional.scaled_dot_product_attention(asked, *bank, scale=1.0)

    moved = keys.nbytes + values.nbytes + 2 * query.nbytes
    name = f"a word's attention over its source, {beam} to a sentence"
    report(name, lambda: attend_source(query, keys, values, None, heads), torchs, moved)


def main() -> None:
    torch.manual_seed(0)
    print(json.dumps({"device": torch.cuda.get_device_name(), "torch": torch.__version__}), flush=True)
    cells(128, 1024)
    ranking(128, 5, 32_000)
    for beam in (1, 5):
        attention(128, beam, 30, 8, 512)


if __name__ == "__main__":
    main()
