"""Decoding on two CPU cores, compared with CTranslate2 on the same weights.

    python benchmarks/ctranslate2.py MODEL --data DIR --peer-python VENV/bin/python [--recurrent MODEL]

MODEL is the folder of a trained translation Transformer (`benchmarks/multi30k.py quality` makes one); DIR has the data
set's test_2016_flickr.{en,de}.gz; VENV has ctranslate2 and numpy. CTranslate2 gets the same weights, so both engines do
the same work: 1000 sentences in batches of 32 (--batch), at most 60 tokens, no length penalty, two workers of one
thread each. Runs alternate; results are medians. Both are timed from tokens to tokens, saccade also from text to text,
as in `saccade predict`. Prints a JSON line for each result.
"""

from __future__ import annotations

import argparse
import atexit
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

LONGEST, WORKERS = 60, 2
SPECIALS = ("<pad>", "<bos>", "<eos>", "<unk>")


# CTranslate2's side: does not import saccade


def serve(folder: Path) -> None:
    """Answer requests, lines of JSON: {"type", "beam", "batch", "sources"} -> {"seconds", "answers"}."""
    import ctranslate2

    convert(folder)
    print(json.dumps({"version": ctranslate2.__version__}), flush=True)
    translators: dict[str, Any] = {}
    for line in sys.stdin:
        asked = json.loads(line)
        kind = asked["type"]
        if kind not in translators:
            options = {"compute_type": kind, "inter_threads": WORKERS, "intra_threads": 1}
            translators[kind] = ctranslate2.Translator(str(folder / "peer"), device="cpu", **options)
        sources = [[name(token) for token in source] for source in asked["sources"]]
        began = time.perf_counter()
        found = translators[kind].translate_batch(
            sources,
            beam_size=asked["beam"],
            max_batch_size=asked["batch"],
            max_decoding_length=LONGEST,
            length_penalty=0,
        )
        seconds = time.perf_counter() - began
        answers = [[int(token) for token in result.hypotheses[0] if token not in SPECIALS] for result in found]
        print(json.dumps({"seconds": seconds, "answers": answers}), flush=True)


def name(token: int) -> str:
    return SPECIALS[token] if token < len(SPECIALS) else str(token)


def convert(folder: Path) -> None:
    """Convert the weights in `folder` to a CTranslate2 Transformer."""
    from ctranslate2.specs import TransformerSpec

    weights, facts = np.load(folder / "weights.npz"), json.loads((folder / "facts.json").read_text())
    spec = TransformerSpec.from_config(tuple(facts["layers"]), facts["heads"], pre_norm=facts["pre_norm"])

    def linear(part: Any, *names: str) -> None:
        part.weight = np.concatenate([weights[f"{each}.weight"] for each in names])
        part.bias = np.concatenate([weights[f"{each}.bias"] for each in names])

    def norm(part: Any, site: str) -> None:
        part.gamma, part.beta = weights[f"{site}.weight"], weights[f"{site}.bias"]

    for side, part in (("encoder", spec.encoder), ("decoder", spec.decoder)):
        embedding = part.embeddings[0] if side == "encoder" else part.embeddings
        embedding.weight = weights["source_embedding.weight" if side == "encoder" else "target_embedding.weight"]
        part.position_encodings.encodings = weights["positions"]
        if facts["pre_norm"]:
            norm(part.layer_norm, f"{side}.norm")
        for number, layer in enumerate(part.layer):
            at = f"{side}.layers.{number}"
            own = [f"{at}.self_attention.{each}" for each in ("query", "key", "value")]
            linear(layer.self_attention.linear[0], *own)
            linear(layer.self_attention.linear[1], f"{at}.self_attention.output")
            norm(layer.self_attention.layer_norm, f"{at}.around_self.norm")
            if side == "decoder":
                linear(layer.attention.linear[0], f"{at}.cross.query")
                linear(layer.attention.linear[1], f"{at}.cross.key", f"{at}.cross.value")
                linear(layer.attention.linear[2], f"{at}.cross.output")
                norm(layer.attention.layer_norm, f"{at}.around_cross.norm")
            linear(layer.ffn.linear_0, f"{at}.feed_forward.0")
            linear(layer.ffn.linear_1, f"{at}.feed_forward.2")
            norm(layer.ffn.layer_norm, f"{at}.around_feed.norm")
    linear(spec.decoder.projection, "output")
    vocabulary = [name(token) for token in range(len(weights["output.bias"]))]
    spec.register_source_vocabulary(vocabulary)
    spec.register_target_vocabulary(vocabulary)
    spec.config.bos_token, spec.config.eos_token, spec.config.unk_token = SPECIALS[1:]
    spec.config.decoder_start_token = SPECIALS[1]
    spec.validate()
    (folder / "peer").mkdir()
    spec.save(str(folder / "peer"))


