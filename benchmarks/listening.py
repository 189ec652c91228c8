"""Training steps of a listener: hours of sound a second, beside a plain torch loop of the same model; and recognition.

    python benchmarks/listening.py                 on a GPU if there is one, else on one thread of the CPU
    python benchmarks/listening.py MODEL LANGUAGE  recognition by a model of the recipe `spoken` on one thread, also
                                                   with a language model of words

Pyramid of three BLSTMs, four frames for a key, location-aware attention, one LSTM decoder, CTC. A batch has recordings
of four seconds with 60 letters each; whole optimizer steps with clipping; medians, a JSON line for each way.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import saccade
from saccade.batch import Batch
from saccade.corpora import CORPORA
from saccade.models import build_recognizer
from saccade.train.objective import WordLoss, losses_of
from saccade.train.terms import Ctc

SECONDS, FRAMES, MELS, LETTERS, VOCABULARY = 4.0, 400, 40, 60, 32
WIDTH, DECODER, INNER, FILTERS, KERNEL, EMBEDDING = 192, 224, 128, 8, 31, 48


class Plain(nn.Module):
    """The model in torch's own layers, as one would write it without a toolkit."""

    def __init__(self) -> None:
        super().__init__()
        sizes = [MELS, 4 * WIDTH, 4 * WIDTH]
        self.layers = nn.ModuleList(nn.LSTM(size, WIDTH, batch_first=True, bidirectional=True) for size in sizes)
        self.embedding = nn.Embedding(VOCABULARY, EMBEDDING)
        self.cell = nn.LSTMCell(EMBEDDING + 2 * WIDTH, DECODER)
        self.query, self.key = nn.Linear(DECODER, INNER), nn.Linear(2 * WIDTH, INNER)
        self.filters, self.place = nn.Conv1d(1, FILTERS, KERNEL, padding=KERNEL // 2), nn.Linear(FILTERS, INNER)
        self.score = nn.Linear(INNER, 1)
        self.readout, self.output = nn.Linear(DECODER + 2 * WIDTH, DECODER), nn.Linear(DECODER, VOCABULARY)
        self.ctc = nn.Linear(2 * WIDTH, VOCABULARY)

    def forward(self, frames: Tensor, letters: Tensor) -> Tensor:
        """Return the loss per letter."""
        heard = frames
        for number, layer in enumerate(self.layers):
            heard = layer(heard.unflatten(1, (-1, 2)).flatten(2) if number else heard)[0]
        keys, rows, size = self.key(heard), len(frames), heard.shape[1]
        state = heard.new_zeros(rows, DECODER), heard.new_zeros(rows, DECODER)
        context, weights, losses = heard.new_zeros(rows, 2 * WIDTH), heard.new_full((rows, size), 1 / size), []
        for step in range(letters.shape[1] - 1):
            state = self.cell(torch.cat([self.embedding(letters[:, step]), context], 1), state)
            places = self.place(self.filters(weights[:, None]).mT)
            scores = self.score(torch.tanh(self.query(state[0])[:, None] + keys + places)).squeeze(2)
            weights = scores.softmax(1)
            context = (weights[:, None] @ heard).squeeze(1)
            vector = torch.tanh(self.readout(torch.cat([state[0], context], 1)))
            losses.append(F.cross_entropy(self.output(vector), letters[:, step + 1]))
        logs = self.ctc(heard).float().log_softmax(-1).transpose(0, 1)
        sizes = torch.full((rows,), size), torch.full((rows,), letters.shape[1] - 1)
        return torch.stack(losses).mean() + 0.3 * F.ctc_loss(logs, letters[:, 1:], *sizes, zero_infinity=True)


def batch(rows: int, device: str) -> Batch:
    """Return random recordings and letters."""
    frames, letters = torch.randn(rows, FRAMES, MELS), torch.randint(4, VOCABULARY, (rows, LETTERS + 1))
    masks = [torch.ones(rows, size, dtype=torch.bool) for size in (FRAMES, LETTERS + 1)]
    return Batch(frames, masks[0], letters, masks[1]).to(torch.device(device))


def ours() -> nn.Module:
    """Return our objective over the same model."""
    model = build_recognizer(
        "las",
        MELS,
        VOCABULARY,
        sound_encoder={"kind": "pyramid", "width": WIDTH, "layers": 3, "factor": 4},
        embedding=EMBEDDING,
        decoder={"width": DECODER, "layers": 1},
        attention={"score": "location-aware", "score_options": {"width": INNER, "filters": FILTERS, "kernel": KERNEL}},
        ctc=True,
    )
    return WordLoss(model, terms=[Ctc(weight=0.3)])


def stepper(module: nn.Module, loss: Callable[[], Tensor]) -> Callable[[], Any]:
    """Return one optimizer step."""
    device = next(module.parameters()).device.type
    fused = {"fused": True, "capturable": True} if device == "cuda" else {}
    optimizer = torch.optim.AdamW(module.parameters(), 1e-4, **fused)

    def step() -> None:
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            value = loss()
        value.backward()
        nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def captured(step: Callable[[], Any]) -> Callable[[], Any]:
    """Return a CUDA graph of a step, as training runs it."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        step()
    return graph.replay


def seconds(step: Callable[[], Any], device: str, times: int) -> float:
    """Return the median duration of a step; on the CPU, of the processor's time, since other work may share it."""
    clock = time.perf_counter if device == "cuda" else time.process_time
    found = []
    for _ in range(times + 2):
        if device == "cuda":
            torch.cuda.synchronize()
        begun = clock()
        step()
        if device == "cuda":
            torch.cuda.synchronize()
        found.append(clock() - begun)
    return statistics.median(found[2:])


def recognition(model: str, language: str) -> None:
    """Print the CPU time of recognizing test recordings of `spoken`, for several searches."""
    torch.set_num_threads(1)
    task, fusion = saccade.load(model, device="cpu"), {"model": language, "weight": 0.2}
    said = list(CORPORA["spoken"].generate("test", 150, min_length=1, max_length=7))
    sounds = [example.sound.load() for example in said if example.sound is not None]
    length = sum(sound.seconds for sound in sounds)
    searches: dict[str, dict[str, Any]] = {
        "greedy": {},
        "beam 5": {"beam": 5},
        "beam 5, fusion": {"beam": 5, "fusion": fusion},
        "beam 5, ctc 0.3, fusion": {"beam": 5, "ctc": 0.3, "fusion": fusion},
    }
    for name, options in searches.items():
        list(task.stream(sounds[:40], **options))
        begun = time.process_time()
        texts = [found.text for found in task.stream(sounds, **options)]
        taken = time.process_time() - begun
        wrong = sum(text != example.target for text, example in zip(texts, said, strict=True))
        line = {"search": name, "recipe": "spoken", "sound_seconds": round(length, 1), "cpu_seconds": round(taken, 2)}
        print(json.dumps({**line, "times_real_time": round(length / taken), "texts_wrong": wrong}), flush=True)


def main() -> None:
    if len(sys.argv) == 3:
        recognition(*sys.argv[1:])
        return
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu":
        torch.set_num_threads(1)
    rows, times = (64, 20) if device == "cuda" else (8, 3)
    given = batch(rows, device)
    plain, own = Plain().to(device).train(), ours().to(device).train()
    assert given.source is not None
    assert given.target is not None
    frames, letters = given.source, given.target
    steps = {
        "plain torch": stepper(plain, lambda: plain(frames, letters)),
        "saccade": stepper(own, lambda: losses_of(own, given).total / (rows * LETTERS)),
    }
    for name, step in steps.items():
        taken = seconds(step, device, times)
        print(json.dumps({"way": name, "device": device, **_figures(rows, taken)}), flush=True)
    if device == "cuda":
        taken = seconds(captured(steps["saccade"]), device, times)
        print(json.dumps({"way": "saccade, CUDA graph", "device": device, **_figures(rows, taken)}), flush=True)


def _figures(rows: int, taken: float) -> dict[str, float]:
    hours = rows * SECONDS / 3600 / taken
    return {"step_ms": round(1000 * taken, 2), "hours_of_sound_a_second": round(hours, 4)}


if __name__ == "__main__":
    main()
