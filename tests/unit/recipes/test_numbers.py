"""Every number of a recipe, set too large, raises a ConfigError before anything is allocated."""

import re
import typing

import pytest
import torch
from pydantic import BaseModel

from helpers.recipes import MODEL, recipe_of, untrained, write_folder
from saccade.checksums import LIST
from saccade.data.tokenizer import Tokenizers
from saccade.errors import CheckpointError, ConfigError
from saccade.models import MODELS, RecurrentConfig
from saccade.models.size import build_within, memory_here
from saccade.recipes import RecipeText
from saccade.recipes.schema import Sections
from saccade.runs.folder import build_task, load_task
from saccade.runs.recipe import parse_recipe
from saccade.train.devices import _fabric

PRESETS = MODELS
OWN_BOUNDS = {"kernel": 255, "glimpses": 64, "scales": 6, "size": 256}
FAMILIES = {kind.family: preset for preset, kind in PRESETS.items()}


def numbers(kind, path=()):
    """Yield the paths of all numbers in settings, and whether they are integers."""
    for name, field in kind.model_fields.items():
        for part in parts(field.annotation):
            if isinstance(part, type) and issubclass(part, BaseModel):
                yield from numbers(part, (*path, name))
            elif part in (int, float):
                yield (*path, name), part is int


def parts(annotation):
    """Yield the types inside an annotation."""
    arguments = typing.get_args(annotation)
    return [part for argument in arguments for part in parts(argument)] if arguments else [annotation]


def places():
    found = {(None, path, whole) for path, whole in numbers(Sections)}
    for family, preset in FAMILIES.items():
        found |= {(preset, ("model", *path), whole) for path, whole in numbers(family)}
    return sorted(found, key=str)


def changed(preset, path, value):
    reads = PRESETS[preset].family.reads if preset else "text"
    task, corpus = {"text": ("translation", "english-french"), "image": ("captioning", "scenes"),
                    "point": ("ordering", "salesman"), "sound": ("speech", "spoken"),
                    "episode": ("episodes", "alphabets"), "labeled image": ("glimpses", "digits"),
                    "seed": ("image-generation", "twins"), "caption": ("drawing", "scenes")}[reads]  # fmt: skip
    model = {"preset": preset} if preset else {}
    settings = {"task": task, "data": {"corpus": corpus}, "model": model, "tokenizer": {"shared": True}}
    if preset == "ram":
        settings["objective"] = {"glimpse_reward": {}}
    if preset == "sagan":
        settings |= {"train": {"metric": "kid"}, "data": {"corpus": corpus, "image_size": 32}}
    if "fusion" in path[:-1]:
        settings["search"] = {"fusion": {"model": "lm"}}
    inner = settings
    for name in path[:-1]:
        inner = inner.setdefault(name, [{"kind": "attention"}] if name == "blocks" else {})
        inner = inner[0] if isinstance(inner, list) else inner
    inner[path[-1]] = value
    return RecipeText(settings, "recipe")


def refusal(act):
    """Return the text of a ConfigError, or None; other errors are raised."""
    try:
        act()
    except ConfigError as error:
        return str(error)
    return None


def test_the_walk_finds_the_settings():
    found = {".".join(path) for _, path, _ in places()}
    assert {
        "train.seed",
        "train.betas",
        "tokenizer.size",
        "model.encoder.layers",
        "model.image_encoder.channels",
    } <= found
    assert RecurrentConfig in FAMILIES
    assert len(found) > 75


@pytest.mark.parametrize(
    ("preset", "path", "whole"), places(), ids=lambda value: ".".join(value or ()) if isinstance(value, tuple) else None
)
def test_no_number_is_too_large_for_what_it_is_handed_to(preset, path, whole):
    listed = path[-1] in ("betas", "lengths", "attend") or path[-2:] == ("image_encoder", "channels")
    for value in (
        (2**31, 2**63, 10**30, -(2**63), 10**5000) if whole else (1e7, 1e300, -1e300, float("nan"), float("inf"))
    ):
        if path[-1] == "seed" and value == 2**31:
            continue  # any number of 63 bits is a seed
        with pytest.raises(ConfigError, match=path[-1]):
            parse_recipe(changed(preset, path, [value] * 2 if listed else value))
    for value in (0, -1) if whole else (0.0, -1.0):
        why = refusal(lambda value=value: parse_recipe(changed(preset, path, [value] * 2 if listed else value)))
        assert path[-1] in (why or path[-1])


