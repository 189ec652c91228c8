"""Recipes: YAML files that say all about a training; those in this folder ship with the package.

Reading one gives plain settings and the line each stands on; what they mean is the tasks' business.
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
from saccade.files import explain

__all__ = ["RecipeText", "find_recipe", "override", "read_recipe", "shipped", "to_yaml"]


@dataclass(frozen=True)
class RecipeText:
    """A recipe as it was written: its settings, the line of each, and the name to use in messages."""

    settings: dict[str, Any]
    where: str
    lines: dict[tuple[str, ...], int | str] = field(default_factory=dict)


class _Loader(yaml.SafeLoader):
    """YAML 1.2 where 1.1 surprises: only true and false are booleans, 1e-3 is a number, keys stand once."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith((":bool", ":float", ":timestamp", ":int"))]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), list("tf"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^[-+]?\d[\d_]*$"), list("-+0123456789"))
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$|^[-+]?\.(?:inf|nan)$"),
    list("-+.0123456789"),
)
_Loader.add_constructor("tag:yaml.org,2002:int", lambda loader, node: int(node.value.replace("_", "")))


class _Dumper(yaml.SafeDumper):
    """Puts in quotes what other programs, or the loader above, would take for something else than text."""


_Dumper.yaml_implicit_resolvers = {
    first: yaml.SafeDumper.yaml_implicit_resolvers.get(first, []) + _Loader.yaml_implicit_resolvers.get(first, [])
    for first in {**yaml.SafeDumper.yaml_implicit_resolvers, **_Loader.yaml_implicit_resolvers}
}


def shipped() -> dict[str, Path]:
    """The recipes of the package, by name."""
    folder = resources.files(__name__)
    found = [Path(str(entry)) for entry in folder.iterdir() if entry.name.endswith(".yaml")]
    return {path.stem: path for path in sorted(found)}


def find_recipe(name: str) -> Path:
    """The file of a recipe: a path, or the name of one that ships."""
    path = Path(name)
    if path.suffix in (".yaml", ".yml") or path.is_file():
        return path
    ours = shipped()
    if name not in ours and not path.exists():
        raise unknown_name("recipe", name, ours)
    return ours.get(name, path)


def read_recipe(name: str) -> RecipeText:
    """A recipe, read from a file or from those that ship, with what it takes over from its `base`."""
    return _with_bases(_read(find_recipe(name)), (name,))


def _read(path: Path) -> RecipeText:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise explain(error, path) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text (byte {error.start}), so it is no recipe.") from error
    return parse_yaml(text, str(path))


def _with_bases(recipe: RecipeText, chain: tuple[str, ...]) -> RecipeText:
    """What a recipe does not say itself, its base says: setting by setting.

    A model that names its own preset is another model, so it takes nothing over.
    """
    if "base" not in recipe.settings:
        return recipe
    name = recipe.settings["base"]
    if not isinstance(name, str) or name in chain:
        why = "stands on itself" if isinstance(name, str) else "must be the name of a recipe or its file"
        raise ConfigError(f"{recipe.where}: base {name!r} {why}.")
    beside = Path(recipe.where).parent / name
    below = _with_bases(_read(beside if beside.is_file() else find_recipe(name)), (*chain, name))
    base, lines = below.settings, {path: _elsewhere(line, below.where) for path, line in below.lines.items()}
    own = {key: value for key, value in recipe.settings.items() if key != "base"}
    model = own.get("model")
    if isinstance(model, dict) and "preset" in model:
        base = {**base, "model": {}}
    return RecipeText(merge(base, own), recipe.where, {**lines, **recipe.lines})


def _elsewhere(line: int | str, where: str) -> str:
    """A line of the recipe that another one stands on."""
    return line if isinstance(line, str) else f"{where}, line {line}"


def parse_yaml(text: str, where: str) -> RecipeText:
    """Settings and their lines."""
    try:
        # aliases can make a few lines as large as all memory
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=_Loader)):
            raise ConfigError(f"{where} uses an alias (*name), which recipes do not have. Write it out.")
        node = yaml.compose(text, Loader=_Loader)
    except RecursionError:
        raise ConfigError(f"{where} holds settings inside settings without end. Write them out.") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}" if mark else ""
        raise ConfigError(f"{where}{place} is not YAML: {getattr(error, 'problem', None) or error}.") from None
    if node is None:
        return RecipeText({}, where)
    lines: dict[tuple[str, ...], int | str] = {}
    try:
        settings = _value(node, (), lines, where)
    except RecursionError:
        raise ConfigError(f"{where} holds settings inside settings without end. Write them out.") from None
    if not isinstance(settings, dict):
        raise ConfigError(f"{where} must hold settings as `key: value`, but is {settings!r}.")
    return RecipeText(settings, where, lines)


def override(recipe: RecipeText, changes: list[str]) -> RecipeText:
    """A recipe with settings changed as on the command line, `train.lr=3e-4`."""
    settings, lines = recipe.settings, dict(recipe.lines)
    for change in changes:
        name, equals, value = change.partition("=")
        if not equals or not all(name.split(".")) or "\n" in value:
            raise ConfigError(f"--set {change!r} is no setting. Write it as section.name=value, such as train.lr=3e-4.")
        lines[tuple(name.split("."))] = 0  # it does not come from the file
        changed = parse_yaml(f"value: {value}" if value else "value: ''", f"--set {change}").settings["value"]
        for key in reversed(name.split(".")):
            changed = {key: changed}
        settings = merge(settings, changed)
    return RecipeText(settings, recipe.where, lines)


def to_yaml(settings: dict[str, Any]) -> str:
    """Settings as a recipe file."""
    return yaml.dump(settings, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


def _value(node: yaml.Node, path: tuple[str, ...], lines: dict[tuple[str, ...], int | str], where: str) -> Any:
    if isinstance(node, yaml.MappingNode):
        found: dict[str, Any] = {}
        for key, value in node.value:
            name = str(key.value)
            if name in found:
                raise ConfigError(f"{where}, line {key.start_mark.line + 1}: {name} stands there twice. Keep one.")
            lines[(*path, name)] = key.start_mark.line + 1
            found[name] = _value(value, (*path, name), lines, where)
        return found
    if isinstance(node, yaml.SequenceNode):
        return [_value(entry, (*path, str(number)), lines, where) for number, entry in enumerate(node.value)]
    loader = _Loader("")
    try:
        return loader.construct_object(node, deep=True)
    except (yaml.YAMLError, ValueError, KeyError, AttributeError) as error:  # tags that do not fit
        raise ConfigError(f"{where}, line {node.start_mark.line + 1}: {node.value!r} cannot be read.") from error
    finally:
        loader.dispose()
