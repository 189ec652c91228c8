"""Sequence-to-sequence models learn to reverse their input, and attention points at the word being written.

One without attention also learns to copy; a model that reverses must attend to the right position, so others need not.
Nor need presets that differ from `luong-general` in their score or fixed window alone.
"""

from typing import Any

import pytest

from helpers.learning import FIRST, batches, copy, pointing_accuracy, reverse, teach, token_accuracy
from saccade.models import build_seq2seq, presets_for

WORDS = 16


def small(width: int = 48, **decoder: Any) -> dict[str, Any]:
    return {
        "embedding": 32,
        "encoder": {"width": width, "layers": 1, "dropout": 0.0},
        "decoder": {"width": width, "layers": 1, "dropout": 0.0, **decoder},
        "init": START,
    }


# the papers' initializations are for days of training, and small embeddings for rare words
START = {"kind": "default", "embedding": 1.0}
TRANSFORMER = {"width": 48, "feed_forward": 96, "layers": 2, "dropout": 0.0, "attention": {"heads": 4}}
SIZES: dict[str, dict[str, Any]] = {
    "sutskever": small(96),
    "cho": small(96, output_width=48),
    "bahdanau": small(output_width=32),
    **{name: small() for name in presets_for("sequence_to_sequence") if name.startswith("luong-")},
    "gnmt": {
        "embedding": 32,
        "encoder": {"width": 48, "layers": 2, "dropout": 0.0},
        "decoder": {"width": 48, "layers": 2, "dropout": 0.0},
        "init": START,
    },
    "hred": small(96) | {"turns": {"width": 96}},
    "hred-attention": small() | {"turns": {"width": 16}},
    "self-attentive-rnn": {"embedding": 32, "width": 48, "decoder": {"width": 48}, "init": START},
    "lstmn": {"embedding": 32, "width": 48, "init": START},
    "lstmn-shallow": {"embedding": 32, "width": 48, "init": START},
    "transformer-base": TRANSFORMER,
    "transformer-big": TRANSFORMER | {"norm": "pre", "positions": "rotary"},
}


LIKE_GENERAL = ("luong-dot", "luong-concat", "luong-local-m")


@pytest.mark.parametrize(
    ("name", "task"),
    [(name, reverse) for name in presets_for("sequence_to_sequence") if name not in LIKE_GENERAL] + [("cho", copy)],
)
def test_learns(name, task):
    model = build_seq2seq(name, FIRST + WORDS, FIRST + WORDS, **SIZES[name])
    # one fixed vector holds a few words; with attention length is no matter
    lengths = (3, 6) if model.source_sites else (2, 4)
    teach(model, batches(task, 1, 32, WORDS, lengths), steps=450, lr=8e-3, goal=0.005)
    unseen = next(batches(task, 2, 200, WORDS, lengths))
    assert token_accuracy(model, unseen) >= 0.99
    if model.source_sites and task is reverse:
        assert pointing_accuracy(model, unseen) > 0.95
