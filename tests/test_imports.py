"""Imports go one way. This table says which; a new module needs a line in it."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "saccade"

FIRST = {
    "_cpu",
    "_distribution",
    "batch",
    "checksums",
    "config",
    "deprecated",
    "errors",
    "files",
    "masks",
    "outside",
    "pytree",
    "threads",
}
CORE = FIRST | {"kernels", "attention", "layers", "models", "runtime", "search"}
MAY_IMPORT = {
    "": {
        "_cpu",
        "_distribution",
        "api",
        "deprecated",
        "experiments",
        "prediction",
        "train.log",
    },  # saccade/__init__.py, all but the first two when they are first used
    "__main__": {"cli"},
    "_cpu": set(),
    "_distribution": set(),
    "deprecated": set(),
    "errors": set(),
    "checksums": {"errors", "files"},
    "files": {"errors"},
    "threads": set(),
    "pytree": FIRST,
    "masks": FIRST,
    "batch": FIRST,
    "config": {"errors"},
    "outside": {"errors"},
    "kernels": FIRST,
    "attention": FIRST | {"kernels"},
    "layers": FIRST | {"kernels", "attention"},
    "models": FIRST | {"kernels", "attention", "layers"},
    "runtime": FIRST | {"kernels", "attention", "layers", "models"},
    "search": FIRST | {"attention.steering", "attention.tape", "kernels", "models.base", "runtime"},
    "data": FIRST,
    "corpora": FIRST | {"data"},
    "metrics": {"errors", "data.example", "data.text"},
    "look": {"deprecated", "errors", "files"},
    "train": FIRST
    | {
        "kernels",
        "attention.aligns.hard",
        "attention.losses",
        "attention.tape",
        "models.base",
        "data",
        "metrics.table",
    },
    "recipes": {"config", "corpora", "data", "errors", "files", "models", "search.search_config", "train.train_config"},
    "prediction": {"batch", "deprecated", "errors", "look"},
    "trace": {"config", "data.pictures", "errors", "files", "look", "prediction"},
    "tasks": CORE | {"corpora", "data", "metrics", "look", "train", "recipes", "prediction", "trace"},
    "pretrained": set(),
    "runs": CORE | {"", "corpora", "data", "metrics", "look", "train", "recipes", "prediction", "pretrained", "tasks"},
    "api": CORE
    | {"data", "prediction", "pretrained", "runs", "tasks", "trace", "train.checkpoint", "train.accelerators"},
    "bulk": FIRST | {"api", "data", "prediction", "pretrained", "runs", "tasks", "train"},
    "experiments": {"api", "data", "errors", "outside", "recipes", "runs", "search.options", "tasks", "train"},
    "serve": {
        "",
        "attention",
        "config",
        "errors",
        "files",
        "api",
        "look",
        "prediction",
        "pretrained",
        "search.search_config",
        "tasks",
        "threads",
        "trace",
    },
    "cli": CORE
    | {
        "",
        "corpora",
        "data",
        "api",
        "bulk",
        "look",
        "prediction",
        "pretrained",
        "recipes",
        "runs",
        "serve",
        "tasks",
        "trace",
        "train",
    },
}
"""Module or package -> what it may import beside itself, with all that lies inside."""


def modules():
    """Every module of saccade by its dotted name below the package, such as "attention.tape"."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def imports_of(source, package=""):
    """What a module imports from saccade, as dotted names below it; `package` resolves relative imports."""
    for statement in ast.walk(ast.parse(source)):
        if isinstance(statement, ast.Import):
            names = [alias.name for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom):
            origin = statement.module or ""
            if statement.level:
                above = ["saccade", *package.split(".")] if package else ["saccade"]
                origin = ".".join([*above[: len(above) - statement.level + 1], *([origin] if origin else [])])
            inside = [f"{origin}.{alias.name}" for alias in statement.names]
            names = [name if name.removeprefix("saccade.") in MODULES else origin for name in inside]
        else:
            continue
        yield from (name.removeprefix("saccade").removeprefix(".") for name in names if name.split(".")[0] == "saccade")


def allowed(importer, imported):
    """Whether the table lets one module import another."""
    home = importer.split(".")[0]
    own = imported == home or imported.startswith(f"{home}.")
    return own or any(imported == name or imported.startswith(f"{name}.") for name in MAY_IMPORT[home])


@pytest.mark.parametrize("module", MODULES, ids=lambda name: name or "saccade")
def test_imports_go_one_way(module):
    home = module.split(".")[0]
    assert home in MAY_IMPORT, f"say in MAY_IMPORT what {home} may import"
    path = MODULES[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    wrong = sorted({name for name in imports_of(path.read_text(), package) if not allowed(module, name)})
    assert not wrong, f"saccade.{module} must not import {', '.join(wrong)}"


def test_the_table_only_points_down():
    """A module that may be imported may not import its importer."""
    for home, targets in MAY_IMPORT.items():
        for target in targets - FIRST:
            below = target.split(".")[0]
            assert home not in {name.split(".")[0] for name in MAY_IMPORT[below]}, f"{home} and {below}"


@pytest.mark.parametrize(
    ("line", "package", "found"),
    [
        ("import torch", "", []),
        ("import saccade.models", "", ["models"]),
        ("import saccade", "", [""]),
        ("from saccade import masks, pytree", "", ["masks", "pytree"]),
        ("from saccade.attention import Tape", "", ["attention"]),
        ("from saccade.attention import tape", "", ["attention.tape"]),
        ("from saccade.attention.tape import Tape", "", ["attention.tape"]),
        ("from .tape import Tape", "attention", ["attention.tape"]),
        ("from ..errors import ShapeError", "attention", ["errors"]),
        (
            "def late():\n    from saccade.models import base",
            "",
            ["models.base" if "models.base" in MODULES else "models"],
        ),
        ("from saccades import other", "", []),
    ],
)
def test_every_form_of_import_is_seen(line, package, found):
    assert list(imports_of(line, package)) == found


@pytest.mark.parametrize(
    ("importer", "imported", "may"),
    [
        ("attention.core", "kernels.dot", True),
        ("attention.core", "attention.tape", True),
        ("attention.core", "layers", False),
        ("kernels.dot.sdpa", "attention", False),
        ("search.beam", "models.base", True),
        ("search.beam", "models", False),
        ("search.beam", "models.transformer", False),
        ("search.beam", "attention", False),
        ("search.beam", "attention.tape", True),
        ("masks", "errors", True),
        ("masks", "kernels", False),
    ],
)
def test_the_table_is_read_as_meant(importer, imported, may):
    assert allowed(importer, imported) == may
