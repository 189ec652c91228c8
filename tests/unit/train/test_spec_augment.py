"""SpecAugment and speeds: what is masked, how lengths change, and that the same seed repeats everything."""

import numpy as np
import pytest
import torch

from helpers.sounds import tone
from saccade import masks
from saccade.batch import Batch
from saccade.data.log_mel import log_mel
from saccade.data.resample import resample
from saccade.data.sound_config import SoundConfig
from saccade.train.spec_augment import SpecAugment

LENGTHS = torch.tensor([40, 25, 7])


def batch(width=12):
    mask = masks.padding(LENGTHS)
    numbers = torch.from_numpy(np.random.default_rng(0).random((3, 40, width), np.float32))
    return Batch(source=(1 + numbers).masked_fill(~mask[..., None], 0), source_mask=mask)


def changed(given=None, **settings):
    config = SoundConfig(mels=12, augment=settings)
    torch.manual_seed(7)
    return SpecAugment(config)(given or batch())


def test_nothing_is_asked_for_by_default():
    assert not SoundConfig().augment.changes
    for settings in (
        {"speed": [0.9, 1]},
        {"tract": [1, 1.1]},
        {"time_masks": 1},
        {"frequency_masks": 1},
        {"noise": 0.1},
    ):
        assert SoundConfig(augment=settings).augment.changes


@pytest.mark.parametrize("count", [1, 3])
def test_bands_are_hidden_as_wholes_and_up_to_the_width(count):
    widest = 0
    for seed in range(60):
        torch.manual_seed(seed)
        found = SpecAugment(SoundConfig(mels=12, augment={"frequency_masks": count, "frequency_width": 4}))(batch())
        hidden = (found.source == 0) & found.source_mask[..., None]
        for row in range(3):
            part = hidden[row, : LENGTHS[row]]
            assert torch.equal(part, part[:1].expand_as(part))
            widest = max(widest, int(part[0].sum()))
    assert 4 <= widest <= 4 * count


def test_intervals_are_hidden_as_wholes_and_leave_most_of_a_recording():
    most = torch.zeros(3, dtype=torch.long)
    for seed in range(200):
        torch.manual_seed(seed)
        augment = {"time_masks": 1, "time_width": 6, "time_share": 0.3}
        found = SpecAugment(SoundConfig(mels=12, augment=augment))(batch())
        hidden = (found.source == 0).all(2) & found.source_mask
        assert torch.equal(hidden, (found.source == 0).any(2) & found.source_mask)
        for row in hidden:
            places = row.nonzero().flatten().tolist()
            assert places == list(range(places[0], places[0] + len(places))) if places else True
        most = torch.maximum(most, hidden.sum(1))
    assert most.tolist() == [6, 6, 2]


def test_derivatives_are_hidden_with_their_band():
    given = batch(36)
    torch.manual_seed(1)
    config = SoundConfig(mels=12, deltas=True, augment={"frequency_masks": 1, "frequency_width": 6})
    hidden = (SpecAugment(config)(given).source[0] == 0).all(0).view(3, 12)
    assert hidden.any()
    assert torch.equal(hidden[0], hidden[1])
    assert torch.equal(hidden[0], hidden[2])


def test_a_speed_changes_lengths_and_padding_stays_zero():
    found = changed(speed=[0.5, 2.0])
    sizes = found.source_mask.sum(1)
    assert ((sizes >= (LENGTHS / 2).floor()) & (sizes <= LENGTHS * 2)).all()
    assert not torch.equal(sizes, LENGTHS)
    assert not found.source[~found.source_mask].any()
    assert (found.source[found.source_mask] >= 0.99).all()


