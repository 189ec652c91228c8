"""Captured updates on a CPU that simulates CUDA graphs: same results as eager ones; when capture is refused."""

import logging
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from helpers.cuda_graphs import Capture, capture, play_device
from saccade.batch import Batch
from saccade.data.batch_sampler import Cursor
from saccade.data.loader import TrainBatch
from saccade.models.sagan import SaganConfig
from saccade.train import graphed_update
from saccade.train.adversarial import AdversarialLoss
from saccade.train.graphed_update import Graphs
from saccade.train.objective import Losses, Objective
from saccade.train.schedules import build_optimizer
from saccade.train.terms import Adversarial
from saccade.train.train_config import TrainConfig
from saccade.train.update import Updater

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def device(monkeypatch):
    play_device(monkeypatch)
    monkeypatch.setattr(graphed_update, "recording", capture)
    monkeypatch.setattr(Tensor, "pin_memory", lambda tensor: tensor)
    empty = torch.empty
    monkeypatch.setattr(torch, "empty", lambda *given, pin_memory=False, **options: empty(*given, **options))


def load(*rows, links=None, labels=None):
    batch = Batch.from_lists(list(rows), [[4] * len(row) for row in rows], labels=labels)
    return TrainBatch(replace(batch, links=links), sum(map(len, rows)), np.arange(len(rows)), 0.0, Cursor(0, 1))


def summed(given, share):
    """Return a step's result without weights: the scaled sum of its batch, and the scale."""
    total = given.batch.source.sum().float()
    if given.batch.links is not None:
        total = total + given.batch.links.sum()
    return torch.stack([total * share, share])


def test_a_shape_is_done_then_recorded_then_replayed():
    graphs, calls = Graphs(CPU), []

    def step(given, share):
        calls.append(1)
        return summed(given, share)

    loads = [load([4, 5]), load([6, 7]), load([8, 9]), load([5, 5]), load([4, 5, 6]), load([9, 4])]
    found = [graphs.run(one, step).tolist() for one in loads]
    means = [(4.5, 0.5), (6.5, 0.5), (8.5, 0.5), (5.0, 0.5), (5.0, 1 / 3), (6.5, 0.5)]
    assert found == [pytest.approx(mean) for mean in means]
    assert len(calls) == 3, "the first of each shape, and one capture"
    assert graphs.refused is None
    (made,) = graphs._captured.values()
    assert made.graph.replays == 4


def test_gold_attention_goes_with_its_batch():
    graphs = Graphs(CPU)
    parts = [load([4, 5], links=torch.full((1, 3, 2), float(number))) for number in range(4)]
    assert [graphs.run(one, summed)[0].item() for one in parts] == pytest.approx([(9 + 6 * n) / 2 for n in range(4)])


@pytest.mark.parametrize(
    "others",
    [
        [load([4, 5], [6]), load([4], [5])],
        [load([4, 5]), load([4, 5], links=torch.ones(1, 3, 2))],
        [load([4, 5]), load([4, 5], labels=[1])],
    ],
    ids=["words", "with and without links", "with and without labels"],
)
def test_other_shapes_have_recordings_of_their_own(others):
    graphs = Graphs(CPU)
    for one in others * 2:
        graphs.run(one, summed)
    assert len(graphs._captured) == 2


def test_a_phase_of_the_objective_has_graphs_of_its_own():
    graphs, one = Graphs(CPU), load([4, 5])
    twice = lambda given, share: 2 * summed(given, share)  # noqa: E731
    for _ in range(3):
        assert graphs.run(one, summed, "first")[0].item() == pytest.approx(4.5)
    for _ in range(3):
        assert graphs.run(one, twice, "second")[0].item() == pytest.approx(9.0)
    assert [made.graph.replays for made in graphs._captured.values()] == [2, 2]


def test_more_shapes_than_are_kept_go_without(monkeypatch, caplog):
    monkeypatch.setattr(graphed_update, "MOST", 2)
    caplog.set_level(logging.INFO, "saccade")
    graphs = Graphs(CPU)
    sizes = [1, 2, 3, 4]
    for _ in range(3):
        found = [graphs.run(load([4] * size), summed)[0].item() for size in sizes]
        assert found == pytest.approx([4.0] * 4)
    assert len(graphs._captured) == 2
    assert all(made.graph.replays == 2 for made in graphs._captured.values())
    assert caplog.messages == [
        "no more CUDA graphs: 2 batch shapes are captured, the maximum; other shapes run without"
    ]


