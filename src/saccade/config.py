"""Config: settings as frozen pydantic models, with faults told all at once and in plain words."""

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from saccade.errors import ConfigError, unknown_name

__all__ = ["Config", "merge", "parse"]

Settings = TypeVar("Settings", bound=BaseModel)


class Config(BaseModel):
    """The base of all settings: frozen, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def merge(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """`base` with `changes` laid over it, nested dictionaries field by field."""
    merged = dict(base)
    for key, value in changes.items():
        below = merged.get(key)
        merged[key] = merge(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged


def parse(kind: type[Settings], settings: dict[str, Any], where: str) -> Settings:
    """Settings checked against their model; a ConfigError lists every fault."""
    try:
        return kind.model_validate(settings)
    except ValidationError as error:
        faults = [_fault(kind, fault) for fault in error.errors()]
        raise ConfigError("\n".join([f"{where} cannot be used as it is:", *(f"- {f}" for f in faults)])) from None


def _fault(kind: type[BaseModel], fault: Any) -> str:
    path = [str(part) for part in fault["loc"]]
    name = ".".join(path)
    if fault["type"] == "extra_forbidden":
        return f"{name}: {unknown_name('setting', path[-1], _fields_at(kind, path[:-1]))}"
    message = fault["msg"].removeprefix("Value error, ")
    return f"{name or 'settings'}: {message} (it is {fault['input']!r})" if name else message


def _fields_at(kind: type[BaseModel], path: list[str]) -> list[str]:
    """The valid names at a dotted place, following nested settings."""
    for part in path:
        field = kind.model_fields.get(part)
        candidates = [] if field is None else [field.annotation, *getattr(field.annotation, "__args__", ())]
        nested = [c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel)]
        if nested:
            kind = nested[0]
    return list(kind.model_fields)
