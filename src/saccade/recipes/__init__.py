"""Recipes: YAML files with all settings of a training run; those in this folder ship with the package.

This module reads settings and their line numbers. `runs.recipe` checks what they mean.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from saccade.config import merge
from saccade.errors import ConfigError, unknown_name
from saccade.files import read_text
from saccade.recipes.renamed import with_new_names

__all__ = [
    "RecipeText",
    "find_recipe",
    "override",
    "read_recipe",
    "read_text_of",
    "read_yaml",
    "shipped",
    "to_yaml",
    "with_base",
]

_LARGEST = 64 << 10
"""Maximum bytes of a recipe; shipped recipes have at most a few thousand. The YAML parser is slow."""
_DEEPEST = 32
"""Maximum nesting depth; the parser's time grows with its square."""
_SHOWN = 60
"""Maximum characters of a wrong value that an error shows."""


@dataclass(frozen=True)
class RecipeText:
    """A recipe as written: its settings, the line of each, and the name of its file for messages."""

    settings: dict[str, Any]
    where: str
    lines: dict[tuple[str, ...], int | str] = field(default_factory=dict)


class _Loader(yaml.SafeLoader):
    """YAML with scalars closer to version 1.2: only true and false are booleans, and 1e-3 is a number."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith((":bool", ":float", ":timestamp", ":int"))]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), list("tf"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^[-+]?\d[\d_]*$"), list("-+0123456789"))
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    # a digit must match only one part of the pattern: otherwise backtracking takes quadratic time
    re.compile(r"^[-+]?(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?$|^[-+]?\.(?:inf|nan)$"),
    list("-+.0123456789"),
)
_Loader.add_constructor("tag:yaml.org,2002:int", lambda loader, node: int(node.value.replace("_", "")))


class _Dumper(yaml.SafeDumper):
    """Quotes strings that `_Loader` or other YAML parsers would read as another type."""


_Dumper.yaml_implicit_resolvers = {
    first: yaml.SafeDumper.yaml_implicit_resolvers.get(first, []) + _Loader.yaml_implicit_resolvers.get(first, [])
    for first in {**yaml.SafeDumper.yaml_implicit_resolvers, **_Loader.yaml_implicit_resolvers}
}


def shipped() -> dict[str, Path]:
    """Return the recipes that ship with the package, by name."""
    folder = resources.files(__name__)
    found = [Path(str(entry)) for entry in folder.iterdir() if entry.name.endswith(".yaml")]
    return {path.stem: path for path in sorted(found)}


def find_recipe(name: str) -> Path:
    """Return the file of a recipe, given its path or the name of a shipped one."""
    path = Path(name)
    if path.suffix in (".yaml", ".yml") or path.is_file():
        return path
    ours = shipped()
    if name not in ours and not path.exists():
        raise unknown_name("recipe", name, ours)
    return ours.get(name, path)


def read_recipe(name: str) -> RecipeText:
    """Read a recipe, a file or a shipped one, merged with its `base`."""
    return _with_bases(read_yaml(find_recipe(name)), (name,))


def with_base(recipe: RecipeText) -> RecipeText:
    """Return settings of Python, with their new names, merged with their `base`."""
    return _with_bases(with_new_names(recipe), ())


def read_yaml(path: Path) -> RecipeText:
    """Read the settings of one file, without its `base`."""
    return with_new_names(parse_yaml(read_text_of(path), str(path)))


def read_text_of(path: Path) -> str:
    """Read the text of a recipe file."""
    try:
        return read_text(path, _LARGEST, "a recipe")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text (byte {error.start}), so it is no recipe.") from error


def _with_bases(recipe: RecipeText, chain: tuple[str, ...]) -> RecipeText:
    """Fill in settings that a recipe leaves out from its base, one by one.

    A recipe that names its own model preset inherits no model settings.
    """
    if "base" not in recipe.settings:
        return recipe
    name = recipe.settings["base"]
    if not isinstance(name, str) or name in chain:
        why = "refers to itself" if isinstance(name, str) else "must be the name of a recipe or its file"
        raise ConfigError(f"{recipe.where}: base {name!r} {why}.")
    beside = Path(recipe.where).parent / name
    below = _with_bases(read_yaml(beside if beside.is_file() else find_recipe(name)), (*chain, name))
    base, lines = below.settings, {path: _elsewhere(line, below.where) for path, line in below.lines.items()}
    base = {key: value for key, value in base.items() if key != "takes"}
    own = {key: value for key, value in recipe.settings.items() if key != "base"}
    model = own.get("model")
    if isinstance(model, dict) and "preset" in model:
        base = {**base, "model": {}}
    return RecipeText(merge(base, own), recipe.where, {**lines, **recipe.lines})


def _elsewhere(line: int | str, where: str) -> str:
    """Return a line reference into a base recipe, with its file name."""
    return line if isinstance(line, str) else f"{where}, line {line}"


def parse_yaml(text: str, where: str) -> RecipeText:
    """Parse YAML into settings and their line numbers."""
    if len(text) > _LARGEST:
        raise ConfigError(f"{where} has more than {_LARGEST:,} letters, the most that settings may have.")
    try:
        _check_events(text, where)
        node = yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}" if mark else ""
        raise ConfigError(f"{where}{place} is not YAML: {getattr(error, 'problem', None) or error}.") from None
    if node is None:
        return RecipeText({}, where)
    lines: dict[tuple[str, ...], int | str] = {}
    settings = _value(node, (), lines, where)
    if not isinstance(settings, dict):
        raise ConfigError(f"{where} must hold settings as `key: value`, but is {_shown(settings)}.")
    return RecipeText(settings, where, lines)


def _check_events(text: str, where: str) -> None:
    """Raise on aliases and deep nesting, which can exhaust time or memory, before the document is built."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.AliasEvent):  # a few lines of aliases can expand to fill the memory
            raise ConfigError(f"{where} uses an alias (*name), which recipes do not have. Write it out.")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            line = event.start_mark.line + 1
            raise ConfigError(f"{where}, line {line} holds settings inside settings, more than {_DEEPEST} deep.")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def override(recipe: RecipeText, changes: list[str]) -> RecipeText:
    """Return a recipe with settings changed as by --set, `train.lr=3e-4`."""
    settings, lines = recipe.settings, recipe.lines
    for change in changes:
        name, equals, value = change.partition("=")
        if not equals or not all(name.split(".")) or "\n" in value:
            raise ConfigError(f"--set {change!r} is no setting. Write it as section.name=value, such as train.lr=3e-4.")
        changed = parse_yaml(f"value: {value}" if value else "value: ''", f"--set {change}").settings["value"]
        for key in reversed(name.split(".")):
            changed = {key: changed}
        place: dict[tuple[str, ...], int | str] = {tuple(name.split(".")): 0}  # not from the file
        named = with_new_names(RecipeText(changed, f"--set {change}", place))
        settings, lines = merge(settings, named.settings), lines | named.lines
    return RecipeText(settings, recipe.where, lines)


