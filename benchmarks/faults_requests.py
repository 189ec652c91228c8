"""Random requests: thousands of damaged heads, JSON bodies and images sent to a real server on 127.0.0.1.

    python benchmarks/faults.py requests                       # 2,500 each to a text server and an image server
    python benchmarks/faults.py requests 200 --seed 7

Each case is a valid request with a few random faults: bytes flipped, cut out, repeated or inserted, JSON fields
replaced by other values, or a random body. The benchmark fails on a 5xx status, except 504 for a client that does not
send the rest. It also fails if a case is neither answered nor disconnected within 20 seconds, if the log has a
traceback, or if the server does not answer a valid request at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import tempfile
from base64 import b64encode
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

from faults_connections import Served, end, served, tiny_model
from faults_report import Record, Section

from saccade.data.tokenizer import Tokenizer, TokenizerConfig, Tokenizers
from saccade.recipes import RecipeText
from saccade.runs.folder import build_task, write_description, write_model
from saccade.runs.recipe import parse_recipe
from saccade.train.checkpoint import weights_of

LONGEST = 20.0
"""Seconds after which a case without answer or disconnect counts as hung."""
AT_ONCE = 32
SMALL = (
    "--timeout",
    "3",
    "--head-timeout",
    "1",
    "--max-input-tokens",
    "32",
    "--max-beam",
    "4",
    "--max-pixels",
    "100000",
)
"""Server options with short timeouts, because truncated requests are common here."""
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, -(2**63), 10**40, 0.0, -0.0, 1e308, 5e-324, 0.5, "", "a", "\x00",
    "\ud83d\ude00", "é" * 50, "a " * 2000, "../../etc/passwd", "data:image/png;base64,", [], [[]], {}, {"": ""},
    [0, 0, 0.5], ["a", 1, None], [[0, 0, 2]],
)  # fmt: skip
TOKENS = (
    b"\r\n", b"\r\n\r\n", b"\n", b"\x00", b"\xff\xfe", b" ", b"\t", b":", b",", b'"', b"{", b"}", b"[", b"]",
    b"\\u0000", b"\\ud800", b"NaN", b"1e999", b"-", b"%00", b"%", b"?", b"#", b"@", b"Transfer-Encoding: chunked\r\n",
    b"Content-Length: 99999999999\r\n", b"Content-Length: -1\r\n", b"Host: evil.example\r\n",
    b"Expect: 100-continue\r\n", b"Connection: upgrade\r\nUpgrade: websocket\r\n", b"HTTP/9.9", b"0\r\n\r\n",
    b"ffffffffffffffff\r\n", b"A" * 20_000,
)  # fmt: skip


@dataclass
class Report:
    """Results of the cases."""

    cases: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    """Answers by status; "closed" is a connection that ended without an answer."""
    longest_wait: float = 0.0
    most_memory: int = 0
    """Peak memory of the server in bytes."""
    faults: list[str] = field(default_factory=list)


def request(body: bytes, path: str, kind: str) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def asked(reads: str, picture: bytes) -> list[dict[str, Any]]:
    """Return valid values of JSON bodies."""
    one: Any = "ant bee cat" if reads == "text" else b64encode(picture).decode()
    name, several = ("input", "inputs") if reads == "text" else ("image", "images")
    return [
        {name: one},
        {several: [one, one], "options": {"beam": 2, "nbest": 2, "max_length": 8}, "attention": True},
        {name: one, "options": {"sample": True, "top_p": 0.9, "top_k": 5, "temperature": 0.7, "seed": 7}},
        {name: one, "force": [4], "block": [0], "pull": [[0, 1, 0.5]], "detail": True, "options": {"max_length": 8}},
        {name: one, "model": "tiny", "options": {"length_penalty": 1.0, "coverage_penalty": 0.2, "min_length": 2}},
    ]


def exchanged(value: Any, chance: random.Random) -> Any:
    """Replace one part by another value, or leave it out."""
    if not isinstance(value, dict | list) or not value or chance.random() < 0.2:
        alike = [other for other in VALUES if type(other) is type(value)] if chance.random() < 0.6 else []
        return chance.choice(alike or VALUES)
    if isinstance(value, list):
        place = chance.randrange(len(value))
        return [exchanged(part, chance) if n == place else part for n, part in enumerate(value)]
    name = chance.choice(sorted(value))
    rest = {key: part for key, part in value.items() if key != name}
    if chance.random() < 0.2:
        return rest | ({chance.choice(("imput", "", "x" * 500)): value[name]} if chance.random() < 0.5 else {})
    return rest | {name: exchanged(value[name], chance)}


def damaged(data: bytes, chance: random.Random, times: int) -> bytes:
    """Flip, cut out, repeat or insert some bytes."""
    for _ in range(times):
        first = chance.randrange(len(data) + 1)
        last = min(len(data), first + int(chance.expovariate(1 / 12)))
        part = chance.choice(
            (
                lambda old: bytes(byte ^ (1 << chance.randrange(8)) for byte in old),
                lambda old: b"",
                lambda old: old * chance.randint(2, 40),
                lambda old: chance.choice(TOKENS),
                lambda old: old + chance.randbytes(chance.randint(1, 8)),
            )
        )(data[first:last])
        data = data[:first] + part + data[last:]
    return data


def case(reads: str, picture: bytes, chance: random.Random) -> bytes:
    """Return a random request."""
    path = chance.choice(("/v1/predict", "/v1/trace"))
    value = chance.choice(asked(reads, picture))
    kind, roll = "application/json", chance.random()
    if reads == "picture" and chance.random() < 0.4:
        path += chance.choice(("", "?beam=2", "?force=[4]&detail=true", "?beam=" + "9" * 40, "?pull=[[0,1,0.5]]&x=%ff"))
        return request(damaged(picture, chance, chance.randint(0, 6)), path, chance.choice(("image/png", "image/x")))
    if roll < 0.45:
        for _ in range(chance.randint(1, 3)):
            value = exchanged(value, chance)
        return request(json.dumps(value).encode(), path, kind)
    if roll < 0.65:
        return request(damaged(json.dumps(value).encode(), chance, chance.randint(1, 5)), path, kind)
    if roll < 0.7:
        return request(chance.randbytes(chance.randint(0, 300)), path, kind)
    if roll < 0.75:
        return chance.randbytes(chance.randint(1, 2000))
    whole = request(json.dumps(value).encode(), path, kind)
    gets = [
        f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n" for path in ("/", "/metrics", "/static/a", "/openapi.json")
    ]
    return damaged(chance.choice((whole, whole, chance.choice(gets).encode())), chance, chance.randint(1, 4))


async def _answer(reader: asyncio.StreamReader) -> str:
    """Read the first answer to its end and return its status; "closed" if there is none."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        if head.startswith(b"HTTP/1.1 100"):
            head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
        await (reader.readexactly(int(length[1])) if length else reader.read())
    except (asyncio.IncompleteReadError, ConnectionError):
        return "closed"
    return head[9:12].decode("latin-1")


