"""Training steps of recurrent models on a GPU: torch's operations, our kernels, and a CUDA graph of the latter.

    python benchmarks/recurrent_gpu.py            the decoder for each score, and two language models

Teacher-forced decoder: bi-LSTM 2 × 512, decoder 1024, embedding 512, vocabulary 32 000, 128 sentences of 50 words.
Language models: LSTMN and self-attentive RNN of width 512, 64 sentences of 50 words, vocabulary 1000. bf16, random
data, one whole optimizer step with clipping; medians, a JSON line for each. `share` is the time of large matmuls with
as many operations as the model's weight matmuls, divided by the time of the CUDA graph.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
from limits import operations_of, share_of_products
from torch import nn

from saccade import kernels
from saccade.batch import Batch
from saccade.models import build_language_model, build_seq2seq
from saccade.train.objective import WordLoss, losses_of

Step = Callable[[], Any]
ENCODER = {"cell": "lstm", "width": 512, "bidirectional": True, "reverse": False, "layers": 1, "dropout": 0.0}
DECODER = {"cell": "lstm", "width": 1024, "layers": 1, "dropout": 0.0, "initial_state": "mean", "output_width": 512}
SCORES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    # name: preset, changed decoder settings, attention
    "additive": ("bahdanau", {}, {"score": "additive"}),
    "concat": ("bahdanau", {}, {"score": "concat"}),
    "dot": ("bahdanau", {}, {"score": "dot"}),
    "general": ("bahdanau", {}, {"score": "general"}),
    "coverage": ("bahdanau", {}, {"score": "coverage"}),
    "location-aware, 10 filters of 15": (
        "bahdanau",
        {},
        {"score": "location-aware", "score_options": {"kernel": 15, "filters": 10}},
    ),
    "general, input feeding": ("luong-general", {"input_feeding": True}, {"score": "general"}),
    "no attention": ("sutskever", {"initial_state": "last", "output": "tanh"}, None),  # type: ignore[dict-item]
}


def words(rows: int, length: int, vocabulary: int) -> tuple[torch.Tensor, torch.Tensor]:
    tokens = torch.randint(4, vocabulary, (rows, length), device="cuda")
    return tokens, torch.ones_like(tokens, dtype=torch.bool)


def decoder(name: str) -> tuple[nn.Module, Batch, int]:
    preset, changes, attention = SCORES[name]
    settings = {"embedding": 512, "encoder": ENCODER, "decoder": {**DECODER, **changes}, "attention": attention}
    model = build_seq2seq(preset, 32_000, 32_000, **settings)
    return model, Batch(*words(128, 50, 32_000), *words(128, 51, 32_000)), 128 * 50


def reader(preset: str) -> tuple[nn.Module, Batch, int]:
    target, mask = words(64, 51, 1000)
    model = build_language_model(preset, 1000, embedding=512, width=512)
    return model, Batch(target=target, target_mask=mask), 64 * 50


def stepper(model: nn.Module, batch: Batch, tokens: int) -> Step:
    objective = WordLoss(model).cuda().train()  # type: ignore[arg-type]
    optimizer = torch.optim.AdamW(objective.parameters(), 1e-4, fused=True, capturable=True)

    def step() -> torch.Tensor:
        with torch.autocast("cuda", torch.bfloat16):
            losses = losses_of(objective, batch)
        (losses.total / tokens).backward()
        nn.utils.clip_grad_norm_(objective.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return losses.plain.detach() / tokens

    return step


def captured(step: Step) -> tuple[Step, float]:
    """Capture the step as a CUDA graph; return its replay and the seconds of capture."""
    aside = torch.cuda.Stream()
    with torch.cuda.stream(aside):
        for _ in range(2):
            step()
    torch.cuda.synchronize()
    began, graph = time.perf_counter(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=aside):
        loss = step()

    def replay() -> torch.Tensor:
        graph.replay()
        return loss

    return replay, time.perf_counter() - began


def milliseconds(step: Step, repeats: int) -> float:
    step()
    times = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        began = time.perf_counter()
        step()
        torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - began))
    return statistics.median(times)


def measure(name: str, make: Callable[[], tuple[nn.Module, Batch, int]]) -> None:
    torch.manual_seed(0)
    found: dict[str, float] = {}
    losses = {}
    for way, context in (("torch", kernels.disable_fused), ("ours", nullcontext)):
        torch.manual_seed(0)
        model, batch, tokens = make()
        with context():
            step = stepper(model, batch, tokens)
            losses[way] = float(step())
            aside = torch.cuda.Stream()
            with torch.cuda.stream(aside):
                found[way] = milliseconds(step, 5)
    replay, seconds = captured(step)
    found["graph"] = milliseconds(replay, 20)
    torch.cuda.reset_peak_memory_stats()
    line = {
        "case": name,
        **{f"{way}_ms": round(value, 2) for way, value in found.items()},
        "tokens_per_s": round(tokens / found["graph"] * 1e3),
        "speedup": round(found["torch"] / found["graph"], 1),
        "share": share_of_products(operations_of(model, tokens), found["graph"]),
        "recording_s": round(seconds, 2),
        "first_loss": [round(losses["torch"], 4), round(losses["ours"], 4)],
    }
    print(json.dumps(line), flush=True)


def main() -> None:
    print(json.dumps({"device": torch.cuda.get_device_name(), "torch": torch.__version__}), flush=True)
    for name in SCORES:
        try:
            measure(f"decoder, {name}", lambda name=name: decoder(name))  # type: ignore[misc]
        except Exception as error:  # continue with the other cases
            print(json.dumps({"case": name, "failed": str(error).splitlines()[0][:200]}), flush=True)
    for preset in ("lstmn", "self-attentive-rnn"):
        measure(f"reader, {preset}", lambda preset=preset: reader(preset))  # type: ignore[misc]


if __name__ == "__main__":
    main()