# saccade's side


class Peer:
    """CTranslate2 in its own process, with the weights of a saccade model."""

    def __init__(self, python: Path, model: Any) -> None:
        import torch

        self._folder = Path(tempfile.mkdtemp())
        weights = {name: part.float().numpy() for name, part in model.state_dict().items()}
        places = model.target_place.positions(torch.arange(1024)[None])[0]
        np.savez(self._folder / "weights.npz", positions=places.numpy(), **weights)
        layers = [len(model.encoder.layers), len(model.decoder.layers)]
        first = model.decoder.layers[0]
        facts = {"layers": layers, "heads": first.cross.heads, "pre_norm": first.around_self.pre}
        (self._folder / "facts.json").write_text(json.dumps(facts))
        # -P: keep this folder off sys.path, because this file has the name of the package it imports
        command = [str(python), "-P", __file__, "--serve", str(self._folder)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.version = self._answer()["version"]

    def translate(self, kind: str, beam: int, batch: int, sources: list[list[int]]) -> tuple[float, list[list[int]]]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"type": kind, "beam": beam, "batch": batch, "sources": sources}) + "\n")
        self._process.stdin.flush()
        answer = self._answer()
        return answer["seconds"], answer["answers"]

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        shutil.rmtree(self._folder)

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())


class Ours:
    """saccade's workers, from text to text."""

    def __init__(self, folder: Path) -> None:
        from saccade.runs.folder import load_task
        from saccade.runs.workers import Workers

        self.task, self.workers = load_task(folder), Workers(folder, WORKERS)

    def translate(self, precision: str, beam: int, batch: int, texts: list[str]) -> tuple[float, list[str]]:
        from saccade.search.search_config import SearchConfig
        from saccade.tasks.batching import stream

        search = SearchConfig(beam=beam, batch_size=batch, max_length=LONGEST, length_penalty=0, precision=precision)
        began = time.perf_counter()
        found = [each.text for each in stream(self.task, texts, search, workers=self.workers)]
        return time.perf_counter() - began, found


class Searches:
    """saccade in two processes, from tokens to tokens."""

    def __init__(self, folder: Path) -> None:
        self._pool = ProcessPoolExecutor(WORKERS, get_context("spawn"), _load, (folder,))

    def translate(self, precision: str, beam: int, batch: int, sources: list[list[int]]) -> float:
        """Return the seconds. The longest three quarters of the sentences are split evenly, the rest go in batches."""
        began = time.perf_counter()
        order = sorted(sources, key=len, reverse=True)
        dealt = len(order) * 3 // 4
        loads = [order[first:dealt:WORKERS] for first in range(WORKERS)]
        loads += [order[first : first + batch] for first in range(dealt, len(order), batch)]
        list(self._pool.map(_search, loads, [precision] * len(loads), [beam] * len(loads), [batch] * len(loads)))
        return time.perf_counter() - began

    def close(self) -> None:
        self._pool.shutdown()


_models: list[Any] = []
"""In a worker process of `Searches`: its model."""


def _load(folder: Path) -> None:
    import gc

    import torch

    from saccade.runs.folder import load_task

    torch.set_num_threads(1)
    _models.append(load_task(folder).model)
    gc.freeze()
    atexit.register(gc.unfreeze)