async def _send(port: int, data: bytes, report: Report) -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    try:
        async with asyncio.timeout(LONGEST):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(data)
                status = await _answer(reader)
            finally:
                writer.transport.abort()
    except TimeoutError:
        status = "hung"
    except OSError:
        status = "closed"
    report.cases += 1
    report.longest_wait = max(report.longest_wait, loop.time() - began)
    report.statuses[status] += 1
    if status == "hung" or (status.startswith("5") and status != "504"):
        report.faults.append(f"{status} for {data[:300]!r}{'…' if len(data) > 300 else ''}")


async def _send_all(port: int, made: Callable[[], bytes], cases: int, report: Report) -> None:
    left = iter(range(cases))

    async def client() -> None:
        for _ in left:
            await _send(port, made(), report)

    await asyncio.gather(*(client() for _ in range(AT_ONCE)))


def tiny_captioner(folder: Path) -> Path:
    """Write an untrained captioning model for images of 16 × 16 pixels."""
    settings = {
        "task": "captioning",
        "data": {"corpus": "scenes", "image_size": 16},
        "tokenizer": {"kind": "word"},
        "model": {
            "preset": "show-attend-tell-soft",
            "embedding": 8,
            "decoder": {"width": 12},
            "image_encoder": {"kind": "small", "width": 8, "channels": [6]},
        },
    }
    words = Tokenizer.train(TokenizerConfig(kind="word"), ["a red square", "two blue digits"], "target")
    task = build_task(parse_recipe(RecipeText(settings, "tiny")), Tokenizers(None, words))
    folder.mkdir(parents=True, exist_ok=True)
    write_description(folder, task.recipe, task.tokenizers)
    write_model(folder, weights_of(task.model), task.tokenizers)
    return folder


def small_picture() -> bytes:
    """Return a PNG file of 20 × 30 pixels."""
    from PIL import Image

    file = BytesIO()
    Image.effect_noise((20, 30), 60).save(file, "png")
    return file.getvalue()


def _most_memory(server: Served) -> int:
    text = Path(f"/proc/{server.process.pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", text)
    return int(found[1]) * 1024 if found else 0


def fuzz_http(cases: int = 2000, seed: int = 1, reads: str = "text") -> Report:
    """Send cases to a text or image server; `faults` of the report is empty on success."""
    chance, report, picture = random.Random(seed), Report(), small_picture()
    make = tiny_model if reads == "text" else tiny_captioner
    with (
        tempfile.TemporaryDirectory() as folder,
        served(Path(folder), make(Path(folder) / "tiny"), *SMALL) as server,
    ):
        asyncio.run(_send_all(server.port, lambda: case(reads, picture, chance), cases, report))
        valid = request(json.dumps(asked(reads, picture)[0]).encode(), "/v1/predict", "application/json")
        last = Report()
        asyncio.run(_send(server.port, valid, last))
        report.most_memory = _most_memory(server)
        _, faults = end(server)
        report.faults += faults
    if last.statuses["200"] != 1:
        report.faults.append(f"a valid request at the end got {dict(last.statuses)}")
    return report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("cases", type=int, nargs="?", default=2500, help="cases for each of the two servers")
    parser.add_argument("--seed", type=int, default=1)


def run(options: argparse.Namespace, record: Record) -> Section:
    """Send damaged requests to a text server and to an image server."""
    lines, faults = (
        [
            "| server of | cases | answers | longest wait (s) | peak memory of the HTTP process (MB) | faults |",
            "|---|---|---|---|---|---|",
        ],
        0,
    )
    for reads, name in (("text", "texts"), ("picture", "images")):
        report = fuzz_http(options.cases, options.seed, reads)
        record({"seed": options.seed, "reads": reads, **vars(report)})
        answers = ", ".join(f"{count:,} × {status}" for status, count in sorted(report.statuses.items()))
        lines.append(
            f"| {name} | {report.cases:,} | {answers} | {report.longest_wait:.1f} | {report.most_memory / 1e6:.0f} | "
            f"{len(report.faults)} |"
        )
        faults += len(report.faults)
    text = (
        "\n".join(lines)
        + "\n\nA fault is a 5xx other than 504, a hang of over 20 s, a traceback in the log, or a valid "
        "request at the end that is not answered with 200.\n"
    )
    return Section("Damaged requests", f"requests {options.cases} --seed {options.seed}", text, faults)
