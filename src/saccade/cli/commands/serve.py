"""saccade serve."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from saccade.cli.options import Device, TrustCode
from saccade.cli.terminal import print_status

__all__ = ["serve"]


def serve(
    models: Annotated[
        list[Path] | None,
        typer.Argument(help="Model folders; the first is the default. Without any: the shipped models."),
    ] = None,
    models_file: Annotated[
        Path | None,
        typer.Option(
            help="File that lists a model on each line, in place of arguments; SIGHUP reads it again and replaces the "
            "models."
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 accepts other machines.")] = ("127.0.0.1"),
    port: Annotated[int, typer.Option(min=0, max=65535, help="TCP port; 0 takes any free port.")] = 8000,
    token_file: Annotated[
        Path | None,
        typer.Option(help="File with the access token; or set SACCADE_TOKEN. Default: no token."),
    ] = None,
    cors: Annotated[
        list[str] | None, typer.Option(help="CORS origin to allow, such as https://example.org; repeatable.")
    ] = None,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="Host name to accept, behind a reverse proxy; repeatable.")
    ] = None,
    max_batch: Annotated[int, typer.Option(min=1, help="Maximum inputs in a batch.")] = 32,
    max_wait_ms: Annotated[
        float, typer.Option(min=0, help="Maximum milliseconds that a batch waits for more inputs.")
    ] = 5,
    max_queue: Annotated[int, typer.Option(min=1, help="Maximum queued inputs; beyond it, 429.")] = 1024,
    timeout: Annotated[float, typer.Option(help="Maximum seconds for a request; beyond it, 504.")] = 30,
    head_timeout: Annotated[
        float, typer.Option(help="Maximum seconds for a request head; beyond it, the connection is closed.")
    ] = (10),
    max_connections: Annotated[
        int | None,
        typer.Option(min=1, help="Maximum open connections; default: what the limit on open files allows."),
    ] = None,
    max_body: Annotated[
        int | None, typer.Option(min=1, help="Maximum bytes of a request body; default: 1 MiB, more for images.")
    ] = None,
    max_inputs: Annotated[int, typer.Option(min=1, help="Maximum inputs of a request.")] = 128,
    max_input_tokens: Annotated[int, typer.Option(min=1, help="Maximum tokens of an input.")] = 512,
    max_turns: Annotated[int, typer.Option(min=1, help="Maximum turns of a dialogue.")] = 200,
    max_image_bytes: Annotated[int, typer.Option(min=1, help="Maximum bytes of an image file.")] = 8_000_000,
    max_sound_bytes: Annotated[int, typer.Option(min=1, help="Maximum bytes of a sound file.")] = 8_000_000,
    max_seconds: Annotated[
        float, typer.Option(min=0.01, max=600, help="Maximum seconds of a sound, checked before decoding.")
    ] = 60.0,
    max_pixels: Annotated[int, typer.Option(min=1, help="Maximum pixels of an image, width times height.")] = (
        25_000_000
    ),
    max_inflight_bytes: Annotated[
        int, typer.Option(min=1, help="Maximum bytes that all requests hold; beyond it, 429.")
    ] = 256_000_000,
    max_beam: Annotated[int, typer.Option(min=1, help="Maximum beam width and answers to an input.")] = 16,
    precision: Annotated[
        Literal["full", "int8"] | None, typer.Option(help="Precision; int8 is faster on a CPU, but less exact.")
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(min=1, max=1024, help="CPU threads; default: one for a small model, else all but one core."),
    ] = None,
    log: Annotated[
        Literal["json", "text", "off"], typer.Option(help="Log each request to standard error, as JSON or text.")
    ] = "off",
    device: Device = "auto",
    trust_code: TrustCode = False,
) -> None:
    """Serve models over HTTP, with the explorer page.

    Example: saccade serve runs/demo --port 8000
    """
    from saccade.config import parse
    from saccade.data.text import import_extra
    from saccade.errors import ConfigError
    from saccade.pretrained import find_model, missing_extra, pretrained

    for module in ("fastapi", "uvicorn"):
        import_extra(module, "serve", "saccade serve")
    from saccade.serve.run import serve as run
    from saccade.serve.serve_config import LOOPBACK, Settings, read_models, read_token

    if models and models_file is not None:
        raise ConfigError("models are named twice: as arguments and by --models-file. Leave one out.")

    given: dict[str, Any] = {
        "host": host,
        "port": port,
        "token": read_token(token_file),
        "cors": tuple(cors or ()),
        "allowed_hosts": tuple(allow_host or ()),
        "max_batch": max_batch,
        "max_wait_ms": float(max_wait_ms),
        "max_queue": max_queue,
        "timeout": float(timeout),
        "head_timeout": float(head_timeout),
        "max_connections": max_connections,
        "max_body": max_body,
        "max_inputs": min(max_inputs, max_queue),
        "max_input_tokens": max_input_tokens,
        "max_turns": max_turns,
        "max_image_bytes": max_image_bytes,
        "max_sound_bytes": max_sound_bytes,
        "max_seconds": max_seconds,
        "max_pixels": max_pixels,
        "max_inflight_bytes": max_inflight_bytes,
        "max_beam": max_beam,
        "precision": precision,
        "threads": threads,
        "log": log,
    }
    settings = parse(Settings, given, "saccade serve")

    def tell(served: list[dict[str, Any]], address: str) -> None:
        names = ", ".join(model["name"] for model in served)
        print_status(f"Serving {names} on {address}   (Ctrl-C stops it)")
        if settings.host not in LOOPBACK and settings.token is None:
            print_status(
                "Anyone who can reach this machine can send requests. Use --token-file to require a token.",
                style="yellow",
            )

    def named() -> list[Path]:
        if models_file is not None:
            return read_models(models_file)
        if models:
            return [*map(find_model, models)]
        left_out = [name for name in pretrained() if missing_extra(name)]
        if left_out:
            print_status(f"Without the extra `images`, these are not served: {', '.join(left_out)}")
        return [path for name, path in pretrained().items() if name not in left_out]

    run(
        named(),
        settings,
        device=device,
        trust_code=trust_code,
        tell=tell,
        again=None if models_file is None else named,
    )
