"""The exponential moving average of weights, compared with a manual computation."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from saccade.errors import CheckpointError
from saccade.train.ema import Ema


def weight(value):
    layer = nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        layer.weight.fill_(value)
    return layer


def test_the_mean_starts_fast_and_then_keeps_its_decay():
    layer = weight(1.0)
    ema = Ema(layer, 0.25)
    with torch.no_grad():
        layer.weight.fill_(3.0)
    ema.update()  # decay min(0.25, 2/11)
    first = 1.0 * 2 / 11 + 3.0 * 9 / 11
    with ema.applied():
        assert layer.weight.item() == pytest.approx(first)
    with torch.no_grad():
        layer.weight.fill_(5.0)
    ema.update()  # decay min(0.25, 3/12)
    ema.update()  # 4/13 is more than 0.25
    second = 0.25 * first + 0.75 * 5.0
    with ema.applied():
        assert layer.weight.item() == pytest.approx(0.25 * second + 0.75 * 5.0)
    assert layer.weight.item() == 5.0


def test_the_weights_come_back_after_an_error():
    layer = weight(1.0)
    ema = Ema(layer, 0.9)
    with torch.no_grad():
        layer.weight.fill_(2.0)
    with pytest.raises(KeyError), ema.applied():
        {}["an error"]
    assert layer.weight.item() == 2.0
    with ema.applied():
        assert layer.weight.item() == 1.0


def test_a_restored_mean_goes_on_the_same_way():
    layer = nn.Linear(2, 2)
    ema = Ema(layer, 0.5)
    for _ in range(3):
        with torch.no_grad():
            layer.weight.add_(1.0)
        ema.update()
    kept = {name: tensor.clone() for name, tensor in ema.tensors().items()}
    again = Ema(layer, 0.5)
    again.restore(kept, "FILE")
    ema.update()
    again.update()
    assert again.steps == ema.steps == 4
    assert_close(again.tensors(), ema.tensors(), rtol=0, atol=0)


@pytest.mark.parametrize(
    "change", [{"weight": None}, {"weight": torch.ones(1)}, {"other": torch.ones(1)}, {"steps": None}]
)
def test_the_mean_of_another_model_is_refused(change):
    ema = Ema(nn.Linear(2, 2), 0.5)
    kept = {name: tensor for name, tensor in (ema.tensors() | change).items() if tensor is not None}
    with pytest.raises(CheckpointError, match="FILE belongs to another model: its running mean has other weights"):
        ema.restore(kept, "FILE")


def test_what_norms_have_counted_belongs_to_the_mean():
    norm = nn.BatchNorm1d(2)
    ema = Ema(norm, 0.5)
    norm(torch.tensor([[1.0, 2.0], [3.0, 8.0]]))
    counted = norm.running_mean.clone()
    ema.update()  # decay min(0.5, 2/11)
    with ema.applied():
        assert_close(norm.running_mean, counted * 9 / 11)
    assert_close(norm.running_mean, counted)
    assert norm.num_batches_tracked == 1
