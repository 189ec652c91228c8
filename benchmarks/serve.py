"""Load test of the server: 64 clients at once, with every answer checked against one computed alone beforehand.

    python benchmarks/serve.py                          # the demo's model in runs/demo; about four minutes
    python benchmarks/serve.py MODEL --seconds 5 --out /tmp/serve     # a quick check

The server runs in its own process, started as from a shell. The clients are coroutines of one other process that write
raw HTTP, to save CPU time on the shared cores. The server runs four times: with dynamic batching, with one request at a
time (`--max-batch 1`), with dynamic batching while one client sends garbage and another disconnects at random, and with
dynamic batching in int8. A lost, late, swapped or different answer, or a 5xx, ends the benchmark with an error. For
comparison: `predict` in one process with the same model and sentences, in float32 and in int8.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import torch

import saccade
from saccade.corpora import CORPORA

PATIENCE = 60
"""Seconds to wait for a server, or for an answer, before the benchmark gives up."""
GARBAGE = (
    b"",
    b"\x00\xff\xfe not HTTP at all\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n{",
    b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"POST /v1/predict HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 2\r\n\r\n{}",
)
BODIES = (
    b"",
    b"{",
    b"[" * 50_000,
    b"null",
    b'"text"',
    b'{"input": 7}',
    b'{"input": "\xff"}',
    b'{"input": "\\ud800"}',
    b'{"input": "a", "inputs": ["b"]}',
    b'{"input": "a", "options": {"beam": 1e9}}',
    b'{"input": "a", "options": {"beam": 100000}}',
    b'{"input": "a", "model": "../../etc/passwd"}',
    json.dumps({"input": "word " * 5000}).encode(),
    json.dumps({"inputs": ["a"] * 5000}).encode(),
)


class Question(NamedTuple):
    """A request as bytes, and the expected answer."""

    request: bytes
    text: str
    answer: str


@dataclass
class Tally:
    """Counts and times of the clients."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    hung_up: int = 0
    refused: Counter[int] = field(default_factory=Counter)


class Row(NamedTuple):
    """A line of the table."""

    name: str
    throughput: float
    answers: int
    p50: float
    p99: float
    batch: float
    garbage: int
    hung_up: int


