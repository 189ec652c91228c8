"""Settings of the server: address, access and limits."""

from __future__ import annotations

import os
from ipaddress import ip_address
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from saccade.config import Config
from saccade.errors import ConfigError
from saccade.files import file_error
from saccade.pretrained import find_model

__all__ = ["LOOPBACK", "Settings", "read_models", "read_token"]

LOOPBACK = ("localhost", "127.0.0.1", "::1")
"""Loopback names: only this machine can connect to them."""
VARIABLE = "SACCADE_TOKEN"


class Settings(Config):
    """The settings of `saccade serve`."""

    host: str = "127.0.0.1"
    port: int = Field(8000, ge=0, le=65535)
    """TCP port; 0: any free port."""
    token: str | None = Field(None, min_length=1, repr=False)
    """The token that requests must send as `Authorization: Bearer …`."""
    cors: tuple[str, ...] = ()
    """CORS origins whose pages may send requests, such as https://example.org."""
    allowed_hosts: tuple[str, ...] = ()
    """Accepted names in the Host header, besides the loopback names."""
    max_batch: int = Field(32, ge=1)
    """Maximum inputs in a batch."""
    max_wait_ms: float = Field(5.0, ge=0)
    """Maximum milliseconds that the first input of a batch waits for others."""
    max_queue: int = Field(1024, ge=1)
    """Maximum queued inputs."""
    timeout: float = Field(30.0, gt=0)
    """Maximum seconds for a request, from the end of its head."""
    head_timeout: float = Field(10.0, gt=0)
    """Maximum seconds for a request head, from the opening of the connection or its last response."""
    max_connections: int | None = Field(None, ge=1)
    """Maximum open connections; None: as many as the limit on open files allows."""
    max_body: int | None = Field(None, ge=1)
    """Maximum bytes of a request body; None: see `body`."""
    max_inputs: int = Field(128, ge=1)
    """Maximum inputs of a request."""
    max_input_tokens: int = Field(512, ge=1)
    """Maximum tokens of an input."""
    max_turns: int = Field(200, ge=1)
    """Maximum turns of a dialogue; of these, a model reads as many as its recipe says."""
    max_image_bytes: int = Field(8 * 10**6, ge=1)
    """Maximum bytes of an image file."""
    max_pixels: int = Field(25 * 10**6, ge=1)
    """Maximum pixels of an image, width times height; checked before decoding."""
    max_sound_bytes: int = Field(8 * 10**6, ge=1)
    """Maximum bytes of a sound file."""
    max_seconds: float = Field(60.0, gt=0, le=600)
    """Maximum duration of a sound; checked before decoding."""
    max_inflight_bytes: int = Field(256 * 10**6, ge=1)
    """Maximum bytes that all requests together hold in memory."""
    max_beam: int = Field(16, ge=1)
    """Maximum beam width and maximum answers to an input."""
    log: Literal["json", "text", "off"] = "off"
    """Whether each request is logged to standard error, as a line of JSON or of text."""
    precision: Literal["full", "int8"] | None = None
    """Precision of computation; None: that of each model's recipe."""
    threads: int | None = Field(None, ge=1, le=1024)
    """CPU threads; None: one for small models, else all cores except one."""

    @model_validator(mode="after")
    def _combines(self) -> Settings:
        if self.max_inputs > self.max_queue:
            raise ValueError(
                f"a request may have {self.max_inputs} inputs, but only {self.max_queue} can wait: raise max_queue to "
                f"{self.max_inputs} or lower max_inputs"
            )
        if self.max_body is not None and self.max_body > self.max_inflight_bytes:
            raise ValueError(
                f"a body may have {self.max_body:,} bytes, but all requests together {self.max_inflight_bytes:,}: "
                f"raise max_inflight_bytes to {self.max_body} or lower max_body"
            )
        if "*" in self.cors:
            raise ValueError("cors is *, which allows requests from every web page: name the allowed origins")
        return self

    def body(self, *, pictures: bool) -> int:
        """Return the maximum bytes of a body; by default 1 MiB, plus four files of maximum size in base64."""
        if self.max_body is not None:
            return self.max_body
        largest = max(self.max_image_bytes, self.max_sound_bytes)
        return min((1 << 20) + (4 * 4 * -(-largest // 3) if pictures else 0), self.max_inflight_bytes)

    @property
    def max_output(self) -> int:
        """Maximum `max_length` of a request: the default output limit of the longest input."""
        return 2 * self.max_input_tokens + 20

    @property
    def hosts(self) -> frozenset[str] | None:
        """The accepted names in the Host header; None: all, since a public server does not know its names.

        On a loopback address the names are known. Refusing all others prevents DNS rebinding.
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
    """Read the token from a file, or else from SACCADE_TOKEN; None without either."""
    if file is None:
        return os.environ.get(VARIABLE) or None
    try:
        token = file.read_text(encoding="utf-8").strip()
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file} is not text, so it holds no token.") from error
    except OSError as error:
        raise file_error(error, file) from error
    if not token:
        raise ConfigError(f"{file} is empty, but it must hold the token. Write one, or leave --token-file out.")
    return token


def read_models(file: Path) -> list[Path]:
    """Read the models to serve from a file: on each line a model folder, relative to the file, or a shipped model.

    Blank lines and lines that begin with # are left out.
    """
    try:
        lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file} is not text, so it lists no models.") from error
    except OSError as error:
        raise file_error(error, file) from error
    found = [line for line in lines if line and not line.startswith("#")]
    if not found:
        raise ConfigError(f"{file} lists no models. Write the folder of one on each line.")
    return [beside if (beside := file.parent / name).exists() else find_model(name) for name in found]
