"""Progress: counters of a training run, also stored as progress.json in checkpoints."""

from __future__ import annotations

import json
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, ValidationError, with_config
from typing_extensions import TypedDict

from saccade.config import Config
from saccade.errors import CheckpointError

__all__ = ["Progress", "Saved", "SinceLog", "parse_progress"]

Count = Annotated[int, Field(ge=0)]
_OPTIONAL = {"version", "scale"}


@with_config(ConfigDict(extra="forbid", strict=True, allow_inf_nan=False))
class SinceLog(TypedDict):
    """Sums since the last log entry; n: updates."""

    loss: float
    tokens: float
    padding: float
    n: float


class Progress(Config):
    """Counters of a training run, saved in checkpoints."""

    model_config = ConfigDict(frozen=False)

    step: Count = 0
    place: Annotated[tuple[Count, Count], Field(strict=False)] = (0, 0)
    """Epoch, and the number of its batches that are done; see `data.batch_sampler.Cursor`."""
    best: float | None = None
    best_step: Count = 0
    stale: Count = 0
    """Validations since the best one."""
    halvings: Count = 0
    seconds: float = Field(0.0, ge=0)
    tokens: Count = 0
    skipped: Count = 0
    since_log: SinceLog = Field(default_factory=lambda: SinceLog(loss=0.0, tokens=0.0, padding=0.0, n=0.0))


class Saved(Progress):
    """Progress as stored in a checkpoint, with the settings that a resumed run needs."""

    version: Literal[1, 2] = 1
    """2: the checkpoint has checksums."""
    world_size: int = Field(1, ge=1)
    precision: dict[str, str] = Field(default_factory=dict)
    """The chosen precision by device type."""
    rounded: bool = False
    """See `BatchSampler`."""
    scale: dict[str, float] | None = None
    """State of the loss scaler, for fp16."""


def parse_progress(text: str, where: str, remedy: str) -> Saved:
    """Parse progress.json; all fields must be present and typed. Errors name the file `where` and the remedy."""
    try:
        found = json.loads(text)
        missing = Saved.model_fields.keys() - _OPTIONAL - dict(found).keys()
        saved = Saved.model_validate(found)
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()]
    except (ValueError, TypeError, RecursionError) as error:
        raise CheckpointError(f"{where} is damaged: it holds no JSON object. {remedy}") from error
    else:
        if not missing:
            return saved
        faults = [f"{name}: missing" for name in sorted(missing)]
    raise CheckpointError(
        f"{where} is damaged, or was written by another version of saccade: {'; '.join(faults)}. {remedy}"
    )