def _search(sources: list[list[int]], precision: str, beam: int, batch: int) -> list[list[int]]:
    from saccade.batch import Batch
    from saccade.search import SearchConfig, decode

    search = SearchConfig(beam=beam, batch_size=batch, max_length=LONGEST, length_penalty=0, precision=precision)
    found = decode(_models[0], Batch.from_lists(sources), search, lengths=[LONGEST] * len(sources), attention=False)
    return [hypotheses[0].tokens for hypotheses in found]


def compare(arguments: argparse.Namespace) -> None:
    import sacrebleu

    from saccade.batch import EOS
    from saccade.data.formats import pairs

    examples = list(pairs(*(arguments.data / f"test_2016_flickr.{side}.gz" for side in ("en", "de"))))
    texts, references = [each.source or "" for each in examples], [[each.target or "" for each in examples]]
    ours, searches = Ours(arguments.model), Searches(arguments.model)
    task = ours.task
    peer = Peer(arguments.peer_python, task.model)
    sources = [[*part.tokens, EOS] for part in task.source.encode_all(texts)]
    for kind, precision in (("float32", "full"), ("int8", "int8")):
        for beam in (1, 5):
            times: dict[str, list[float]] = {"ctranslate2": [], "saccade": [], "tokens": []}
            peer.translate(kind, beam, arguments.batch, sources[:128])
            ours.translate(precision, beam, arguments.batch, texts[:256])
            searches.translate(precision, beam, arguments.batch, sources[:256])
            for _ in range(arguments.runs):
                seconds, answers = peer.translate(kind, beam, arguments.batch, sources)
                times["ctranslate2"].append(seconds)
                seconds, written = ours.translate(precision, beam, arguments.batch, texts)
                times["saccade"].append(seconds)
                times["tokens"].append(searches.translate(precision, beam, arguments.batch, sources))
            theirs = [task.target.decode(answer) for answer in answers]
            same = sum(one == other for one, other in zip(written, theirs, strict=True)) / len(texts)
            speeds = {name: len(texts) / statistics.median(each) for name, each in times.items()}
            say(
                precision=kind,
                beam=beam,
                batch=arguments.batch,
                ctranslate2=round(speeds["ctranslate2"], 1),
                saccade=round(speeds["tokens"], 1),
                ratio=round(speeds["tokens"] / speeds["ctranslate2"], 3),
                saccade_text_to_text=round(speeds["saccade"], 1),
                ratio_of_text=round(speeds["saccade"] / speeds["ctranslate2"], 3),
                bleu_ctranslate2=round(sacrebleu.corpus_bleu(theirs, references).score, 2),
                bleu_saccade=round(sacrebleu.corpus_bleu(written, references).score, 2),
                same=round(same, 3),
            )
    peer.close()
    searches.close()
    if arguments.recurrent is not None:
        recurrent(arguments, texts, references)


def recurrent(arguments: argparse.Namespace, texts: list[str], references: list[list[str]]) -> None:
    """Measure a recurrent model, which CTranslate2 does not support."""
    import sacrebleu

    ours = Ours(arguments.recurrent)
    for precision in ("full", "int8"):
        for beam in (1, 5):
            ours.translate(precision, beam, arguments.batch, texts[:256])
            runs = [ours.translate(precision, beam, arguments.batch, texts) for _ in range(arguments.runs)]
            speed = len(texts) / statistics.median(seconds for seconds, _ in runs)
            bleu = sacrebleu.corpus_bleu(runs[-1][1], references).score
            say(model="recurrent", precision=precision, beam=beam, saccade=round(speed, 1), bleu=round(bleu, 2))


def say(**result: Any) -> None:
    print(json.dumps(result), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, nargs="?")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--peer-python", type=Path)
    parser.add_argument("--recurrent", type=Path, help="folder of a recurrent model, timed without CTranslate2")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve is not None:
        serve(arguments.serve)
    else:
        compare(arguments)


if __name__ == "__main__":
    sys.exit(main())
