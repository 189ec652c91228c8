"""Config: settings as frozen pydantic models; one ConfigError lists all faults in plain words."""

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
"""Maximum characters of a wrong value in a message."""

# Numeric types of settings. Each has an upper bound, so that no value overflows the code that uses it; a test checks
# this for all settings. Values within the bounds can still be too large together, such as a model larger than memory.
# The code that builds it refuses those.
Count = Annotated[int, Field(ge=1, le=2**31 - 1)]
Index = Annotated[int, Field(ge=0, le=2**31 - 1)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]
Width = Annotated[int, Field(ge=1, le=2**20)]
"""Width of a layer."""
Depth = Annotated[int, Field(ge=1, le=256)]
"""Number of layers. Each is a Python object, so a million would fill the memory at any width."""
Positive = Annotated[float, Field(gt=0, le=1e6)]
Weight = Annotated[float, Field(ge=0, le=1e6)]
Share = Annotated[float, Field(ge=0, lt=1)]
"""A fraction below 1, such as a dropout probability, a momentum or an Adam beta."""


class Config(BaseModel):
    """The base of all settings: frozen, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Fault(NamedTuple):
    """A fault of a setting; `path`: its keys from the outermost inwards."""

    path: Path
    text: str


def merge(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Merge `changes` into `base`, nested dictionaries key by key."""
    merged = dict(base)
    for key, value in changes.items():
        below = merged.get(key)
        merged[key] = merge(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged


def parse(kind: type[Settings], settings: dict[str, Any], where: str) -> Settings:
    """Validate settings; raise a ConfigError that lists every fault."""
    found, faults = check(kind, settings)
    if found is None:
        raise refuse(faults, where)
    return found


def check(kind: type[Settings], settings: Any, above: Path = ()) -> tuple[Settings | None, list[Fault]]:
    """Validate settings; return them or None, and their faults. `above`: path of the settings themselves."""
    try:
        return kind.model_validate(settings), []
    except ValidationError as error:
        return None, _faults(kind, error, settings, above)


def refuse(faults: list[Fault], where: str, lines: Mapping[Path, int | str] | None = None) -> ConfigError:
    """Return the ConfigError that lists faults with their lines.

    `lines`: line numbers by path; a text describes a line in another file.
    """
    texts = []
    for fault in faults:
        line = _line_of(fault.path, lines or {})
        label = f"line {line}" if isinstance(line, int) else line
        place = ([label] if line and label else []) + ([".".join(fault.path)] if fault.path else [])
        texts.append(f"- {', '.join(place)}: {fault.text}" if place else f"- {fault.text}")
    return ConfigError("\n".join([f"{where} cannot be used as it is:", *texts]))


def _line_of(path: Path, lines: Mapping[Path, int | str]) -> int | str | None:
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path)


def _faults(kind: type[BaseModel], error: ValidationError, settings: Any, above: Path) -> list[Fault]:
    """Return one fault for each path; join those that pydantic reports for each member of a union."""
    found: dict[Path, Fault] = {}
    for entry in error.errors():
        path = _written(entry["loc"], settings, needed=entry["type"] == "missing")
        fault = _fault(kind, entry, path, above)
        key = path or (str(len(found)),)
        same = found.get(key)
        found[key] = fault if same is None else Fault(same.path, f"{same.text}, or: {fault.text}")
    return list(found.values())


def _written(place: tuple[int | str, ...], settings: Any, *, needed: bool) -> Path:
    """Return the path as written in the settings, without the type names that pydantic adds for unions."""
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
    if fault["type"] == "extra_forbidden" and (homes := _homes(kind, path)):
        return Fault(above + path, f"{path[-1]!r} belongs in {' or '.join(homes)}, as {homes[0]}.{path[-1]}")
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
    except ValueError:  # Python refuses to convert integers of thousands of digits to text
        text = "a number of thousands of digits"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _fields_at(kind: type[BaseModel], path: Path) -> list[str]:
    """Return the valid names at a path."""
    return list(_kind_at(kind, path).model_fields)


def _homes(kind: type[BaseModel], path: Path) -> list[str]:
    """Return the sections beside a misplaced setting that have one of its name."""
    own = _kind_at(kind, path[:-1])
    return [name for name in own.model_fields if path[-1] in _fields_at(own, (name,)) and _kind_at(own, (name,)) != own]


def _kind_at(kind: type[BaseModel], path: Path) -> type[BaseModel]:
    """Return the class of the settings at a path, following nested settings."""
    for part in path:
        field = kind.model_fields.get(part)
        candidates = [] if field is None else [field.annotation, *getattr(field.annotation, "__args__", ())]
        nested = [c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel)]
        if nested:
            kind = nested[0]
    return kind


def _example(kind: type[BaseModel], path: Path) -> str:
    """Return an example value for the message, taken from the default."""
    field = _kind_at(kind, path[:-1]).model_fields.get(path[-1])
    default = None if field is None else field.default
    shown = str(default).lower() if isinstance(default, bool) else default
    return f"; for example {path[-1]}: {shown}" if isinstance(default, str | int | float) else ""
