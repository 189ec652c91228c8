"""Other libraries on the tasks of `transformer_gpu.py` and `decoding_gpu.py`: nn.Transformer and transformers' Marian.

    python benchmarks/peers_gpu.py

Training: an optimizer step of the base model over 512 × 64 words, bf16 autocast, with torch.compile. Decoding: 128
sentences of 30 tokens to 40 new ones, greedy and with a beam of 5, bf16. Random weights and data; medians; a JSON line
for each result. Without transformers installed, only nn.Transformer is measured.
"""

from __future__ import annotations

import importlib.util
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

WORDS, WIDTH, INNER, LAYERS, HEADS = 32_000, 512, 2048, 6, 8
END, PAD = 2, 0


class TorchTransformer(nn.Module):
    """nn.Transformer with embeddings, positions, output layer and loss."""

    def __init__(self) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(WORDS, WIDTH), nn.Embedding(WORDS, WIDTH)
        self.places = nn.Parameter(torch.randn(64, WIDTH))
        self.core = nn.Transformer(WIDTH, HEADS, LAYERS, LAYERS, INNER, 0.1, batch_first=True)
        self.output = nn.Linear(WIDTH, WORDS)
        self.register_buffer("causal", nn.Transformer.generate_square_subsequent_mask(64))

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        read, written = self.source(source) + self.places, self.target(target[:, :-1]) + self.places
        made = self.core(read, written, tgt_mask=self.causal, tgt_is_causal=True)
        logits = self.output(made).flatten(0, 1)
        return nn.functional.cross_entropy(logits, target[:, 1:].flatten(), label_smoothing=0.1)


class Marian(nn.Module):
    """Marian of transformers, with its own loss."""

    def __init__(self) -> None:
        super().__init__()
        from transformers import MarianConfig, MarianMTModel

        sizes: dict[str, Any] = {}
        for side in ("encoder", "decoder"):
            sizes |= {f"{side}_layers": LAYERS, f"{side}_ffn_dim": INNER, f"{side}_attention_heads": HEADS}
        self.model = MarianMTModel(
            MarianConfig(
                vocab_size=WORDS, d_model=WIDTH, max_position_embeddings=128, dropout=0.1, activation_function="relu",
                pad_token_id=PAD, eos_token_id=END, decoder_start_token_id=PAD, forced_eos_token_id=None, **sizes
            )
        )  # fmt: skip

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        loss: Tensor = self.model(input_ids=source, labels=target[:, 1:].contiguous()).loss
        return loss


def tokens(rows: int, length: int) -> Tensor:
    return torch.randint(4, WORDS, (rows, length), device="cuda")


def seconds(work: Callable[[], Any], repeats: int) -> float:
    for _ in range(3):
        work()
    times = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        began = time.perf_counter()
        work()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def train(name: str, model: nn.Module) -> None:
    model = model.cuda().train()
    compiled = torch.compile(model)
    optimizer = torch.optim.Adam(model.parameters(), 1e-4, fused=True)
    source, target = tokens(512, 64), tokens(512, 65)

    def step() -> None:
        with torch.autocast("cuda", torch.bfloat16):
            loss = compiled(source, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    began = time.perf_counter()
    step()
    torch.cuda.synchronize()
    first = time.perf_counter() - began
    took = seconds(step, 20)
    say(f"{name}, training, compiled", ms=1e3 * took, tokens_per_s=512 * 64 / took, first_step_s=first)


def write(name: str, model: nn.Module) -> None:
    """Measure `generate` in its default eager mode, and compiled with a static cache."""
    model = model.cuda().bfloat16().eval()
    source = tokens(128, 30)
    for beam in (1, 5):
        for way, more in (("eager", {}), ("compiled, static cache", {"cache_implementation": "static"})):
            limits = {"max_new_tokens": 40, "min_new_tokens": 40, "num_beams": beam, "do_sample": False, **more}
            try:
                began = time.perf_counter()
                model.generate(source, **limits)
                torch.cuda.synchronize()
                first = time.perf_counter() - began
                took = seconds(lambda limits=limits: model.generate(source, **limits), 5)
            except Exception as error:  # also report failures of transformers
                print(json.dumps({"case": f"{name}, {way}, beam {beam}", "error": str(error)[:300]}), flush=True)
                continue
            say(f"{name}, {way}, beam {beam}", ms=1e3 * took, sentences_per_s=128 / took, first_call_s=first)


def say(case: str, **figures: float) -> None:
    print(json.dumps({"case": case, **{name: round(value, 2) for name, value in figures.items()}}), flush=True)


def main() -> None:
    torch.manual_seed(0)
    print(json.dumps({"device": torch.cuda.get_device_name(), "torch": torch.__version__}), flush=True)
    train("nn.Transformer", TorchTransformer())
    if importlib.util.find_spec("transformers") is not None:
        write("transformers' generate", Marian().model)
        train("transformers' Marian", Marian())


if __name__ == "__main__":
    main()
