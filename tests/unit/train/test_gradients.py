"""A training step gives every parameter a gradient, since DistributedDataParallel requires it.

Frozen parameters are excepted.
"""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from helpers.attention import ENTRIES, Shape, make_case
from helpers.models import CLASSIFIERS, ENGINES, VOCABULARY
from helpers.question_models import asked
from saccade.batch import Batch, EpisodeBatch
from saccade.data.points import padded_points
from saccade.data.question_features import MATCHES, SENTENCE_MATCHES
from saccade.data.sound_feature import padded_frames
from saccade.data.tokenizer import Tokenizer, TokenizerConfig, Tokenizers
from saccade.models import build_captioner, presets_for
from saccade.recipes import RecipeText, shipped
from saccade.runs.folder import build_task
from saccade.runs.recipe import load_recipe, parse_recipe
from saccade.tasks.drawing import Drawing
from saccade.tasks.episodes import Episodes
from saccade.tasks.glimpses import Glimpses
from saccade.tasks.image_generation import ImageGeneration
from saccade.tasks.inputs import IMAGE
from saccade.tasks.ordering import Ordering
from saccade.tasks.questions import Questions
from saccade.tasks.speech import Speech
from saccade.train.hard import HardLoss, learns_by_reward
from saccade.train.objective import ClassLoss, WordLoss, losses_of

CAPTIONERS = presets_for("captioner")

SOURCES, TARGETS = [[4, 5, 6, 2], [7, 2]], [[5, 4], [6, 7, 5]]
MANY_TOKENS = Tokenizer.train(TokenizerConfig(kind="word"), [" ".join("abcdefghijk")], "target")


def batch(*, pictures=False, labels=False):
    """Return two rows of words, with images instead of the source or labels instead of the target."""
    made = Batch.from_lists(SOURCES, labels=[0, 2]) if labels else Batch.from_lists(SOURCES, TARGETS)
    if not pictures:
        return made
    seen = torch.randint(0, 256, (2, 16, 16, 3), dtype=torch.uint8)
    return Batch(target=made.target, target_mask=made.target_mask, pictures=seen)


def episodes(size):
    """Return two episodes of two labeled images, one of each class, and a query of each class."""
    images = torch.randint(0, 256, (2, 4, size, size, 1), dtype=torch.uint8)
    return EpisodeBatch(
        source=torch.tensor([[0, 1], [1, 0]]),
        source_mask=torch.ones(2, 2, dtype=torch.bool),
        support=images[:, :2],
        queries=images[:, 2:],
        labels=torch.tensor([[0, 1], [1, 0]]),
    )


def without_gradient(objective, given, links=None):
    losses_of(objective.train(), replace(given, links=links)).total.backward()
    return [name for name, p in objective.named_parameters() if p.requires_grad and p.grad is None]


def words_of(model):
    return HardLoss(model) if learns_by_reward(model) else WordLoss(model)


@pytest.mark.parametrize("name", [name for name in ENGINES if not name.endswith("captioner")])
def test_every_parameter_of_a_writer_takes_part(name):
    assert without_gradient(WordLoss(ENGINES[name]()), batch()) == []


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_parameter_of_a_classifier_takes_part(name):
    assert without_gradient(ClassLoss(CLASSIFIERS[name]()), batch(labels=True)) == []


POSITIONS = {
    f"transformer-captioner, {positions}": partial(
        build_captioner,
        "transformer-captioner",
        VOCABULARY,
        **CAPTIONERS["transformer-captioner"].tiny | {"positions": positions, "max_length": 8},
    )
    for positions in ("learned", "rotary")
}
LOOKING = POSITIONS | {name: partial(build_captioner, name, VOCABULARY, **CAPTIONERS[name].tiny) for name in CAPTIONERS}


@pytest.mark.parametrize("name", LOOKING)
def test_every_parameter_of_a_captioner_takes_part(name):
    assert without_gradient(words_of(LOOKING[name]()), batch(pictures=True)) == []


def smaller(settings):
    """Return model settings with an eighth of each width, and one head instead of several."""
    sizes = {"width", "embedding", "feed_forward", "output_width"}
    found = {}
    for name, value in settings.items():
        if isinstance(value, dict):
            found[name] = smaller(value)
        elif isinstance(value, int) and name in sizes | {"heads"}:
            found[name] = 1 if name == "heads" else value // 8
        else:
            found[name] = value
    return found


def check_players(task):
    """Each player's parameters take part in its turn, and no others."""
    size = task.recipe.data.image_size
    words, labels = batch(), torch.tensor([0, 2])
    told = (
        {"target": words.target, "target_mask": words.target_mask} if isinstance(task, Drawing) else {"labels": labels}
    )
    given = Batch(pictures=torch.randint(0, 256, (2, size, size, 3), dtype=torch.uint8), **told)
    objective = task.objective()
    for turn in (0, 1):
        objective.take_turn(turn)
        assert without_gradient(objective, given) == []


@pytest.mark.parametrize("name", shipped())
def test_every_parameter_of_a_shipped_recipe_takes_part(name):
    settings = load_recipe(name).dump()
    settings["model"] = smaller(settings["model"])
    settings["embeddings"] = {}  # their file is not there
    sides = Tokenizers(MANY_TOKENS, MANY_TOKENS, ["bad", "good", "so-so"])
    task = build_task(parse_recipe(RecipeText(settings, name)), sides)
    if isinstance(task, Questions):
        count = MATCHES + task.recipe.reader.sentences * SENTENCE_MATCHES
        given = replace(asked(SOURCES, TARGETS, count), spans=torch.tensor([[[1, 2]], [[0, 0]]]))
    elif isinstance(task, Ordering):
        words = batch()
        points = padded_points([[[0.5] * task.recipe.points.dimensions] * 4] * 2, task.recipe.points.dimensions, 2)
        given = Batch(**points, target=words.target, target_mask=words.target_mask)
    elif isinstance(task, Speech):
        words = batch()
        frames = padded_frames([np.ones((9, task.recipe.sound.width), np.float32)] * 2, 2)
        given = Batch(**frames, target=words.target, target_mask=words.target_mask)
    elif isinstance(task, Glimpses):
        seen = torch.randint(0, 256, (2, task.side, task.side, 1), dtype=torch.uint8)
        given = Batch(pictures=seen, labels=torch.tensor([0, 2]))
    elif isinstance(task, ImageGeneration | Drawing):
        check_players(task)
        return
    elif isinstance(task, Episodes):
        given = episodes(task.recipe.data.image_size)
    else:
        given = batch(pictures=task.reads is IMAGE, labels="labels" in task.parts)
        given = replace(given, copies=given.source)  # an output that copies needs them
    columns = 9 if isinstance(task, Speech) else 4
    links = torch.full((2, 4, columns), 1 / columns) if "guided_alignment" in settings["objective"] else None
    assert without_gradient(task.objective(), given, links) == []


# No gradient comes through a hard choice: what learns from it needs the objective of HardLoss.
@pytest.mark.parametrize("parts", [parts for parts in ENTRIES if parts.align != "hard"], ids=str)
def test_every_parameter_of_an_attention_takes_part(parts):
    case = make_case(parts, Shape()).with_gradients()
    case.run().context.square().sum().backward()
    named = case.attention.named_parameters()
    assert [name for name, p in named if p.requires_grad and p.grad is None] == []