def test_speed_one_changes_nothing():
    augment = SpecAugment(SoundConfig(mels=12, augment={"speed": [0.5, 1.0]}))
    augment.settings = augment.settings.model_copy(update={"speed": (1.0, 1.0 + 1e-7)})
    given = batch()
    found = augment(given)
    torch.testing.assert_close(found.source, given.source, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("speed", [0.8, 1.25])
def test_another_speed_is_what_resampling_makes(speed):
    """The spectrogram of a recording that is played faster, but for the length of the window."""
    config = SoundConfig(mels=40, normalize="none")
    samples = tone(900, 0.6, noise=0.02)
    frames = torch.from_numpy(log_mel(samples, 16000, config))[None]
    augment = SpecAugment(
        config.model_copy(update={"augment": config.augment.model_copy(update={"speed": (speed, speed)})})
    )
    found = augment(Batch(source=frames, source_mask=torch.ones(frames.shape[:2], dtype=torch.bool)))
    played = resample(torch.from_numpy(samples), round(16000 * speed), 16000).numpy()
    expected = log_mel(played, 16000, config)
    assert int(found.source_mask.sum()) == len(expected)
    middle = slice(5, len(expected) - 5)
    own = found.source[0].numpy()[: len(expected)][middle]
    assert np.abs(own.argmax(1) - expected[middle].argmax(1)).max() <= 1
    assert abs(own.max(1).mean() - expected[middle].max(1).mean()) < 1.0


@pytest.mark.parametrize("tract", [0.8, 1.25])
def test_another_vocal_tract_moves_frequencies_and_keeps_times(tract):
    config = SoundConfig(mels=40, normalize="none")
    given = torch.from_numpy(log_mel(tone(1000, 0.4), 16000, config))[None]
    moved = SpecAugment(SoundConfig(mels=40, augment={"tract": [tract, tract]}))(
        Batch(source=given, source_mask=torch.ones(given.shape[:2], dtype=torch.bool))
    )
    assert moved.source_mask.sum() == given.shape[1]
    expected = log_mel(tone(1000 * tract, 0.4), 16000, config)[10]
    assert abs(int(moved.source[0, 10].argmax()) - int(expected.argmax())) <= 1
    assert int(moved.source[0, 10].argmax()) != int(given[0, 10].argmax())


def test_an_impossible_vocal_tract_is_reported():
    with pytest.raises(ValueError, match=r"tract is \[1.2, 0.9\], but must be \[least, most\]"):
        SoundConfig(augment={"tract": [1.2, 0.9]})


def test_gold_attention_moves_with_the_frames():
    """What is loud in the frames of a word stays loud in the frames that the word is linked to."""
    given = batch()
    source, links = torch.zeros_like(given.source), torch.zeros(3, 2, 40)
    for row, (first, last) in enumerate([(8, 16), (10, 15), (1, 4)]):
        source[row, first:last] = 1.0
        links[row, 0, first:last] = 1 / (last - first)
    given = Batch(source=source, source_mask=given.source_mask, links=links)
    for speed in (0.8, 1.25):
        found = changed(given, speed=[speed, speed])
        assert found.links.shape == (3, 2, found.source.shape[1])
        torch.testing.assert_close(found.links.sum(2), torch.tensor([[1.0, 0.0]] * 3))
        loud = found.source.amax(2)
        for row in range(3):
            linked = found.links[row, 0] > 0
            assert loud[row][linked].min() >= 0.45  # interpolated at its edges
            assert not loud[row][~linked].gt(0.55).any()


def test_a_channel_adds_one_smooth_curve_to_all_frames_of_a_recording():
    added = changed(channel=0.5).source - batch().source
    real = batch().source_mask
    for row in range(3):
        curves = added[row, real[row]]
        torch.testing.assert_close(curves, curves[:1].expand_as(curves))
        basis = torch.stack([torch.cos(k * torch.pi * torch.arange(12) / 12) for k in (1, 2, 3)], 1)
        left = curves[0] - basis @ torch.linalg.lstsq(basis, curves[0, :, None]).solution[:, 0]
        assert left.abs().max() < 1e-4
    assert not torch.allclose(added[0, 0], added[1, 0])


@pytest.mark.parametrize("normalize", ["none", "recording", "level"])
def test_a_floor_hides_what_is_quiet_and_the_level_is_normalized_again(normalize):
    config = SoundConfig(mels=12, normalize=normalize, augment={"floor": 0.9})
    given = batch()
    torch.manual_seed(3)
    found = SpecAugment(config)(given)
    assert not found.source[~found.source_mask].any()
    for row in range(3):
        before, after = given.source[row][given.source_mask[row]], found.source[row][found.source_mask[row]]
        bands = [(before, after)] if normalize != "recording" else list(zip(before.T, after.T, strict=True))
        for one, other in bands:
            if normalize != "none" and other.std() > 0.2:
                assert other.mean().abs() < 1e-4
                assert other.std(correction=0) == pytest.approx(1, abs=1e-3)
            order = one.flatten().argsort()
            assert (other.flatten()[order].diff() >= -1e-5).all()  # the loud stay in order
        if normalize == "none":
            assert after.max() == before.max()
            assert after.min() > before.min()


def test_noise_has_the_deviation_asked_for():
    given = Batch(source=torch.zeros(4, 200, 12), source_mask=torch.ones(4, 200, dtype=torch.bool))
    assert changed(given, noise=0.3).source.std() == pytest.approx(0.3, rel=0.05)


def test_the_same_seed_repeats_everything():
    settings = {"speed": [0.8, 1.2], "time_masks": 2, "frequency_masks": 2, "noise": 0.1}
    one, two = changed(**settings), changed(**settings)
    assert torch.equal(one.source, two.source)
    assert torch.equal(one.source_mask, two.source_mask)
    torch.manual_seed(8)
    assert not torch.equal(SpecAugment(SoundConfig(mels=12, augment=settings))(batch()).source, one.source)
