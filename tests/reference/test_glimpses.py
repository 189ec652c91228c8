"""The retina as loops over pixels, one glimpse after the other as in the paper, and REINFORCE as sums of gradients."""

import math

import pytest
import torch
import torch.nn.functional as F

from saccade.attention import Tape
from saccade.batch import NO_LABEL, Batch
from saccade.errors import ConfigError, ShapeError
from saccade.layers.retina import GlimpseEncoder, GlimpseGrid, Retina
from saccade.models import MODELS
from saccade.models.build import configure
from saccade.train.glimpse_loss import GlimpseLoss
from saccade.train.terms import GlimpseReward


def model(classes=3, **changes):
    torch.manual_seed(5)
    return configure("ram", **(MODELS["ram"].tiny | changes)).image_classifier(classes)


def images(count=4, side=12):
    return torch.rand(count, 1, side, side)


def slow_patch(image, scale, size, x, y):
    """Average 2^scale × 2^scale pixels around each point of the patch; every point lies between whole pixels."""
    step, side = 1 << scale, image.shape[-1]
    made = torch.zeros(size, size)
    for row in range(size):
        for column in range(size):
            left, top = x + (column - size / 2) * step, y + (row - size / 2) * step
            values = [
                image[0, r, c] if 0 <= r < side and 0 <= c < side else torch.tensor(0.0)
                for r in range(int(top), int(top) + step)
                for c in range(int(left), int(left) + step)
            ]
            made[row, column] = sum(values) / step**2
    return made


@pytest.mark.parametrize("place", [(0.0, 0.0), (-1.0, 1.0), (0.5, -0.5)])
def test_patches_are_averages_around_a_place(place):
    retina, image = Retina(4, 2), images(1)
    x, y = retina.centers(torch.tensor(place), (12, 12)).tolist()
    found = retina(retina.pyramid(image), torch.tensor([place]), (12, 12))
    assert (x, y) == (6 + 4 * place[0], 6 + 4 * place[1])
    for scale in range(2):
        torch.testing.assert_close(found[0, scale, 0], slow_patch(image[0], scale, 4, x, y), msg=f"scale {scale}")


def test_boxes_are_what_patches_cover_and_places_their_inverse():
    retina = Retina(4, 2)
    boxes = retina.boxes(torch.tensor([-1.0, 0.0]), (12, 16))
    torch.testing.assert_close(boxes, torch.tensor([[0, 4 / 12, 4 / 16, 8 / 12], [-2 / 16, 2 / 12, 6 / 16, 10 / 12]]))
    fine = boxes[0]
    torch.testing.assert_close(retina.places((fine[:2] + fine[2:]) / 2, (12, 16)), torch.tensor([-1.0, 0.0]))


def test_a_grid_of_glimpses_is_one_glimpse_at_each_place():
    encoder = GlimpseEncoder(Retina(4, 2), 3, 5, 6)
    grid, pictures = GlimpseGrid(encoder), torch.rand(2, 3, 9, 12)
    found = grid(pictures)
    assert found.shape == (2, 6, 2, 3)
    for row, column in ((0, 0), (1, 2)):
        place = encoder.retina.places(torch.tensor([[(column + 0.5) / 3, (row + 0.5) / 2]] * 2), (9, 12))
        patches = encoder.retina(encoder.retina.pyramid(pictures), place, (9, 12))
        torch.testing.assert_close(found[:, :, row, column], encoder(patches, place))
    assert grid(torch.rand(1, 3, 2, 2)).shape == (1, 6, 1, 1), "smaller than the finest patch"


def test_an_image_smaller_than_the_finest_patch_is_seen_from_its_center():
    retina = Retina(8, 1)
    torch.testing.assert_close(retina.centers(torch.tensor([1.0, -1.0]), (4, 6)), torch.tensor([3.0, 2.0]))
    patch = retina(retina.pyramid(torch.ones(1, 1, 4, 6)), torch.tensor([[1.0, -1.0]]), (4, 6))[0, 0, 0]
    assert (patch[2:6, 1:7] == 1).all()
    assert patch.sum() == 24
    assert Retina(1, 1).size == 1, "the smallest"


def test_an_image_that_does_not_fit_the_coarsest_scale_is_padded():
    retina, image = Retina(2, 3), images(1, side=10)
    assert [tuple(part.shape[2:]) for part in retina.pyramid(image)] == [(12, 12), (6, 6), (3, 3)]


def test_glimpses_follow_the_equations():
    one, seen = model().eval(), images()
    looks = one.look(seen)
    hidden, place = torch.zeros(4, 7), torch.zeros(4, 2)
    encoder, core = one.encoder, one.core
    for t in range(3):
        if t:
            place = torch.tanh(one.locator(hidden)).clamp(-1, 1)
        patches = encoder.retina(encoder.retina.pyramid(seen), place, (12, 12))
        what, where = F.relu(encoder.what(patches.flatten(1))), F.relu(encoder.where(place))
        glimpse = F.relu(encoder.what_out(what) + encoder.where_out(where))
        hidden = F.relu(
            F.linear(glimpse, core.weight_ih, core.bias_ih) + F.linear(hidden, core.weight_hh, core.bias_hh)
        )
        torch.testing.assert_close(looks.places[:, t], place)
        torch.testing.assert_close(looks.logits[:, t], one.last(hidden))


