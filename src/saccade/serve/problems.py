"""Problem: an error response to a request."""

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
"""The `code` of each error status."""


class Problem(Exception):
    """An error response: a status, a message and extra headers."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, dict(headers or {})

    def response(self) -> Response:
        """Build the HTTP response."""
        error = {"code": CODES.get(self.status, "error"), "message": self.message}
        body = json.dumps({"error": error}, ensure_ascii=False).encode(errors="replace")
        return Response(body, self.status, self.headers, "application/json")


def client_gone() -> Problem:
    """Return the Problem for a client that disconnected. Only the counters see it."""
    return Problem(499, "The client has gone away.")
