"""Config: settings as frozen pydantic models, with faults told all at once and in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from saccade.errors import ConfigError, unknown_name

__all__ = [
    "Config",
    "Count",
    "Depth",
    "Fault",
    "Index",
    "Positive",
    "Seed",
    "Share",
    "Weight",
    "Width",
    "check",
    "merge",
    "parse",
    "refuse",
]

Settings = TypeVar("Settings", bound=BaseModel)
Path = tuple[str, ...]
_LONGEST = 80
"""Letters of a wrong value that are worth showing."""

# The numbers of settings. Each has an upper bound, so that no setting overflows what it is handed to: a test walks
# through all settings and makes sure of it. What is within the bounds and still too much together, such as a model
# that is larger than the memory, is refused where it is made.
Count = Annotated[int, Field(ge=1, le=2**31 - 1)]
Index = Annotated[int, Field(ge=0, le=2**31 - 1)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]
Width = Annotated[int, Field(ge=1, le=2**20)]
"""Of a layer."""
Depth = Annotated[int, Field(ge=1, le=256)]
"""Layers: each is an object, so a million of them would fill the memory whatever their widths."""
Positive = Annotated[float, Field(gt=0, le=1e6)]
Weight = Annotated[float, Field(ge=0, le=1e6)]
Share = Annotated[float, Field(ge=0, lt=1)]
"""Of what is dropped or decays: all but 1."""


class Config(BaseModel):
    """The base of all settings: frozen, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Fault(NamedTuple):
    """What is wrong with a setting; `path` is where it stands, from the outermost key in."""

    path: Path
    text: str


def merge(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """`base` with `changes` laid over it, nested dictionaries field by field."""
    merged = dict(base)
    for key, value in changes.items():
        below = merged.get(key)
        merged[key] = merge(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged


def parse(kind: type[Settings], settings: dict[str, Any], where: str) -> Settings:
    """Settings checked against their model; a ConfigError lists every fault."""
    found, faults = check(kind, settings)
    if found is None:
        raise refuse(faults, where)
    return found


def check(kind: type[Settings], settings: Any, above: Path = ()) -> tuple[Settings | None, list[Fault]]:
    """Settings checked against their model, or all that is wrong with them; `above`: where they stand."""
    try:
        return kind.model_validate(settings), []
    except ValidationError as error:
        return None, _faults(kind, error, settings, above)


def refuse(faults: list[Fault], where: str, lines: Mapping[Path, int | str] | None = None) -> ConfigError:
    """The error that lists faults, with the lines of the file they are in; a line of another file is a text."""
    texts = []
    for fault in faults:
        line = _line_of(fault.path, lines or {})
        said = f"line {line}" if isinstance(line, int) else line
        place = ([said] if line and said else []) + ([".".join(fault.path)] if fault.path else [])
        texts.append(f"- {', '.join(place)}: {fault.text}" if place else f"- {fault.text}")
    return ConfigError("\n".join([f"{where} cannot be used as it is:", *texts]))


def _line_of(path: Path, lines: Mapping[Path, int | str]) -> int | str | None:
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path)


def _faults(kind: type[BaseModel], error: ValidationError, settings: Any, above: Path) -> list[Fault]:
    """One fault for each place; where several types would do, pydantic tells of each by itself."""
    found: dict[Path, Fault] = {}
    for entry in error.errors():
        path = _written(entry["loc"], settings, needed=entry["type"] == "missing")
        fault = _fault(kind, entry, path, above)
        key = path or (str(len(found)),)
        same = found.get(key)
        found[key] = fault if same is None else Fault(same.path, f"{same.text}, or: {fault.text}")
    return list(found.values())


def _written(place: tuple[int | str, ...], settings: Any, *, needed: bool) -> Path:
    """A place as it is written in the settings: pydantic also names the types it tried there."""
    path: list[str] = []
    for part in place[:-1] if needed else place:
        if isinstance(settings, Mapping) and part in settings:
            settings = settings[part]
        elif isinstance(settings, list | tuple) and isinstance(part, int):
            settings = settings[part] if part < len(settings) else None
        else:
            continue
        path.append(str(part))
    return (*path, str(place[-1])) if needed else tuple(path)


def _fault(kind: type[BaseModel], fault: Any, path: Path, above: Path) -> Fault:
    if fault["type"] == "extra_forbidden":
        return Fault(above + path, str(unknown_name("setting", path[-1], _fields_at(kind, path[:-1]))))
    message = fault["msg"].removeprefix("Value error, ")
    if not path:
        return Fault(above, message)
    if fault["type"] == "missing":
        return Fault(above + path, "this setting is needed")
    was = _shown(fault["input"])
    return Fault(above + path, f"{message} (it is {was}){_example(kind, path)}")


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:  # Python refuses to write out numbers of thousands of digits
        text = "a number of thousands of digits"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _fields_at(kind: type[BaseModel], path: Path) -> list[str]:
    """The valid names at a place."""
    return list(_kind_at(kind, path).model_fields)


def _kind_at(kind: type[BaseModel], path: Path) -> type[BaseModel]:
    """The settings at a place, following nested ones."""
    for part in path:
        field = kind.model_fields.get(part)
        candidates = [] if field is None else [field.annotation, *getattr(field.annotation, "__args__", ())]
        nested = [c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel)]
        if nested:
            kind = nested[0]
    return kind


def _example(kind: type[BaseModel], path: Path) -> str:
    """What could stand there, from the default."""
    field = _kind_at(kind, path[:-1]).model_fields.get(path[-1])
    default = None if field is None else field.default
    shown = str(default).lower() if isinstance(default, bool) else default
    return f"; for example {path[-1]}: {shown}" if isinstance(default, str | int | float) else ""