def to_yaml(settings: dict[str, Any]) -> str:
    """Dump settings as the YAML of a recipe file."""
    return yaml.dump(settings, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


def _value(node: yaml.Node, path: tuple[str, ...], lines: dict[tuple[str, ...], int | str], where: str) -> Any:
    if isinstance(node, yaml.MappingNode):
        found: dict[str, Any] = {}
        for key, value in node.value:
            place = f"{where}, line {key.start_mark.line + 1}"
            if not isinstance(key, yaml.ScalarNode):
                raise ConfigError(f"{place}: the name of a setting must be text.")
            name = _text(key.value, place)
            if name in found:
                raise ConfigError(f"{place}: {name} is set twice. Keep one.")
            lines[(*path, name)] = key.start_mark.line + 1
            found[name] = _value(value, (*path, name), lines, where)
        return found
    if isinstance(node, yaml.SequenceNode):
        return [_value(entry, (*path, str(number)), lines, where) for number, entry in enumerate(node.value)]
    place = f"{where}, line {node.start_mark.line + 1}"
    try:
        value = _Loader("").construct_document(node)
    except (yaml.YAMLError, ValueError, KeyError, AttributeError, OverflowError) as error:  # tags that do not fit
        raise ConfigError(f"{place}: {_shown(node.value)} cannot be read.") from error
    return _text(value, place) if isinstance(value, str) else value


def _text(text: str, place: str) -> str:
    """Return the text; raise if it holds a NUL or a lone surrogate, which no path or file can hold."""
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise ConfigError(f"{place}: {_shown(text)} holds a NUL or half a character. Leave it out.")
    return text