def test_options_of_parts_have_bounds_too():
    for value in (2**63, 10**5000, -1e300, float("nan")):
        with pytest.raises(ConfigError, match=r"option 'width' must lie between -1,048,576 and 1,048,576"):
            parse_recipe(changed("bahdanau", ("model", "attention", "score_options"), {"width": value}))


@pytest.mark.parametrize("value", ["x", -5, [1], None, {}])
def test_options_that_a_part_cannot_use(value):
    settings = {**MODEL, "attention": {"score": "additive", "score_options": {"width": value}}}
    why = refusal(lambda: untrained("translation", settings)) or ""
    assert "score 'additive'" in why or "width" in why or value is None


def largest():
    """Yield each number of each model family at its upper bound."""
    for family, preset in FAMILIES.items():
        for path, whole in numbers(family):
            deep = path[-1] in ("layers", "decoder_layers")
            if whole and preset != "transformer-captioner" and (not deep or family is RecurrentConfig):
                yield preset, path  # the others are similar, or take seconds to build on the meta device


@pytest.mark.parametrize(
    ("preset", "path"), [*largest()], ids=lambda value: ".".join(value) if isinstance(value, tuple) else value
)
def test_a_model_that_is_larger_than_the_memory_is_refused_before_it_is_made(monkeypatch, preset, path):
    """With each number at its bound, the model is small, or only its sketch (meta tensors) is built."""
    listed, tokenizers = path[-2:] == ("image_encoder", "channels"), untrained("translation", MODEL).tokenizers
    monkeypatch.setattr("saccade.tasks.base.memory_here", lambda: 200 << 20)
    shared = Tokenizers(tokenizers.source, tokenizers.source, ["a", "b"])
    value = 256 if path[-1].endswith(("layers", "residual_from")) else OWN_BOUNDS.get(path[-1], 2**20)
    text = changed(preset, ("model", *path), [value] * 2 if listed else value)
    made = []
    why = refusal(lambda: made.append(build_task(parse_recipe(text), shared))) or ""
    assert not re.search("less than|greater than", why), "it is within its bounds"
    assert all(sum(part.nbytes for part in task.model.parameters()) <= 200 << 20 for task in made)


def test_the_error_says_how_large_and_what_to_do(monkeypatch):
    monkeypatch.setattr("saccade.tasks.base.memory_here", lambda: 10**9)
    with pytest.raises(
        ConfigError, match=r"the model would have [\d,]{13,} parameters, which are [\d,.]+ GB, but this "
    ):
        untrained("translation", {**MODEL, "embedding": 2**20, "encoder": {"width": 4096}})


def test_a_sketch_draws_no_numbers():
    """Building a sketch does not change the initial weights of the model."""
    make = lambda: torch.nn.Linear(3, 3)  # noqa: E731
    torch.manual_seed(5)
    plain = make()
    torch.manual_seed(5)
    assert torch.equal(build_within(make, 10**9, "here are").weight, plain.weight)
    with pytest.raises(ConfigError, match=r"12 parameters, which are 0\.0 GB, but here are 0\.0 GB"):
        build_within(make, 47, "here are")
    assert build_within(make, 48, "here are")


def test_what_cannot_be_sketched_is_made_all_the_same():
    def make():
        made = torch.nn.Linear(2, 2)
        made.first = made.weight.sum().item()  # meta tensors have no values
        return made

    assert build_within(make, 0, "here are").first


def test_the_memory_of_this_machine_has_a_limit():
    assert 2**28 < memory_here() < 2**60


def test_a_folder_whose_recipe_is_far_larger_than_its_weights(tmp_path, monkeypatch):
    folder = write_folder(untrained("translation", MODEL), tmp_path / "model")
    recipe = folder / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace("embedding: 16\n", "embedding: 100000\n"))
    (folder / LIST).unlink()  # else the checksum test would fail first
    with pytest.raises(
        CheckpointError, match=r"recipe\.yaml and .*model\.safetensors do not belong together: the model"
    ):
        load_task(folder)


def test_too_many_processes_are_refused():
    settings = {
        "task": "translation",
        "data": {"corpus": "english-french"},
        "train": {"device": "cpu", "devices": 1000},
    }
    with pytest.raises(
        ConfigError, match=r"train\.devices is 1000, but this machine takes \d+ processes at most\. Lower"
    ):
        _fabric(recipe_of(settings).train, "32-true")
