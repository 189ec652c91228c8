"""Untrained captioners."""

from saccade.api import Model
from saccade.data.tokenizer import Tokenizer, TokenizerConfig, Tokenizers
from saccade.recipes import RecipeText
from saccade.runs.folder import build_task
from saccade.runs.recipe import parse_recipe

GRID = {"kind": "small", "width": 8, "channels": [6], "frozen": False}
CAPTIONERS = {
    "show-attend-tell-soft": {"embedding": 8, "decoder": {"width": 12, "dropout": 0.0}},
    "show-attend-tell-hard": {"embedding": 8, "decoder": {"width": 12, "dropout": 0.0}},
    "transformer-captioner": {"width": 8, "feed_forward": 12, "layers": 2, "attention": {"heads": 2}},
}
CAPTIONS = ["a red square left of a green one", "two blue rings", "white above a blue square"]


def captioner(preset="show-attend-tell-soft", kind="word", size=32, **more):
    """An untrained model for images of this size; the grid has a fourth of it in each direction."""
    settings = {
        "task": "captioning",
        "data": {"train": ["unused.jsonl", "pictures"], "image_size": size},
        "tokenizer": {"kind": kind},
        "model": {"preset": preset, "image_encoder": GRID, **CAPTIONERS[preset], **more},
    }
    tokenizer = Tokenizer.train(TokenizerConfig(kind=kind), CAPTIONS, "target")
    return Model(build_task(parse_recipe(RecipeText(settings, "test")), Tokenizers(None, tokenizer)))


def captioning_task(preset="show-attend-tell-soft", **data):
    """An untrained task for images of 16 × 16 pixels, in 4 × 4 regions."""
    small = {
        "show-attend-tell-soft": {"embedding": 8, "decoder": {"width": 12, "dropout": 0.0}},
        "transformer-captioner": {"width": 8, "feed_forward": 12, "layers": 1, "attention": {"heads": 2}},
    }
    settings = {
        "task": "captioning",
        "data": {"corpus": "scenes", "image_size": 16, **data},
        "tokenizer": {"kind": "word"},
        "model": {"preset": preset, "image_encoder": {"kind": "small", "width": 8, "channels": [6]}, **small[preset]},
    }
    words = Tokenizer.train(TokenizerConfig(kind="word"), ["a red square", "two blue digits"], "target")
    return build_task(parse_recipe(RecipeText(settings, "test")), Tokenizers(None, words))
