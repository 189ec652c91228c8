"""Reading requests: what kind of body it is, how much of it is read, and what it asks for."""

from __future__ import annotations

from typing import Literal, TypeVar

from starlette.requests import Request

from saccade.serve.problems import Problem
from saccade.serve.schemas import Predict, TraceOf, parse_body, parse_picture
from saccade.serve.settings import Settings
from saccade.serve.uploads import CLOSE, Hold

__all__ = ["read_request"]

Asked = TypeVar("Asked", Predict, TraceOf)
_MARKS = 100_000
"""The most commas and brackets of pictures in JSON. Each may be a value, which takes far more than its letters."""


async def read_request(kind: type[Asked], request: Request, settings: Settings, hold: Hold, *, pictures: bool) -> Asked:
    """What a request asks for, in JSON or, where pictures are served, with one as its body."""
    said = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    raw = pictures and said.startswith("image/")
    if not raw and said != "application/json":
        # also what keeps a page of another site from asking unseen: a browser sends plain text and forms for it,
        # but JSON and pictures (any image/ type) only after asking here for permission
        other = "; or a picture, with its own type, such as image/jpeg" if pictures else ""
        raise Problem(415, f"The body must be JSON and say so: send the header Content-Type: application/json{other}.")
    if raw:
        picture = await _read(request, min(settings.max_picture, settings.body(pictures=True)), hold, "picture")
        return parse_picture(kind, bytes(picture), request.query_params)
    body = await _read(request, settings.body(pictures=pictures), hold, "body")
    most = settings.body(pictures=False)
    if len(body) <= most:
        return parse_body(kind, body)
    # There is room for pictures, which are few and long, but not for texts without end.
    asked = parse_body(kind, body) if sum(map(body.count, b",[{")) <= _MARKS else None
    if asked is None or asked.texts is not None:
        raise Problem(413, f"The body has more than {most:,} bytes that are no pictures. Send fewer inputs at a time.")
    return asked


async def _read(request: Request, most: int, hold: Hold, what: Literal["body", "picture"]) -> bytearray:
    """The body of a request, not begun where its head says too much, and read no further whatever that says."""
    remedy = {"body": "Send fewer inputs at a time.", "picture": "Save it smaller."}[what]
    refusal = Problem(413, f"The {what} has more than {most:,} bytes. {remedy}", CLOSE)
    if _promised(request) > most:
        raise refusal
    body = bytearray()
    async for part in request.stream():
        if len(body) + len(part) > most:
            raise refusal
        hold.add(len(part))
        body += part
    return body


def _promised(request: Request) -> int:
    """The bytes of a body as its head has them; 0 where it does not say."""
    try:
        return int(request.headers.get("content-length", 0))
    except ValueError:
        return 0
