"""Problem: what goes wrong with a request, as it is told to the one who asked."""

from __future__ import annotations

import json
from collections.abc import Mapping

from starlette.responses import Response

__all__ = ["CODES", "Problem", "client_gone"]

CODES = {
    400: "bad_request",
    401: "unauthorized",
    404: "not_found",
    405: "method_not_allowed",
    408: "request_timeout",
    413: "too_large",
    415: "unsupported_type",
    422: "beyond_limits",
    429: "queue_full",
    499: "client_gone",
    500: "internal",
    503: "shutting_down",
    504: "timeout",
}
"""The `code` of every status that is an error."""


class Problem(Exception):
    """An answer that is an error: a status, a sentence, and headers it needs."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, dict(headers or {})

    def response(self) -> Response:
        """What is sent."""
        error = {"code": CODES.get(self.status, "error"), "message": self.message}
        body = json.dumps({"error": error}, ensure_ascii=False).encode(errors="replace")
        return Response(body, self.status, self.headers, "application/json")


def client_gone() -> Problem:
    """Nobody will read it; it is for the counters."""
    return Problem(499, "The client has gone away.")
