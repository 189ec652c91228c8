"""What copying and long sources cost, on a CPU or a GPU: random weights, random texts, medians.

    python benchmarks/copying.py [decode] [long] [--device cuda]

decode: seconds with `output: pointer` and without, of the same recurrent model and of a Transformer.
long: seconds and memory of a training step and of decoding, with the pointer, for sources of 250 to 4,000 tokens; the
last line has the exponents b of a fit seconds = a·length^b. Prints a JSON line for each case.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import statistics
import time
from typing import Any

import torch

from saccade.batch import EOS, UNK, Batch
from saccade.models import build_seq2seq
from saccade.models.base import Seq2Seq
from saccade.models.build import configure
from saccade.models.pointer import OutputConfig, build_pointer
from saccade.search import SearchConfig, decode
from saccade.train.objective import WordLoss, losses_of

WORDS, NEW = 8_000, 40
RECURRENT: tuple[str, dict[str, Any]] = (
    "bahdanau",
    {
        "embedding": 256,
        "encoder": {"cell": "lstm", "width": 256, "bidirectional": True},
        "decoder": {"cell": "lstm", "width": 256, "attend_from": "previous", "output_width": 256},
        "attention": {"score": "additive"},
        "init": {"kind": "default"},
    },
)
TRANSFORMER: tuple[str, dict[str, Any]] = (
    "transformer-base",
    {"width": 256, "feed_forward": 1024, "layers": 4, "max_length": 4200},
)


def build(model: tuple[str, dict[str, Any]], device: str, *, pointer: bool) -> Seq2Seq:
    """Build a model that never ends an answer."""
    torch.manual_seed(0)
    preset, settings = model
    if pointer:
        made: Seq2Seq = build_pointer(configure(preset, **settings), WORDS, OutputConfig(kind="pointer"))
        inner = made.inner
    else:
        made = inner = build_seq2seq(preset, WORDS, WORDS, **settings)
    with torch.no_grad():
        inner.output.bias[EOS] = -1e4
    return made.to(device, torch.bfloat16 if device == "cuda" else torch.float32)


def texts(rows: int, length: int, device: str) -> Batch:
    """Return random sources and answers; every tenth source word is unknown, and can be copied."""
    generator = torch.Generator().manual_seed(length)
    source = torch.randint(4, WORDS, (rows, length), generator=generator)
    target = torch.randint(4, WORDS, (rows, NEW + 1), generator=generator)
    unknown = torch.arange(length) % 10 == 0
    copies = torch.where(unknown, WORDS + torch.arange(length), source)
    source = source.masked_fill(unknown, UNK)
    batch = Batch(
        source,
        torch.ones_like(source, dtype=torch.bool),
        target,
        torch.ones_like(target, dtype=torch.bool),
        copies=copies,
    )
    return batch.to(torch.device(device))


def timed(work: Any, device: str, repeats: int = 5) -> float:
    """Return the median seconds of some work, after two runs that warm up."""
    times = []
    for _ in range(repeats + 2):
        if device == "cuda":
            torch.cuda.synchronize()
        began = time.perf_counter()
        work()
        if device == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    return statistics.median(times[2:])


def answer(model: Seq2Seq, batch: Batch, beam: int) -> None:
    config = SearchConfig(beam=beam, batch_size=batch.size, length_penalty=0.0)
    decode(model, batch, config, lengths=[NEW] * batch.size, attention=False)


def decoding(device: str) -> None:
    rows = 64 if device == "cuda" else 8
    batch = texts(rows, 200, device)
    for name, model in {"recurrent": RECURRENT, "transformer": TRANSFORMER}.items():
        models = {kind: build(model, device, pointer=kind == "pointer").eval() for kind in ("words", "pointer")}
        for beam in (1, 4):
            seconds = {
                kind: timed(lambda made=made, beam=beam: answer(made, batch, beam), device)
                for kind, made in models.items()
            }
            ratio = seconds["pointer"] / seconds["words"]
            say(case="decode", model=name, beam=beam, sentences=rows, **seconds, ratio=round(ratio, 3))


def long(device: str) -> None:
    lengths = (250, 500, 1000, 2000, 4000) if device == "cuda" else (250, 500, 1000, 2000)
    for name, shape in {"recurrent": RECURRENT, "transformer": TRANSFORMER}.items():
        model = build(shape, device, pointer=True)
        objective = WordLoss(model)
        for what in ("training", "decoding"):
            model.train(what == "training")
            times = [long_source(name, what, model, objective, length, device) for length in lengths]
            last = math.log2(times[-1] / times[-2])
            say(
                case="exponent",
                model=name,
                what=what,
                all=round(exponent(lengths, times), 2),
                last_doubling=round(last, 2),
            )


def long_source(name: str, what: str, model: Seq2Seq, objective: WordLoss, length: int, device: str) -> float:
    """Return the seconds of one training step or one greedy search; say them, and the peak of memory."""
    batch = texts(8 if device == "cuda" else 1, length, device)

    def update() -> None:
        model.zero_grad()
        losses_of(objective, batch).total.backward()

    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    seconds = timed(update if what == "training" else lambda: answer(model, batch, 1), device, 3)
    if device == "cuda":
        peak = torch.cuda.max_memory_allocated() / 1e6
    else:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3  # of the process so far
    say(
        case="long",
        model=name,
        what=what,
        rows=batch.size,
        length=length,
        seconds=round(seconds, 5),
        peak_megabytes=round(peak),
    )
    return seconds


def exponent(lengths: tuple[int, ...], seconds: list[float]) -> float:
    """Return b of the least-squares fit log(seconds) = log(a) + b·log(length)."""
    xs, ys = [math.log(x) for x in lengths], [math.log(y) for y in seconds]
    x, y = statistics.mean(xs), statistics.mean(ys)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / sum((a - x) ** 2 for a in xs)


def say(**line: Any) -> None:
    print(json.dumps(line), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=["decode", "long"])
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    say(device=torch.cuda.get_device_name() if options.device == "cuda" else "cpu", torch=torch.__version__)
    for case in options.cases:
        {"decode": decoding, "long": long}[case](options.device)


if __name__ == "__main__":
    main()
