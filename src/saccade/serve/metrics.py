"""Counters and histograms of the server in Prometheus' text format."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

__all__ = ["TYPE", "Histogram", "Metrics"]

TYPE = "text/plain; version=0.0.4; charset=utf-8"
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)

REASONS = ("end", "full", "head", "room", "unread")
"""Why the server closed a connection.

end: shutdown. full: no connection could be closed for this one. head: the request head was late. room: closed for a
new connection. unread: the client did not read the response.
"""


class Histogram:
    """A histogram with fixed bucket bounds."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = tuple(bounds)
        self._counts = [0] * (len(self._bounds) + 1)
        self._sum = 0.0

    def add(self, value: float) -> None:
        """Count a number."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def lines(self, name: str, labels: str = "") -> Iterator[str]:
        """Yield the lines in text format; `labels`: for example path="/v1/predict"."""
        total = 0
        for bound, count in zip((*self._bounds, "+Inf"), self._counts, strict=True):
            total += count
            yield f'{name}_bucket{{{labels}{"," if labels else ""}le="{bound}"}} {total}'
        braces = f"{{{labels}}}" if labels else ""
        yield f"{name}_sum{braces} {self._sum:.6f}"
        yield f"{name}_count{braces} {total}"


class Metrics:
    """Counters of one server; `depth`, `running`, `held` and `connections` are called when the text is made.

    Pass only known paths and models: a client must not be able to create new counters.
    """

    def __init__(self) -> None:
        self.depth: Callable[[], int] = int
        self.running: Callable[[], int] = int
        self.held: Callable[[], int] = int
        self.connections: Callable[[], int] = int
        self._requests: Counter[tuple[str, int]] = Counter()
        self._seconds: dict[str, Histogram] = {}
        self._by_model: Counter[tuple[str, int]] = Counter()
        self._inputs: Counter[str] = Counter()
        self._tokens: Counter[tuple[str, str]] = Counter()
        self._batches: dict[str, Histogram] = {}
        self._batch_seconds: dict[str, Histogram] = {}
        self._model_seconds: dict[str, Histogram] = {}
        self._pictures = Counter({"opened": 0, "refused": 0})
        self._closed = Counter(dict.fromkeys(REASONS, 0))

    def request(self, path: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        self._requests[path, status] += 1
        self._seconds.setdefault(path, Histogram(SECONDS)).add(seconds)

    def batch(self, model: str, size: int, seconds: float) -> None:
        """Count a decoded batch."""
        self._batches.setdefault(model, Histogram(SIZES)).add(size)
        self._batch_seconds.setdefault(model, Histogram(SECONDS)).add(seconds)

    def model(self, model: str, status: int, inputs: int, seconds: float) -> None:
        """Count a request that reached a model, from its place in the queue to its answers."""
        self._by_model[model, status] += 1
        self._inputs[model] += inputs
        self._model_seconds.setdefault(model, Histogram(SECONDS)).add(seconds)

    def tokens(self, model: str, read: int, written: int) -> None:
        """Count source tokens read and target tokens written."""
        self._tokens[model, "read"] += read
        self._tokens[model, "written"] += written

    def pictures(self, opened: int, refused: int) -> None:
        """Count images that were opened, and images that were refused."""
        self._pictures["opened"] += opened
        self._pictures["refused"] += refused

    def closed(self, reason: str) -> None:
        """Count a connection that the server closed; `reason` is one of REASONS."""
        self._closed[reason] += 1

    def text(self) -> str:
        """Return all metrics in text format."""
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        yield from _head("saccade_requests_total", "counter", "Requests answered, by path and status.")
        for (path, status), count in sorted(self._requests.items()):
            yield f'saccade_requests_total{{path="{path}",status="{status}"}} {count}'
        yield from _head("saccade_requests_running", "gauge", "Unanswered requests, this one included.")
        yield f"saccade_requests_running {self.running()}"
        yield from _head("saccade_queue_depth", "gauge", "Inputs that wait for a batch.")
        yield f"saccade_queue_depth {self.depth()}"
        yield from _head("saccade_held_bytes", "gauge", "Bytes that requests hold in memory.")
        yield f"saccade_held_bytes {self.held()}"
        yield from _head("saccade_connections", "gauge", "Open connections.")
        yield f"saccade_connections {self.connections()}"
        yield from _head("saccade_connections_closed_total", "counter", "Connections closed by the server, by reason.")
        for reason, count in sorted(self._closed.items()):
            yield f'saccade_connections_closed_total{{reason="{reason}"}} {count}'
        yield from _head("saccade_pictures_total", "counter", "Images in requests, by whether they could be opened.")
        for result, count in sorted(self._pictures.items()):
            yield f'saccade_pictures_total{{result="{result}"}} {count}'
        yield from self._model_lines()
        yield from _head("saccade_request_seconds", "histogram", "Time from a request's headers to its answer.")
        for path, histogram in sorted(self._seconds.items()):
            yield from histogram.lines("saccade_request_seconds", f'path="{path}"')

    def _model_lines(self) -> Iterator[str]:
        yield from _head("saccade_model_requests_total", "counter", "Requests that a model took, by model and status.")
        for (model, status), count in sorted(self._by_model.items()):
            yield f'saccade_model_requests_total{{{_label(model)},status="{status}"}} {count}'
        yield from _head("saccade_model_inputs_total", "counter", "Inputs that a model took.")
        for model, count in sorted(self._inputs.items()):
            yield f"saccade_model_inputs_total{{{_label(model)}}} {count}"
        yield from _head("saccade_tokens_total", "counter", "Source tokens read and target tokens written.")
        for (model, direction), count in sorted(self._tokens.items()):
            yield f'saccade_tokens_total{{{_label(model)},direction="{direction}"}} {count}'
        for name, meaning, found in (
            ("saccade_batch_size", "Inputs decoded together.", self._batches),
            ("saccade_batch_seconds", "Time to decode a batch.", self._batch_seconds),
            ("saccade_model_seconds", "Time from the queue to the answers of a request.", self._model_seconds),
        ):
            yield from _head(name, "histogram", meaning)
            for model, histogram in sorted(found.items()):
                yield from histogram.lines(name, _label(model))


def _label(model: str) -> str:
    """Return the label of a model; its name is that of a folder, which may have any letters."""
    escaped = model.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return f'model="{escaped}"'


def _head(name: str, kind: str, meaning: str) -> Iterator[str]:
    yield f"# HELP {name} {meaning}"
    yield f"# TYPE {name} {kind}"
