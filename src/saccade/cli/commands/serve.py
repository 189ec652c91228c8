"""saccade serve."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from saccade.cli.terminal import say

__all__ = ["serve"]


def serve(
    models: Annotated[list[Path], typer.Argument(help="Model folders; the first is the default.")],
    host: Annotated[str, typer.Option(help="The address to listen on; 0.0.0.0 is for other machines, too.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 is any that is free.")] = 8000,
    token_file: Annotated[
        Path | None,
        typer.Option(help="Ask for the token in this file; or set SACCADE_TOKEN. Left out, everyone may ask."),
    ] = None,
    cors: Annotated[
        list[str] | None, typer.Option(help="An origin whose pages may ask, such as https://example.org.")
    ] = None,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="A name that the server answers to, where another one passes requests on.")
    ] = None,
    max_batch: Annotated[int, typer.Option(min=1, help="The most inputs decoded together.")] = 32,
    max_wait: Annotated[float, typer.Option(min=0, help="Milliseconds that an input waits for others.")] = 5,
    queue: Annotated[int, typer.Option(min=1, help="The most inputs that wait; beyond it is 429.")] = 1024,
    timeout: Annotated[float, typer.Option(help="Seconds for a request; beyond it is 504.")] = 30,
    head_timeout: Annotated[
        float, typer.Option(help="Seconds for a request's head; then the connection is closed.")
    ] = (10),
    max_connections: Annotated[
        int | None,
        typer.Option(min=1, help="Maximum open connections; left out, as many as the limit on open files allows."),
    ] = None,
    max_body: Annotated[
        int | None, typer.Option(min=1, help="The most bytes of a request; left out, 1 MiB, and more for pictures.")
    ] = None,
    max_inputs: Annotated[int, typer.Option(min=1, help="The most inputs of a request.")] = 128,
    max_input: Annotated[int, typer.Option(min=1, help="The most tokens of an input.")] = 512,
    max_picture: Annotated[int, typer.Option(min=1, help="The most bytes of a picture.")] = 8_000_000,
    max_pixels: Annotated[int, typer.Option(min=1, help="The most pixels of a picture, width times height.")] = (
        25_000_000
    ),
    max_held: Annotated[
        int, typer.Option(min=1, help="The most bytes that requests hold together; beyond it is 429.")
    ] = 256_000_000,
    max_beam: Annotated[int, typer.Option(min=1, help="The widest beam, and the most answers to an input.")] = 16,
    precision: Annotated[
        Literal["full", "int8"] | None, typer.Option(help="int8 is faster on a CPU, and a little less exact.")
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, max=1024, help="Threads on a CPU; left out, one for a small model.")
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
    trust_code: Annotated[
        bool, typer.Option("--trust-code", help="Let the models' recipes import outside code.")
    ] = False,
) -> None:
    """Serve models over HTTP, with a page to explore them.

    Example: saccade serve runs/demo --port 8000
    """
    from saccade.config import parse
    from saccade.data.text import import_extra

    for module in ("fastapi", "uvicorn"):
        import_extra(module, "serve", "saccade serve")
    from saccade.serve.run import serve as run
    from saccade.serve.settings import LOOPBACK, Settings, read_token

    given: dict[str, Any] = {
        "host": host,
        "port": port,
        "token": read_token(token_file),
        "cors": tuple(cors or ()),
        "allowed_hosts": tuple(allow_host or ()),
        "max_batch": max_batch,
        "max_wait": float(max_wait),
        "queue": queue,
        "timeout": float(timeout),
        "head_timeout": float(head_timeout),
        "max_connections": max_connections,
        "max_body": max_body,
        "max_inputs": min(max_inputs, queue),
        "max_input": max_input,
        "max_picture": max_picture,
        "max_pixels": max_pixels,
        "max_held": max_held,
        "max_beam": max_beam,
        "precision": precision,
        "threads": threads,
    }
    settings = parse(Settings, given, "saccade serve")

    def tell(served: list[dict[str, Any]], address: str) -> None:
        names = ", ".join(model["name"] for model in served)
        say(f"Serving {names} on {address}   (Ctrl-C ends it)")
        if settings.host not in LOOPBACK and settings.token is None:
            say("Everyone who can reach this machine may ask. --token-file asks them for a token.", style="yellow")

    run(models, settings, device=device, trust_code=trust_code, tell=tell)
