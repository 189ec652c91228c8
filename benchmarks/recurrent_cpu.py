"""Decoding with recurrent models on two CPU cores, compared with eole and its own models.

    python benchmarks/recurrent_cpu.py MODEL --data DIR --peer-python VENV/bin/python --peer-model DIR --pieces FILE

MODEL is the folder of a recurrent translation model (`benchmarks/multi30k.py quality` makes one); --data has the data
set's test_2016_flickr.{en,de}.gz; VENV has eole; --peer-model is a model trained by eole; --pieces is the same
sentences as subwords. The weights differ, so both generate exactly 14 tokens for each sentence, in batches of 32.
saccade is timed from text to text, with two workers of one thread each. eole is timed from subwords to subwords: as one
process of two threads, its only built-in mode, and as two processes of one thread that share the sentences. Runs
alternate; prints medians as JSON lines.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

LENGTH, BATCH = 14, 32


# eole's side: does not import saccade


def serve(model: str) -> None:
    """Answer requests, lines of JSON: {"beam", "sources"} -> {"seconds", "tokens"}."""
    import torch
    from eole.config.run import PredictConfig
    from eole.inference_engine import InferenceEnginePY

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    engines: dict[int, Any] = {}
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["beam"] not in engines:
            config = PredictConfig(
                model_path=model, src="-", output=os.devnull, beam_size=asked["beam"], batch_size=BATCH,
                batch_type="sents", min_length=LENGTH, max_length=LENGTH, max_length_ratio=10, length_penalty="avg",
                world_size=1, gpu_ranks=[], compute_dtype="fp32", self_attn_backend="pytorch", report_time=False,
            )  # fmt: skip
            engines[asked["beam"]] = InferenceEnginePY(config)
        began = time.perf_counter()
        _, _, found = engines[asked["beam"]].infer_list(asked["sources"])
        seconds = time.perf_counter() - began
        print(json.dumps({"seconds": seconds, "tokens": sum(len(best[0].split()) for best in found)}), flush=True)


# saccade's side


class Peer:
    """eole in one or more processes that share the sentences; the slowest one counts."""

    def __init__(self, python: Path, model: Path, processes: int, threads: int) -> None:
        command = [str(python), "-P", __file__, str(model), "--serve"]
        options: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        settings = {**os.environ, "OMP_NUM_THREADS": str(threads), "PYTHONPATH": ""}
        self._processes = [
            subprocess.Popen(command, env=settings, stderr=subprocess.DEVNULL, **options) for _ in range(processes)
        ]

    def seconds(self, beam: int, sources: list[str]) -> float:
        for number, process in enumerate(self._processes):
            request = json.dumps({"beam": beam, "sources": sources[number :: len(self._processes)]})
            assert process.stdin is not None
            process.stdin.write(request + "\n")
            process.stdin.flush()
        answers = [self._answer(process) for process in self._processes]
        assert sum(answer["tokens"] for answer in answers) == LENGTH * len(sources)
        return float(max(answer["seconds"] for answer in answers))

    def _answer(self, process: subprocess.Popen[str]) -> dict[str, Any]:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("{"):  # eole prints other lines too
                found: dict[str, Any] = json.loads(line)
                return found
        raise SystemExit("eole ended without an answer. Run it manually to see the error.")

    def close(self) -> None:
        for process in self._processes:
            process.kill()


def endless(model: Path, folder: Path) -> Path:
    """Copy a model with an output bias that prevents the end token."""
    from safetensors import safe_open
    from safetensors.torch import load_file, save_file

    from saccade.batch import EOS

    shutil.copytree(model, folder)
    file = folder / "model.safetensors"
    with safe_open(file, "pt") as opened:
        metadata = opened.metadata()
    weights = load_file(file)
    weights["output.bias"][EOS] = -1e4
    save_file(weights, file, metadata=metadata)
    return folder


def compare(arguments: argparse.Namespace, stack: ExitStack) -> None:
    from saccade.data.formats import pairs
    from saccade.runs.folder import load_task
    from saccade.runs.workers import Workers
    from saccade.search.search_config import SearchConfig
    from saccade.tasks.batching import stream

    examples = pairs(*(arguments.data / f"test_2016_flickr.{side}.gz" for side in ("en", "de")))
    texts = [example.source or "" for example in examples]
    subwords = arguments.pieces.read_text(encoding="utf-8").rstrip("\n").split("\n")
    assert len(subwords) == len(texts)
    temporary = stack.enter_context(tempfile.TemporaryDirectory())
    folder = endless(arguments.model, Path(temporary) / "endless")
    task, pool = load_task(folder), stack.enter_context(Workers(folder, 2))
    peers = {
        f"eole, {processes} x {threads}": Peer(arguments.peer_python, arguments.peer_model, processes, threads)
        for processes, threads in ((1, 2), (2, 1))
    }
    for peer in peers.values():
        stack.callback(peer.close)

    def ours(precision: Any, beam: int, some: list[str]) -> float:
        search = SearchConfig(beam=beam, batch_size=BATCH, max_length=LENGTH, length_penalty=0.0, precision=precision)
        began = time.perf_counter()
        found = list(stream(task, some, search, workers=pool))
        seconds = time.perf_counter() - began
        assert sum(len(prediction.tokens) for prediction in found) == LENGTH * len(some)
        return seconds

    ways: dict[str, Any] = {
        name: lambda beam, n, peer=peer: peer.seconds(beam, subwords[:n]) for name, peer in peers.items()
    }
    ways |= {f"saccade, {kind}": lambda beam, n, kind=kind: ours(kind, beam, texts[:n]) for kind in ("full", "int8")}
    for beam in (1, 5):
        for way in ways.values():
            way(beam, 128)
        times: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(arguments.runs):
            for name, way in ways.items():
                times[name].append(way(beam, len(texts)))
        for name, each in times.items():
            speeds = sorted(round(len(texts) / seconds, 1) for seconds in each)
            median = statistics.median(speeds)
            print(json.dumps({"way": name, "beam": beam, "sentences_per_s": median, "all": speeds}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--peer-python", type=Path)
    parser.add_argument("--peer-model", type=Path)
    parser.add_argument("--pieces", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve(str(arguments.model))
    else:
        with ExitStack() as stack:
            compare(arguments, stack)


if __name__ == "__main__":
    main()