def gradients(reward, labels, sigma=0.2, finest=0):
    one = model(core="lstm", width=40, finest=finest).train()
    one.deviation.fill_(sigma)
    loss = GlimpseLoss(one, GlimpseReward(**reward))
    torch.manual_seed(2)
    batch = Batch(pictures=(255 - 255 * images()).byte().movedim(1, -1), labels=torch.tensor(labels))
    made = loss.losses(batch)
    made.total.backward()
    return one, batch, made


@pytest.mark.parametrize("finest", [0, 5])
def test_the_locator_learns_by_reinforce_alone(finest):
    labels = [0, 2, 1, NO_LABEL]
    one, batch, _ = gradients({"weight": 0.5, "baseline": 3.0, "deviation": (0.2, 0.2)}, labels, finest=finest)
    learned = [parameter.grad.clone() for parameter in one.locator.parameters()]
    again = model(core="lstm", width=40, finest=finest).train()
    again.deviation.fill_(0.2)
    torch.manual_seed(2)
    torch.rand(4, 1, 12, 12)  # the images, from the same generator
    tape = Tape(only=())
    again(batch, tape=tape)
    parts = {name.removeprefix("glimpses."): part for name, part in tape.tensors.items()}
    total = torch.zeros(())
    for row, label in enumerate(labels[:3]):
        shares = parts["logits"][row].softmax(-1)[:, label].detach()
        for t in (1, 2):
            reward = shares[t:].mean()
            if finest:
                seen = again.finest(parts["patches"][row, t, 0].flatten())
                reward = reward + seen.softmax(-1)[label].detach()
            total = total - (reward - parts["baseline"][row, t - 1].detach()) * parts["log_policy"][row, t - 1]
            total = total + 2.0 * 3.0 * (reward - parts["baseline"][row, t - 1]) ** 2
    total = 0.5 * total
    total.backward()
    torch.testing.assert_close(one.baseline.weight.grad, again.baseline.weight.grad, msg="the baseline is fitted")
    for found, parameter in zip(learned, again.locator.parameters(), strict=True):
        torch.testing.assert_close(found, parameter.grad)
        assert found.abs().sum() > 0


def test_the_reward_reaches_the_core_and_the_baseline_s_error_does_not():
    found = {}
    for name, reward in {
        "plain": {"weight": 0.5},
        "more": {"weight": 1.0},
        "fitted": {"baseline": 9.0, "weight": 0.5},
    }.items():
        found[name] = gradients(reward, [0, 1, 2, 0])[0].core.weight_hh.grad
    torch.testing.assert_close(found["fitted"], found["plain"])
    assert not torch.allclose(found["more"], found["plain"])


def test_the_finest_patch_alone_is_classified():
    one = model(finest=5).eval()
    looks = one.look(images())
    torch.testing.assert_close(looks.finest[1, 2], one.finest(looks.patches[1, 2, 0].flatten()))
    _, _, made = gradients({"weight": 0.0}, [0, 1, 2, 0], finest=5)
    _, _, without = gradients({"weight": 0.0}, [0, 1, 2, 0])
    assert float(made.total.detach()) > float(without.total.detach()) + 2, "its loss is added"


def test_without_the_term_the_locator_gets_no_gradient():
    one, _, made = gradients({"weight": 0.0}, [0, 1, 2, 0])
    assert all(parameter.grad is None for parameter in one.locator.parameters())
    assert one.encoder.what.weight.grad.abs().sum() > 0
    assert math.isfinite(float(made.plain))


def test_the_paper_rewards_the_last_glimpse():
    one = model()
    loss = GlimpseLoss(one, GlimpseReward(reward="correct", every_glimpse=False))
    logits = torch.zeros(2, 3, 3)
    logits[0, 2, 1] = logits[1, 1, 2] = 1.0
    assert loss._returns(logits, torch.tensor([1, 2])).tolist() == [[1, 1], [0, 0]]
    assert float(loss._classes(logits, torch.tensor([1, 2]))) == pytest.approx(
        float(F.cross_entropy(logits[:, 2], torch.tensor([1, 2]), reduction="sum"))
    )


def test_the_deviation_falls_and_then_stays():
    loss = GlimpseLoss(model(), GlimpseReward(deviation=(0.4, 0.1), until=0.5))
    seen = []
    for share in (0.0, 0.25, 0.5, 1.0):
        loss.progress(share)
        seen.append(round(float(loss.model.deviation), 4))
    assert seen == [0.4, 0.25, 0.1, 0.1]


def test_an_lstm_and_other_policies_look():
    seen = images()
    assert model(core="lstm").look(seen).logits.shape == (4, 3, 3)
    assert not model(policy="center").eval().look(seen).places.any()
    chance = model(policy="random").eval()
    places = chance.look(seen).places
    assert places[:, 1:].abs().min() > 0
    torch.testing.assert_close(chance.look(seen[1:2]).places, places[1:2], msg="depends on the image alone")


def test_what_is_no_retina_or_image_is_refused():
    with pytest.raises(ConfigError, match="a retina of 0 × 0"):
        Retina(0, 1)
    with pytest.raises(ShapeError, match="this encoder reads"):
        GlimpseEncoder(Retina(4, 2))(torch.zeros(1, 1, 1, 4, 4), torch.zeros(1, 2))
    with pytest.raises(ShapeError, match=r"reads bytes of \(B, H, W, 1\)"):
        model()(Batch(pictures=torch.zeros(1, 8, 8, 3, dtype=torch.uint8)))
