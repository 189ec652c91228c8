"""Settings: where the server listens, who may ask, and how much."""

from __future__ import annotations

import os
from ipaddress import ip_address
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from saccade.config import Config
from saccade.errors import ConfigError
from saccade.files import explain

__all__ = ["LOOPBACK", "Settings", "read_token"]

LOOPBACK = ("localhost", "127.0.0.1", "::1")
"""Names of this machine that no other machine can use."""
VARIABLE = "SACCADE_TOKEN"


class Settings(Config):
    """All that `saccade serve` can be told."""

    host: str = "127.0.0.1"
    port: int = Field(8000, ge=0, le=65535)
    """0 is any that is free."""
    token: str | None = Field(None, min_length=1, repr=False)
    """What requests must carry as `Authorization: Bearer …`."""
    cors: tuple[str, ...] = ()
    """Origins of other pages that may ask, such as https://example.org."""
    allowed_hosts: tuple[str, ...] = ()
    """Names in a Host header that are meant for this server, beside those of this machine."""
    max_batch: int = Field(32, ge=1)
    """The most inputs decoded together."""
    max_wait: float = Field(5.0, ge=0)
    """Milliseconds that the first of a batch waits for others."""
    queue: int = Field(1024, ge=1)
    """The most inputs that wait."""
    timeout: float = Field(30.0, gt=0)
    """Seconds for a request, from when its head has been read."""
    head_timeout: float = Field(10.0, gt=0)
    """Seconds for a request's head, from when the connection is open or its last answer was sent."""
    max_connections: int | None = Field(None, ge=1)
    """Maximum open connections; None: as many as the limit on open files leaves room for."""
    max_body: int | None = Field(None, ge=1)
    """The most bytes of a request's body; None: as much as the inputs that are served need."""
    max_inputs: int = Field(128, ge=1)
    """The most inputs of a request."""
    max_input: int = Field(512, ge=1)
    """The most tokens of an input."""
    max_picture: int = Field(8 * 10**6, ge=1)
    """The most bytes of a picture's file."""
    max_pixels: int = Field(25 * 10**6, ge=1)
    """The most pixels of a picture, width times height; known before any is decoded."""
    max_held: int = Field(256 * 10**6, ge=1)
    """The most bytes that all requests hold together while they are read and wait."""
    max_beam: int = Field(16, ge=1)
    """The widest beam, and the most answers to an input."""
    precision: Literal["full", "int8"] | None = None
    """What models compute in; None: what their recipes say."""
    threads: int | None = Field(None, ge=1, le=1024)
    """Threads for models on the CPU; None: one for small models, else all cores except one."""

    @model_validator(mode="after")
    def _combines(self) -> Settings:
        if self.max_inputs > self.queue:
            raise ValueError(
                f"a request may have {self.max_inputs} inputs, but only {self.queue} can wait: raise queue to "
                f"{self.max_inputs} or lower max_inputs"
            )
        if self.max_body is not None and self.max_body > self.max_held:
            raise ValueError(
                f"a body may have {self.max_body:,} bytes, but all requests together {self.max_held:,}: raise max_held "
                f"to {self.max_body} or lower max_body"
            )
        if "*" in self.cors:
            raise ValueError("cors is *, which lets every page of the web ask: name the origins that may")
        return self

    def body(self, *, pictures: bool) -> int:
        """The most bytes of a body, of texts or of pictures, of which four of the largest have room in base64."""
        if self.max_body is not None:
            return self.max_body
        return min((1 << 20) + (4 * 4 * -(-self.max_picture // 3) if pictures else 0), self.max_held)

    @property
    def max_output(self) -> int:
        """The most tokens that an answer can be asked to have: as many as the longest input gets by itself."""
        return 2 * self.max_input + 20

    @property
    def hosts(self) -> frozenset[str] | None:
        """The names in a Host header that are answered; None: all, since a server for others cannot know its names.

        On this machine alone the names are known, and another one in the header is a page that has its own name
        point here, to read with the eyes of this machine's user.
        """
        named = [host.lower() for host in self.allowed_hosts]
        if _is_loopback(self.host.lower()):
            return frozenset((*LOOPBACK, self.host.lower(), *named))
        return frozenset(named) or None


def _is_loopback(host: str) -> bool:
    try:
        return host in LOOPBACK or ip_address(host).is_loopback
    except ValueError:
        return False


def read_token(file: Path | None) -> str | None:
    """The token of a file, or else of the environment; None where there is neither."""
    if file is None:
        return os.environ.get(VARIABLE) or None
    try:
        token = file.read_text(encoding="utf-8").strip()
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file} is not text, so it holds no token.") from error
    except OSError as error:
        raise explain(error, file) from error
    if not token:
        raise ConfigError(f"{file} is empty, but the token is read from it. Write one, or leave --token-file out.")
    return token
