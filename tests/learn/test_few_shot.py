"""Few-shot learners classify characters of alphabets they have not seen, and attend to the right ones."""

from functools import cache

import numpy as np
import pytest
import torch

from saccade.attention import Tape
from saccade.batch import EpisodeBatch
from saccade.corpora import alphabets
from saccade.data.episode_feature import padded_episodes
from saccade.data.episodes import EpisodePlan, Setting, members_of
from saccade.models import build_head, configure
from saccade.train.episode_loss import EpisodeLoss

WAYS, QUERIES = 3, 6
IMAGE = {"filters": 12, "layers": 3, "width": 24}
SNAIL = {
    "image": IMAGE,
    "attention": {"score": "cosine", "score_options": {"sharpness": 10.0}},
    "alike": True,
    "itself": False,
    "blocks": [
        {"kind": "attention", "keys": 24, "values": 12},
        {"kind": "convolutions", "filters": 8},
        {"kind": "attention", "keys": 24, "values": 12},
    ],
}


@cache
def drawn(split, size):
    """Images at half their size, and the plan of their episodes."""
    examples = list(alphabets(split, size))
    pixels = np.stack([example.image.load()[..., :1] for example in examples])
    half = pixels.reshape(size, 14, 2, 14, 2, 1).mean((2, 4)).astype(np.uint8)
    labels = [example.label for example in examples]
    return half, EpisodePlan(members_of(labels, np.ones(size, np.bool_), rotated=False), WAYS, QUERIES, 1, split)


def batch(split, size, numbers, shots):
    pixels, plan = drawn(split, size)
    episodes = [plan.draw(number, Setting(WAYS, shots)) for number in numbers]
    return EpisodeBatch(**padded_episodes(pixels, episodes, len(episodes)))


@pytest.mark.parametrize(("name", "settings"), [("snail", SNAIL), ("matching-network", {"image": IMAGE})])
def test_it_learns_to_compare(name, settings):
    torch.manual_seed(1)
    model = build_head("few_shot", configure(name, **settings), WAYS, 2 * WAYS + 1)
    loss, optimizer = EpisodeLoss(model, QUERIES), torch.optim.Adam(model.parameters(), 3e-3)
    for step in range(160):
        losses = loss.losses(batch("train", 4000, range(16 * step, 16 * step + 16), 1 + step % 2))
        optimizer.zero_grad()
        (losses.total / (16 * QUERIES)).backward()
        optimizer.step()
    tape, unseen = Tape(detach=True), batch("test", 800, range(100), 1)
    with torch.no_grad():
        found = model.eval()(unseen, tape=tape).argmax(-1)
    accuracy = float((found == unseen.labels).float().mean())
    same = unseen.source[:, None] == unseen.labels[..., None]
    site = next(iter(tape))
    own = float((tape[site][:, 0, -QUERIES:, :WAYS] * same).sum(-1).mean())
    assert accuracy > 0.65, "a third is chance"
    assert own > 0.6