def predicted(model: Path, texts: list[str], precision: str, threads: int, count: int = 6000) -> float:
    """Return answers per second of `predict`, given all sentences at once."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    loaded, many = saccade.load(model, device="cpu"), (texts * (count // len(texts) + 1))[:count]
    list(loaded.stream(texts, precision=precision))  # warm up
    began = time.perf_counter()
    list(loaded.stream(many, precision=precision))
    torch.set_num_threads(before)
    return count / (time.perf_counter() - began)


def questions(model: Path, count: int, precision: str = "full") -> list[Question]:
    """Return test sentences of the built-in corpus, with the prediction of each computed alone."""
    loaded = saccade.load(model, device="cpu")
    corpus = CORPORA["english-french"].generate("test", count, 1, max_length=24)
    texts = [example.source or "" for example in corpus]
    found = []
    for text in texts:
        prediction = next(loaded.stream([text], attention=False, precision=precision))
        body = json.dumps({"input": text}).encode()
        found.append(Question(request(body), text, prediction.text))
    return found


def request(body: bytes) -> bytes:
    head = "POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
    return head.encode() + f"{len(body)}\r\n\r\n".encode() + body


@contextmanager
def server(model: Path, *more: str) -> Iterator[int]:
    """Run a server process and yield its port. On SIGTERM it must exit with status 0."""
    command = [sys.executable, "-m", "saccade", "serve", str(model), "--port", "0", "--device", "cpu", *more]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        found = re.search(r":(\d+)/", line)
        if found is None:
            raise SystemExit(f"the server did not start: {line}{process.stderr.read()}")
        yield int(found[1])
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=PATIENCE)[1]
        if process.returncode != 0 or "Traceback" in said:
            raise SystemExit(f"the server ended with {process.returncode}: {said}")
    finally:
        process.kill()


async def read_answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
    return int(head[9:12]), await reader.readexactly(int(length[1])) if length else b""


async def client(port: int, asked: list[Question], until: float, tally: Tally, seed: int) -> None:
    """Send requests one after the other over one connection, and check each answer."""
    chance = random.Random(seed)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while time.perf_counter() < until:
        question = chance.choice(asked)
        began = time.perf_counter()
        writer.write(question.request)
        async with asyncio.timeout(PATIENCE):
            status, body = await read_answer(reader)
        tally.seconds.append(time.perf_counter() - began)
        tally.statuses[status] += 1
        found = json.loads(body)
        answer = found["predictions"][0] if status == 200 else found
        if (answer.get("source"), answer.get("text")) != (question.text, question.answer):
            tally.wrong.append(f"{question.text!r} -> {answer}, not {question.answer!r}")
    writer.close()


async def send_garbage(port: int, until: float, tally: Tally) -> None:
    """Send malformed requests."""
    chance = random.Random(0)
    while time.perf_counter() < until:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(chance.choice((*GARBAGE, *map(request, BODIES))))
            async with asyncio.timeout(1):  # an incomplete request gets no answer
                status, _ = await read_answer(reader)
            tally.refused[status] += 1
        except (TimeoutError, asyncio.IncompleteReadError, ConnectionError):
            tally.refused[0] += 1
        finally:
            writer.close()
        await asyncio.sleep(0.01)


async def disconnect(port: int, asked: list[Question], until: float, tally: Tally) -> None:
    """Send requests and disconnect before the answer, or in the middle of the request."""
    chance = random.Random(0)
    while time.perf_counter() < until:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        question = chance.choice(asked).request
        writer.write(question if chance.random() < 0.7 else question[: chance.randrange(len(question))])
        await asyncio.sleep(chance.uniform(0, 0.05))
        writer.transport.abort()
        tally.hung_up += 1


async def load(port: int, asked: list[Question], clients: int, seconds: float, trouble: bool) -> tuple[Tally, float]:
    tally, began = Tally(), time.perf_counter()
    until = began + seconds
    tasks = [client(port, asked, until, tally, seed) for seed in range(clients)]
    if trouble:
        tasks += [send_garbage(port, until, tally), disconnect(port, asked, until, tally)]
    await asyncio.gather(*tasks)
    return tally, time.perf_counter() - began


async def metrics(port: int) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
    _, body = await read_answer(reader)
    writer.close()
    return body.decode()


def measure(name: str, options: argparse.Namespace, asked: list[Question], *more: str, trouble: bool = False) -> Row:
    with server(options.model, *more) as port:
        asyncio.run(load(port, asked, options.clients, min(2.0, options.seconds), False))  # warm up
        tally, seconds = asyncio.run(load(port, asked, options.clients, options.seconds, trouble))
        text = asyncio.run(metrics(port))
    check(name, tally, text)
    numbers = dict(re.findall(r"^(saccade_batch_size_(?:sum|count))\{.*\} (\S+)$", text, re.MULTILINE))
    batch = float(numbers["saccade_batch_size_sum"]) / float(numbers["saccade_batch_size_count"])
    times = sorted(tally.seconds)
    p50, p99 = (times[int(share * (len(times) - 1))] * 1e3 for share in (0.5, 0.99))
    row = Row(name, len(times) / seconds, len(times), p50, p99, batch, sum(tally.refused.values()), tally.hung_up)
    print(row, dict(tally.refused), flush=True)
    return row


def check(name: str, tally: Tally, text: str) -> None:
    """Raise SystemExit on a wrong answer or a server error."""
    if tally.wrong:
        raise SystemExit(f"{name}: {len(tally.wrong)} wrong answers, the first: {tally.wrong[0]}")
    if set(tally.statuses) != {200}:
        raise SystemExit(f"{name}: the answers had the statuses {dict(tally.statuses)}")
    faults = re.findall(r'^saccade_requests_total.*status="5\d\d".*$', text, re.MULTILINE)
    if faults or any(status >= 500 for status in tally.refused):
        raise SystemExit(f"{name}: server errors: {faults} {dict(tally.refused)}")


def table(rows: list[Row]) -> str:
    lines = [
        "| server | answers | answers/s | p50 ms | p99 ms | inputs in a batch | garbage sent | disconnects |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        lines.append(
            f"| {row.name} | {row.answers:,} | {row.throughput:.0f} | {row.p50:.0f} | {row.p99:.0f} | "
            f"{row.batch:.1f} | {row.garbage:,} | {row.hung_up:,} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, nargs="?", default=Path("runs/demo"), help="an English-French model")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--sentences", type=int, default=500)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "serve")
    options = parser.parse_args()
    if not (options.model / "model.safetensors").exists():
        raise SystemExit(f"{options.model} is not a model. Run saccade demo to make it, or name another.")
    default, asked = torch.get_num_threads(), questions(options.model, options.sentences)
    together = measure("dynamic batching", options, asked)
    alone = measure("one request at a time (--max-batch 1)", options, asked, "--max-batch", "1")
    troubled = measure("dynamic batching, with garbage and disconnects", options, asked, trouble=True)
    torch.set_num_threads(1)  # as in the server, so that int8 answers are computed by the same code
    small = measure(
        "dynamic batching, int8", options, questions(options.model, options.sentences, "int8"), "--precision", "int8"
    )
    texts = [question.text for question in asked]
    rates = {
        (precision, threads): predicted(options.model, texts, precision, threads)
        for precision in ("full", "int8")
        for threads in (default, 1)
    }
    lines = [
        "| | served, 64 clients | `predict`, default threads | `predict`, one thread | served / `predict` |",
        "|---|---:|---:|---:|---:|",
    ]
    for precision, row in (("full", together), ("int8", small)):
        default_rate, one = rates[precision, default], rates[precision, 1]
        of = f"{row.throughput / default_rate:.2f}, {row.throughput / one:.2f}"
        lines.append(f"| {precision} | {row.throughput:.0f} | {default_rate:.0f} | {one:.0f} | {of} |")
    comparison = "\n".join(lines)
    ratio = together.throughput / alone.throughput
    machine = f"{platform.machine()} CPU, {os.cpu_count()} cores, torch {torch.__version__}, fp32"
    loaded = saccade.load(options.model, device="cpu")
    report = f"""# Serving

{machine}; {loaded!r}.
Made by `python benchmarks/serve.py`: {options.clients} clients for {options.seconds:g} s, each sending one sentence of
the built-in corpus after the other, greedy search. Server and clients share the cores. Every answer equals the
prediction for the sentence alone; none was lost, and none was a 5xx.

{table([together, alone, troubled, small])}

Dynamic batching is {ratio:.1f} times as fast as one request at a time.

Answers per second, compared with `predict` in one process on the same model and sentences:

{comparison}
"""
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.with_suffix(".md").write_text(report, encoding="utf-8")
    print(report)
    if ratio < 4:
        raise SystemExit(f"dynamic batching is only {ratio:.1f} times as fast, but should be 4 times")


if __name__ == "__main__":
    main()
