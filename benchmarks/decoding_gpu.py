"""Decoding on a GPU: 128 sentences of 30 tokens, 40 new tokens each, bf16, random weights that never end a sentence.

    python benchmarks/decoding_gpu.py        greedy and a beam of 5; base Transformer, and a recurrent model

Measures sentences per second of the whole call, from tokens to hypotheses; medians. Compares the output with that of
the search without CUDA graphs. `share` is the time of a plain copy of the weights read in all steps, divided by the
time taken. Prints a JSON line for each case.
"""

from __future__ import annotations

import json
import statistics
import time
from typing import Any

import torch
from limits import share_of_copying

from saccade.batch import EOS, Batch
from saccade.models import Seq2Seq, build_seq2seq
from saccade.search import SearchConfig, decode, decoding

SENTENCES, LENGTH, NEW, WORDS = 128, 30, 40, 32_000
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "transformer": ("transformer-base", {}),
    "bahdanau": (
        "bahdanau",
        {
            "embedding": 512,
            "encoder": {"cell": "lstm", "width": 512, "bidirectional": True},
            "decoder": {"cell": "lstm", "width": 1024, "attend_from": "previous", "output_width": 512},
            "attention": {"score": "additive"},
            "init": {"kind": "default"},
        },
    ),
}


def build(name: str) -> Seq2Seq:
    torch.manual_seed(0)
    preset, changes = MODELS[name]
    model = build_seq2seq(preset, WORDS, WORDS, **changes).cuda().bfloat16()
    with torch.no_grad():
        assert model.output.bias is not None
        model.output.bias[EOS] = -1e4
    return model


def bytes_of(model: Seq2Seq) -> int:
    """Return the bytes of weights that a decoding step must read; the KV cache is small compared with them."""
    skipped = {id(weight) for weight in model.encoder.parameters()}  # type: ignore[union-attr]
    skipped |= {id(part.weight) for part in model.modules() if isinstance(part, torch.nn.Embedding)}
    skipped -= {id(model.output.weight)}  # type: ignore[union-attr]
    return sum(weight.numel() * weight.itemsize for weight in model.parameters() if id(weight) not in skipped)


def run(model: Seq2Seq, batch: Batch, beam: int) -> list[Any]:
    config = SearchConfig(beam=beam, batch_size=SENTENCES, length_penalty=0.0)
    return decode(model, batch, config, lengths=[NEW] * batch.size, attention=False)


def seconds(model: Seq2Seq, batch: Batch, beam: int, repeats: int) -> float:
    times = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        began = time.perf_counter()
        run(model, batch, beam)
        torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def main() -> None:
    print(json.dumps({"device": torch.cuda.get_device_name(), "torch": torch.__version__}), flush=True)
    for name in MODELS:
        model = build(name)
        source = torch.randint(4, WORDS, (SENTENCES, LENGTH), device="cuda")
        batch = Batch(source, torch.ones_like(source, dtype=torch.bool))
        for beam in (1, 5):
            replayed, decoding.graphed_search = decoding.graphed_search, lambda *given, **options: None  # type: ignore[assignment]
            plain = run(model, batch, beam)
            slow = seconds(model, batch, beam, 2)
            decoding.graphed_search = replayed
            run(model, batch, beam)
            began = time.perf_counter()
            run(model, batch, beam)
            capture = time.perf_counter() - began
            found = run(model, batch, beam)
            same = sum(a[0].tokens == b[0].tokens for a, b in zip(plain, found, strict=True))
            fast = seconds(model, batch, beam, 20)
            line = {
                "case": f"{name}, beam {beam}",
                "sentences_per_s": round(SENTENCES / fast),
                "ms": round(1e3 * fast, 2),
                "without_graphs_ms": round(1e3 * slow, 1),
                "recording_s": round(capture, 2),
                "same_as_without": f"{same} of {SENTENCES}",
                "tokens": sum(len(hypotheses[0].tokens) for hypotheses in found),
                "share": share_of_copying(NEW * bytes_of(model), 1e3 * fast),
            }
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
