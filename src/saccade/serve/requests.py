"""Reading requests: check the Content-Type, read the body within its limits, and parse it."""

from __future__ import annotations

from typing import Literal, TypeVar

from starlette.requests import Request

from saccade.serve.memory_budget import CLOSE, Hold
from saccade.serve.problems import Problem
from saccade.serve.schemas import Predict, Sample, TraceOf, parse_body, parse_picture
from saccade.serve.serve_config import Settings

__all__ = ["read_request"]

Asked = TypeVar("Asked", Predict, TraceOf, Sample)
_MARKS = 100_000
"""Maximum commas and brackets in a body of files. Each may begin a value, which takes more memory once parsed."""


async def read_request(kind: type[Asked], request: Request, settings: Settings, hold: Hold, *, pictures: bool) -> Asked:
    """Read and parse a request: JSON or, if a model reads images or sounds (`pictures`), such a file as the body."""
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    raw = pictures and content_type.startswith(("image/", "audio/"))
    if not raw and content_type != "application/json":
        # This also blocks cross-site requests: for a page of another site, a browser sends text and forms without a
        # CORS preflight, but not JSON, image/ or audio/ types.
        other = ", or a file with its own type, such as image/jpeg or audio/wav" if pictures else ""
        raise Problem(415, f"The request must be JSON with the header Content-Type: application/json{other}.")
    if raw:
        what: Literal["image", "sound"] = "image" if content_type.startswith("image/") else "sound"
        most = {"image": settings.max_image_bytes, "sound": settings.max_sound_bytes}[what]
        picture = await _read(request, min(most, settings.body(pictures=True)), hold, what)
        return parse_picture(kind, bytes(picture), request.query_params, what)
    body = await _read(request, settings.body(pictures=pictures), hold, "body")
    most = settings.body(pictures=False)
    if len(body) <= most:
        return parse_body(kind, body)
    # The larger limit is for images and sounds, which are few and long; texts keep the smaller one.
    asked = parse_body(kind, body) if sum(map(body.count, b",[{")) <= _MARKS else None
    if asked is None or asked.texts is not None:
        raise Problem(
            413,
            f"The body has more than {most:,} bytes, but only images and sounds may take so many. Send fewer inputs "
            "at a time.",
        )
    return asked


async def _read(request: Request, most: int, hold: Hold, what: Literal["body", "image", "sound"]) -> bytearray:
    """Read the body; raise 413 once Content-Length or the data read exceeds `most`."""
    remedies = {"body": "Send fewer inputs at a time.", "image": "Compress or shrink it.", "sound": "Cut it."}
    remedy = remedies[what]
    refusal = Problem(413, f"The {what} has more than {most:,} bytes. {remedy}", CLOSE)
    if _content_length(request) > most:
        raise refusal
    body = bytearray()
    async for part in request.stream():
        if len(body) + len(part) > most:
            raise refusal
        hold.add(len(part))
        body += part
    return body


def _content_length(request: Request) -> int:
    """Return the Content-Length header; 0 if missing or invalid."""
    try:
        return int(request.headers.get("content-length", 0))
    except ValueError:
        return 0
