"""Public names: each is in `__all__`, exists and has a docstring."""

import importlib
import inspect
import pkgutil

import pytest

import saccade

MODULES = ["saccade"] + [
    module.name
    for module in pkgutil.walk_packages(saccade.__path__, "saccade.")
    if not any(part.startswith("_") for part in module.name.split("."))
]


@pytest.fixture(params=MODULES)
def module(request):
    if ".fused" in request.param:
        pytest.importorskip("triton", reason="needs Triton")
    return importlib.import_module(request.param)


def test_every_module_says_what_it_is_for_and_what_it_offers(module):
    assert module.__doc__
    only_a_docstring = len(inspect.getsource(module).strip().splitlines()) == 1
    assert only_a_docstring or isinstance(module.__all__, list)


def test_what_is_listed_is_there_and_listed_once(module):
    names = getattr(module, "__all__", [])
    assert len(names) == len(set(names))
    missing = [name for name in names if not hasattr(module, name)]
    assert not missing, f"{module.__name__} lists {missing} but has none"


def test_what_is_offered_is_explained(module):
    for name in getattr(module, "__all__", []):
        thing = getattr(module, name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            text = vars(thing).get("__doc__") if inspect.isclass(thing) else thing.__doc__
            assert text, f"{module.__name__}.{name} has no docstring"
            assert not text.startswith(f"{name}("), f"{module.__name__}.{name} has the docstring dataclasses make up"