@pytest.mark.parametrize(
    ("error", "reason"),
    [(RuntimeError("not while capturing\nhint"), "not while capturing"), (ValueError(), "ValueError")],
)
def test_what_cannot_be_captured_is_tried_once_and_logged(caplog, error, reason):
    graphs, graph_calls = Graphs(CPU), []

    def step(given, share):
        if Capture.now is not None:
            graph_calls.append(1)
            raise error
        return summed(given, share)

    with caplog.at_level(logging.WARNING, "saccade"):
        found = [graphs.run(load([4, 5 + number]), step)[0].item() for number in range(4)]
    assert found == pytest.approx([4.5, 5.0, 5.5, 6.0])
    assert len(graph_calls) == 1
    assert graphs.refused == reason
    assert caplog.messages == [f"CUDA graph capture failed ({reason}); training without"]


class Far(Objective):
    """A loss of a few operations: the squared distance of weights from tokens, summed over tokens."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([[1.0, -2.0], [0.5, 3.0]]))

    def losses(self, batch):
        far = (batch.source.float()[:, :, None, None] / 10 - self.weight).square().sum()
        return Losses(far + (0.0 if batch.links is None else batch.links.sum() * self.weight.sum()), far)


class OneGpu(SimpleNamespace):
    """Fabric for one device."""

    def __init__(self):
        super().__init__(device=CPU, world_size=1, backward=lambda loss: loss.backward())

    def no_backward_sync(self, module, enabled):
        return torch.enable_grad()

    def clip_gradients(self, module, optimizer, max_norm, error_if_nonfinite):
        return nn.utils.clip_grad_norm_(module.parameters(), max_norm)


def trained(kind, norm, recorded):
    module, told = Far(), []
    config = TrainConfig(optimizer=kind, lr=0.1, max_grad_norm=norm, weight_decay=0.01, momentum=0.5)
    optimizer = build_optimizer(module, config, CPU if recorded else None)
    graphs = Graphs(CPU) if recorded else None
    updater = Updater(OneGpu(), module, optimizer, config, told.append, graphs)
    versions = []
    for step in range(1, 7):
        updater.update([load([3 + step, 9], links=torch.full((1, 3, 2), step / 9))], step, 0.1 / step)
        versions.append(module.weight._version)
    updater.finish()
    return module, told, graphs, versions


@pytest.mark.parametrize("norm", [0.5, None])
@pytest.mark.parametrize("kind", ["adam", "adamw", "sgd"])
def test_replayed_updates_are_the_updates(kind, norm):
    plain, wanted, _, _ = trained(kind, norm, recorded=False)
    replayed, found, graphs, versions = trained(kind, norm, recorded=True)
    assert [made.graph.replays for made in graphs._captured.values()] == [5]
    torch.testing.assert_close(replayed.weight, plain.weight)
    for one, other in zip(found, wanted, strict=True):
        assert (one.loss, one.norm) == pytest.approx((other.loss, other.norm))
        assert (one.step, one.rate, one.tokens) == (other.step, other.rate, other.tokens)
    assert len({one.loss for one in found}) == 6
    assert versions == sorted(set(versions)), "each replay counts as a change of the weights"


def test_what_came_of_an_update_is_told_with_the_next_one():
    module, told = Far(), []
    config = TrainConfig(optimizer="sgd", max_grad_norm=None)
    updater = Updater(OneGpu(), module, build_optimizer(module, config, CPU), config, told.append, Graphs(CPU))
    known = []
    for step in (1, 2, 3):
        updater.update([load([4, 5])], step, 0.1)
        known.append([one.step for one in told])
    assert known == [[], [1], [1, 2]]
    updater.finish()
    updater.finish()
    assert [one.step for one in told] == [1, 2, 3]


def test_batches_that_are_added_up_are_not_recorded():
    module, told = Far(), []
    config = TrainConfig(optimizer="sgd", max_grad_norm=None)
    graphs = Graphs(CPU)
    updater = Updater(OneGpu(), module, build_optimizer(module, config, CPU), config, told.append, graphs)
    for step in (1, 2, 3):
        updater.update([load([4, 5]), load([6, 7])], step, 0.1)
        assert [one.step for one in told] == list(range(1, step + 1))
    assert not graphs._captured


def test_numbers_are_read_when_the_device_has_written_them(monkeypatch):
    """Each update records an event after its result, and waits for the event before reading it."""
    said = []

    class Event:
        def __init__(self):
            self.number = said.count("made")
            said.append("made")

        def record(self):
            said.append(f"recorded {self.number}")

        def synchronize(self):
            said.append(f"waited {self.number}")

    monkeypatch.setattr(torch.cuda, "Event", Event)
    module, config = Far(), TrainConfig(optimizer="sgd", max_grad_norm=None)
    learnt = lambda news: said.append(f"told {news.step - 1}")  # noqa: E731
    updater = Updater(OneGpu(), module, build_optimizer(module, config, CPU), config, learnt, Graphs(CPU))
    for step in (1, 2):
        updater.update([load([4, 5])], step, 0.1)
    updater.finish()
    assert said == ["made", "recorded 0", "waited 0", "told 0", "made", "recorded 1", "waited 1", "told 1"]


def test_updates_stand_in_line_with_the_other_work_of_the_device(monkeypatch):
    said = []
    usual = SimpleNamespace(wait_stream=lambda other: said.append("the usual work waits for the update"))
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: usual)
    graphs = Graphs(CPU)
    graphs._stream = SimpleNamespace(wait_stream=lambda other: said.append("the update waits for the usual work"))

    def step(given, share):
        said.append("update")
        return summed(given, share)

    graphs.run(load([4, 5]), step)
    assert said == ["the update waits for the usual work", "update", "the usual work waits for the update"]


def play(turns, recorded, monkeypatch):
    """Let two players take some turns; return their weights, the losses told and the graphs."""

    @contextmanager
    def recording(*given):
        state = torch.get_rng_state()  # as on a device, a capture draws no random numbers
        with capture(*given):
            yield
        torch.set_rng_state(state)

    monkeypatch.setattr(graphed_update, "recording", recording)
    torch.manual_seed(1)
    settings = {"noise": 4, "generator": [6, 4], "discriminator": [4], "attend": [4, 8], "color": False}
    objective, told = AdversarialLoss(SaganConfig.model_validate(settings).image_generator(3), Adversarial(turns=2)), []
    config = TrainConfig(optimizer="adam", lr=1e-3, betas=(0.0, 0.9), max_grad_norm=None)
    optimizer = build_optimizer(objective, config, CPU if recorded else None)
    graphs = Graphs(CPU) if recorded else None
    updater = Updater(OneGpu(), objective.train(), optimizer, config, told.append, graphs)
    torch.manual_seed(2)
    for step in range(1, turns + 1):
        images = torch.full((3, 8, 8, 3), 20 * step, dtype=torch.uint8)
        images[:, step % 8] = 255
        batch = Batch(pictures=images, labels=torch.tensor([0, step % 3, 2]))
        objective.take_turn(step)
        updater.update([TrainBatch(batch, 3, np.arange(3), 0.0, Cursor(0, step))], step, 1e-3)
    updater.finish()
    return objective, told, graphs


def test_replayed_turns_of_two_players_are_the_turns(monkeypatch):
    plain, wanted, _ = play(12, False, monkeypatch)
    replayed, found, graphs = play(12, True, monkeypatch)
    assert graphs.refused is None
    assert sorted(made.graph.replays for made in graphs._captured.values()) == [3, 7], "a graph for each player"
    for name, tensor in plain.state_dict().items():
        if "running" not in name and "batches" not in name:  # the simulated capture cannot undo what it adds to these
            torch.testing.assert_close(replayed.state_dict()[name], tensor, msg=name)
    assert [one.loss for one in found] == pytest.approx([one.loss for one in wanted], rel=1e-4)
    assert plain.numbers()["gamma"] == replayed.numbers()["gamma"]
