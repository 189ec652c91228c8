"""Half-open connections: 1,200 clients send half a request head to a server that may open 1,024 files.

    python benchmarks/faults.py connections                                    # half a minute
    python benchmarks/faults.py connections --connections 300 --files 256 --seconds 5

The server is a real `saccade serve` with a tiny untrained model. Each half-open client reconnects a second after it is
disconnected. Meanwhile another client requests predictions, each over a new connection. The benchmark fails if one of
these gets a status other than 200, if the server logs more than its first line, or if its exit status is not 0. All
traffic stays on 127.0.0.1.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from faults_report import Record, Section

from saccade.data.tokenizer import Tokenizer, TokenizerConfig, Tokenizers
from saccade.recipes import RecipeText
from saccade.runs.folder import build_task, write_description, write_model
from saccade.runs.recipe import parse_recipe
from saccade.train.checkpoint import weights_of

PATIENCE = 60.0
"""Timeout in seconds for the server to start, to answer or to stop."""
AGAIN = 1.0
"""Seconds until a disconnected half-open client reconnects."""
HALF = b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: applica"
BODY = json.dumps({"input": "ant bee cat", "options": {"max_length": 8}}).encode()
WHOLE = (
    b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\n\r\n%s" % (len(BODY), BODY)
)


@dataclass
class Report:
    """Answers to the other client, and the resources of the server."""

    connections: int
    """Half-open connections made, including reconnects."""
    open_at_once: int
    """Maximum of half-open connections at a time, as counted by the clients."""
    answers: int
    longest_wait: float
    """Longest seconds for an answer, including the connection."""
    log_bytes: int
    processor_seconds: float
    seconds_to_end: float
    faults: list[str] = field(default_factory=list)


@dataclass
class Served:
    """A running server."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path

    @property
    def processor_seconds(self) -> float:
        """CPU seconds of the process, user and system."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def tiny_model(folder: Path) -> Path:
    """Write an untrained translation model with eight words."""
    words = "ant bee cat dog elk fox gnu hen"
    config = TokenizerConfig(kind="word")
    sides = Tokenizers(Tokenizer.train(config, [words], "source"), Tokenizer.train(config, [words.upper()], "target"))
    model = {"preset": "bahdanau", "embedding": 16, "encoder": {"width": 16}, "decoder": {"width": 24}}
    settings = {"task": "translation", "data": {"train": "unused.tsv"}, "model": model, "tokenizer": {"kind": "word"}}
    task = build_task(parse_recipe(RecipeText(settings, "tiny")), sides)
    folder.mkdir(parents=True, exist_ok=True)
    write_description(folder, task.recipe, task.tokenizers)
    write_model(folder, weights_of(task.model), task.tokenizers)
    return folder


@contextmanager
def served(folder: Path, model: Path, *options: str, files: int | None = None) -> Iterator[Served]:
    """Run a server process that logs to a folder, with an optional limit of open files."""

    def limit() -> None:
        if files is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    log = folder / "log"
    command = [sys.executable, "-m", "saccade", "serve", str(model), "--port", "0"]
    with log.open("wb") as file:
        process = subprocess.Popen([*command, "--device", "cpu", *options], stdout=file, stderr=file, preexec_fn=limit)
    try:
        latest = time.monotonic() + PATIENCE
        while (found := re.search(r"http://127\.0\.0\.1:(\d+)/", log.read_text())) is None:
            if process.poll() is not None or time.monotonic() > latest:
                raise SystemExit(f"the server did not start: {log.read_text()}")
            time.sleep(0.05)
        yield Served(process, int(found[1]), log)
    finally:
        process.kill()
        process.wait()


def end(server: Served) -> tuple[float, list[str]]:
    """Stop a server; return the seconds it took, and faults in its log and exit status."""
    began = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    try:
        code = server.process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        return time.monotonic() - began, [f"the server did not end within {PATIENCE:g} s"]
    text = server.log.read_text(errors="replace")
    faults = [f"the server ended with {code}"] if code != 0 else []
    faults += [f"the log has {text.count('Traceback')} tracebacks"] if "Traceback" in text else []
    faults += [f"the log has {text.count(chr(10))} lines, not 1"] if text.count("\n") != 1 else []
    return time.monotonic() - began, faults


async def _half_open(port: int, until: float, report: Report, now_open: set[object]) -> None:
    """Connect, send half a request head and wait; reconnect when disconnected."""
    me = object()
    while time.monotonic() < until:
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(max(0.0, until - time.monotonic())):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                try:
                    writer.write(HALF)
                    report.connections += 1
                    now_open.add(me)
                    report.open_at_once = max(report.open_at_once, len(now_open))
                    await reader.read()
                finally:
                    now_open.discard(me)
                    writer.transport.abort()
        await asyncio.sleep(AGAIN)


async def _other(port: int, until: float, report: Report) -> None:
    """Send requests in a loop, each over a new connection."""
    while time.monotonic() < until:
        began = time.monotonic()
        try:
            async with asyncio.timeout(PATIENCE):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                try:
                    writer.write(WHOLE)
                    answer = await reader.read()
                finally:
                    writer.transport.abort()
            status = answer[9:12].decode("latin-1")
        except (OSError, TimeoutError) as error:
            status = repr(error)
        report.longest_wait = max(report.longest_wait, time.monotonic() - began)
        if status == "200":
            report.answers += 1
        else:
            report.faults.append(f"after {time.monotonic() - began:.2f} s the other client got {status or 'nothing'}")
        await asyncio.sleep(0.02)


async def _attack(port: int, connections: int, seconds: float, report: Report) -> None:
    until, now_open = time.monotonic() + seconds, set[object]()
    attackers = [_half_open(port, until, report, now_open) for _ in range(connections)]
    await asyncio.gather(*attackers, _other(port, until, report))


def half_open_connections(connections: int = 1200, files: int = 1024, seconds: float = 20.0) -> Report:
    """Run the attack once; `faults` of the report is empty on success."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, connections + 200)), hard))
    report = Report(0, 0, 0, 0.0, 0, 0.0, 0.0)
    with (
        tempfile.TemporaryDirectory() as folder,
        served(Path(folder), tiny_model(Path(folder) / "tiny"), files=files) as server,
    ):
        before = server.processor_seconds
        asyncio.run(_attack(server.port, connections, seconds, report))
        report.processor_seconds = server.processor_seconds - before
        report.seconds_to_end, faults = end(server)
        report.log_bytes = server.log.stat().st_size
        report.faults += faults
    if report.answers == 0:
        report.faults.append("the other client was never answered")
    return report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--connections", type=int, default=1200)
    parser.add_argument("--files", type=int, default=1024)
    parser.add_argument("--seconds", type=float, default=20.0)


def run(options: argparse.Namespace, record: Record) -> Section:
    """Hold half-open connections and check the answers to another client."""
    report = half_open_connections(options.connections, options.files, options.seconds)
    record(asdict(report))
    text = (
        f"{options.connections:,} clients kept half a request head open to a server that may open {options.files:,} "
        f"files, for {options.seconds:g} s; each reconnected a second after it was disconnected "
        f"({report.connections:,} connections in all). Meanwhile another client got {report.answers:,} answers, "
        f"the longest wait {report.longest_wait:.2f} s, {len(report.faults)} faults. The server used "
        f"{report.processor_seconds:.1f} s of CPU time and wrote {report.log_bytes:,} bytes of log.\n"
    )
    given = f"--connections {options.connections} --files {options.files} --seconds {options.seconds:g}"
    return Section("Half-open connections", f"connections {given}", text, len(report.faults))
