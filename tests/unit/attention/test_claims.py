"""The flags of parts are true: property tests skip a part whose flags exempt it."""

import pytest
import torch

from saccade.attention import ALIGNS, SCORES, WINDOWS, Tape, build_attention

NARROW = {"location-aware": {"kernel": 3}, "local-m": {"radius": 1}, "local-p": {"radius": 2}, "median": {"radius": 1}}


def weights(kind: str, name: str, order: list[int], draw: int | None = None) -> torch.Tensor:
    """Return the attention of six queries to five permuted keys, (queries, keys) in the original order of the keys."""
    torch.manual_seed(3)
    parts = {"score": "dot", "align": "softmax", "window": "global"} | {kind: name}
    attention = build_attention(
        parts["score"], 4, 4, align=parts["align"], window=parts["window"], **{f"{kind}_options": NARROW.get(name, {})}
    ).train(draw is not None)
    query, keys = torch.randn(1, 6, 4), torch.randn(1, 5, 4)
    torch.manual_seed(draw or 0)
    attention(query, attention.bank(keys[:, order]), tape=(tape := Tape(detach=True)))
    return tape["attention"][0, 0][:, torch.tensor(order).argsort()]


@pytest.mark.parametrize(
    ("kind", "name", "part"),
    [
        (kind, name, part)
        for kind, table in (("score", SCORES), ("align", ALIGNS), ("window", WINDOWS))
        for name, part in table.items()
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_part_is_positional_if_the_order_of_the_keys_changes_what_they_get(kind, name, part):
    straight, turned = weights(kind, name, [0, 1, 2, 3, 4]), weights(kind, name, [3, 0, 4, 2, 1])
    assert torch.allclose(straight, turned, atol=1e-5) == (not part.positional)


@pytest.mark.parametrize("name", ALIGNS)
def test_an_align_spends_all_the_attention_if_it_says_so_and_draws_if_it_says_so(name):
    order = [0, 1, 2, 3, 4]
    first = weights("align", name, order, draw=0)
    assert torch.allclose(first.sum(-1), torch.ones(6)) == ALIGNS[name].sums_to_one
    again = [weights("align", name, order, draw) for draw in range(1, 20)]
    assert any(not torch.equal(first, other) for other in again) == ALIGNS[name].samples


@pytest.mark.parametrize("name", WINDOWS)
def test_weights_sum_to_one_behind_a_window_if_it_says_so(name):
    found = weights("window", name, [0, 1, 2, 3, 4])
    assert torch.allclose(found.sum(-1), torch.ones(6)) == WINDOWS[name].keeps_sum
