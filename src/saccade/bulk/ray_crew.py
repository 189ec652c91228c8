"""Workers as actors of Ray: on this machine, or on the machines of a Ray cluster."""

from __future__ import annotations

import logging
import os
import re
import socket
from collections import Counter
from collections.abc import Callable
from types import TracebackType
from typing import Any

from saccade.data.text import import_extra
from saccade.errors import ConfigError
from saccade.runs.crew import TRIES, Job, Work, answered, built, lost

__all__ = ["RayCrew"]

_STORE = 256 << 20
"""Bytes of shared memory of a Ray that runs only for this prediction; batches of text are far smaller."""

_PATIENCE = 10.0
"""Seconds to wait for a cluster's address."""


class RayCrew:
    """Actors with one core each, or one GPU each. Ray starts an actor that is killed again and repeats its batch.

    Without a cluster in RAY_ADDRESS, Ray starts on this machine and ends with the crew.
    """

    def __init__(self, count: int, build: Callable[..., Work], *given: Any, gpu: bool = False) -> None:
        self._ray = import_extra("ray", "ray", "--engine ray")
        self.room = 2 * count  # the next batch is there when an actor has finished one
        self._mine = not self._ray.is_initialized()
        if self._mine:
            _begin(self._ray, count)
        if (cores := self._ray.cluster_resources().get("GPU" if gpu else "CPU", 0)) < count:
            if self._mine:
                self._ray.shutdown()
            what = "GPUs" if gpu else "cores"
            raise ConfigError(f"there are {count} workers, but Ray has {cores:g} {what}. Use fewer --workers.")
        needs: dict[str, Any] = {"num_gpus": 1} if gpu else {"num_cpus": 1}
        kind = self._ray.remote(max_restarts=-1, max_task_retries=TRIES - 1, **needs)(_Actor)
        self._actors = [kind.remote(build, given) for _ in range(count)]
        self._given: dict[Any, tuple[int, int]] = {}

    def give(self, number: int, job: Job) -> None:
        load = Counter(actor for _, actor in self._given.values())
        idlest = min(range(len(self._actors)), key=load.__getitem__)
        self._given[self._actors[idlest].answer.remote(job)] = (number, idlest)

    def collect(self) -> list[tuple[int, Any]]:
        (ready,), _ = self._ray.wait(list(self._given))
        number, _ = self._given.pop(ready)
        try:
            well, answer = self._ray.get(ready)
        except self._ray.exceptions.RayActorError as error:
            raise lost() from error
        if not well:
            raise answer
        return [(number, answer)]

    def __enter__(self) -> RayCrew:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for actor in self._actors:
            self._ray.kill(actor)
        if self._mine:
            self._ray.shutdown()


class _Actor:
    """A worker, whose model is loaded once."""

    def __init__(self, build: Callable[..., Work], given: Job) -> None:
        self._work = built(build, given)

    def answer(self, job: Job) -> tuple[bool, Any]:
        return answered(self._work, job)


def _begin(ray: Any, count: int) -> None:
    """Connect to the cluster that RAY_ADDRESS names, or else start Ray on this machine.

    Without an address Ray would take any instance on this machine, such as that of another run, and end with it.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if (address := os.environ.get("RAY_ADDRESS")) is None:
        ray.init(address="local", num_cpus=count, include_dashboard=False, object_store_memory=_STORE, **quiet)
        return
    try:
        _check_answering(address)
        ray.init(address=address, **quiet)
    except (OSError, ValueError) as error:  # Ray's ConnectionError is an OSError
        raise ConfigError(f"no Ray cluster answers at {address}, which RAY_ADDRESS names: {error}") from error


def _check_answering(address: str) -> None:
    """Raise OSError if nothing answers at a host and port; Ray would try for many minutes."""
    if found := re.fullmatch(r"(?:ray://)?(.+):(\d+)", address):
        socket.create_connection((found[1], int(found[2])), timeout=_PATIENCE).close()
