"""Write the references from the code: recipe keys, the command line, the HTTP and Python interfaces, metrics.

    python docs/reference/make.py

`tests/test_reference.py` fails where a page is not what this would write.
"""

from __future__ import annotations

import ast
import inspect
import runpy
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import click
import typer

from saccade.cli.main import app
from saccade.config import Config
from saccade.metrics import METRICS
from saccade.models import MODELS
from saccade.recipes.schema import DataConfig, Sections
from saccade.tasks.table import TASKS
from saccade.train.terms import TERMS

HERE = Path(__file__).parent
TYPES = """Types: `Count` and `Width` are whole numbers from 1, `Index` from 0, `Depth` from 1 to 256; `Share` is at
least 0 and below 1, `Weight` at least 0, `Positive` above 0."""
FAMILIES = {row.family.__name__: row.family for row in MODELS.values()}


def parts_of(kind: type[Config]) -> dict[str, tuple[str, str]]:
    """The annotation and the docstring of every field of a config class, its bases included."""
    found: dict[str, tuple[str, str]] = {}
    for base in reversed(kind.__mro__):
        if not issubclass(base, Config) or base is Config:
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0].body
        for place, node in enumerate(body):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                after = body[place + 1] if place + 1 < len(body) else None
                told = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
                text = " ".join(str(after.value.value).split()) if told else ""
                found[node.target.id] = ast.unparse(node.annotation), text
    return found


def config_in(annotation: Any) -> type[Config] | None:
    """The config class of a section, also where it may be null."""
    for kind in (annotation, *get_args(annotation)):
        if inspect.isclass(kind) and issubclass(kind, Config):
            return kind
    return None


def rows(kind: type[Config], prefix: str = "") -> Iterator[str]:
    parts = parts_of(kind)
    for name, field in kind.model_fields.items():
        annotation, text = parts.get(name, ("", ""))
        inner = config_in(field.annotation)
        if inner is not None:
            yield from rows(inner, f"{prefix}{name}.")
            continue
        default = "" if field.is_required() else f"`{field.get_default(call_default_factory=True)!r}`"
        shown = annotation.replace("|", "\\|").replace("Annotated[", "").split(", Field(")[0].split(", _of(")[0]
        yield f"| `{prefix}{name}` | `{shown}` | {default} | {text.replace('|', chr(92) + '|')} |"


def table(kind: type[Config], prefix: str = "") -> list[str]:
    return ["| key | type | default | meaning |", "|---|---|---|---|", *rows(kind, prefix)]


def recipe_keys() -> str:
    lines = ["# Recipe keys", "", "Written by `python docs/reference/make.py`.", "", TYPES, ""]
    for name, field in Sections.model_fields.items():
        kind = DataConfig if name == "data" else config_in(field.annotation)
        text = parts_of(Sections)[name][1]
        lines += [f"## `{name}`", ""]
        if kind is not None:
            lines += [" ".join((inspect.getdoc(kind) or "").split()), "", *table(kind, f"{name}."), ""]
        elif name == "model":
            presets = ", ".join(f"`{preset}`" for preset in sorted(MODELS))
            lines += [f"`preset` names a model, {presets}; the other keys depend on its family.", ""]
            for family in sorted(FAMILIES):
                lines += [f"### {family}", "", *table(FAMILIES[family], "model."), ""]
        elif name == "objective":
            lines += [text, ""]
            for term, kind_of_term in TERMS.items():
                about = " ".join((inspect.getdoc(kind_of_term) or "").split())
                lines += [f"### `objective.{term}`", "", about, "", *table(kind_of_term, f"objective.{term}."), ""]
        else:
            lines += [text or f"A value of type `{parts_of(Sections)[name][0]}`.", ""]
    return "\n".join(lines).rstrip() + "\n"


def command_line() -> str:
    main = typer.main.get_command(app)
    assert isinstance(main, click.Group) or hasattr(main, "commands")
    lines = ["# Command line", "", "Written by `python docs/reference/make.py` from the help texts.", ""]
    for name, command in sorted(main.commands.items()):
        lines += [f"## `saccade {name}`", "", *(command.help or "").split("\n"), ""]
        lines += ["| option | meaning | default |", "|---|---|---|"]
        for option in command.params:
            names = ", ".join(f"`{part}`" for part in option.opts) or f"`{option.name}`"
            if option.param_type_name == "argument":
                names = f"`{option.name.upper()}`"
            default = "" if option.default in (None, False, ()) or callable(option.default) else f"`{option.default}`"
            text = " ".join((getattr(option, "help", "") or "").split()).replace("|", "\\|")
            lines.append(f"| {names} | {text} | {default} |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def metrics() -> str:
    tasks = {name: [task for task, kind in sorted(TASKS.items()) if name in kind.metrics] for name in METRICS}
    lines = ["# Metrics", "", "Written by `python docs/reference/make.py` from the table `METRICS`.", ""]
    lines += ["`train.metric` names one of these, for a task that reports it.", ""]
    lines += ["| name | title | better | unit | tasks |", "|---|---|---|---|---|"]
    for name, metric in METRICS.items():
        shown = ", ".join(tasks[name])
        lines.append(f"| `{name}` | {metric.title} | {metric.better} | {metric.unit} | {shown} |")
    return "\n".join(lines) + "\n"


def written_by(name: str) -> Callable[[], str]:
    """Return the function of a module in this folder that writes the page of its name."""
    found: Callable[[], str] = runpy.run_path(str(HERE / f"{name}.py"))[name]
    return found


PAGES = {
    "recipe-keys.md": recipe_keys,
    "cli.md": command_line,
    "http-api.md": written_by("http_api"),
    "python-api.md": written_by("python_api"),
    "metrics.md": metrics,
}

if __name__ == "__main__":
    for name, write in PAGES.items():
        (HERE / name).write_text(write(), encoding="utf-8")
