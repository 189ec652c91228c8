"""HTTP server for models, with dynamic batching and the explorer page. Needs the extra `serve`.

`saccade.serve:app` is a factory for any ASGI server: `SACCADE_MODELS=runs/demo uvicorn --factory saccade.serve:app`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

__all__ = ["app"]


def app() -> Any:
    """Return an ASGI application for the models in SACCADE_MODELS, separated by colons; default: the shipped models.

    SACCADE_TOKEN is the access token, SACCADE_HOSTS the accepted host names, separated by commas (default: localhost),
    SACCADE_LOG json, text or off. With several processes on one port (uvicorn --workers) each loads the models.
    """
    from saccade.look import page
    from saccade.pretrained import find_model, missing_extra, pretrained
    from saccade.serve.application import Application, Explorer
    from saccade.serve.models import load_models
    from saccade.serve.serve_config import Settings, read_token

    named = [name for name in os.environ.get("SACCADE_MODELS", "").split(os.pathsep) if name]
    hosts = tuple(name for name in os.environ.get("SACCADE_HOSTS", "").split(",") if name)
    log = os.environ.get("SACCADE_LOG", "off")
    settings = Settings.model_validate({"token": read_token(None), "allowed_hosts": hosts, "log": log})
    shipped = [name for name in pretrained() if missing_extra(name) is None]
    models = load_models([find_model(Path(name)) for name in named or shipped])
    return Application(models, settings, Explorer(page.index(), page.policy(), page.assets()))
