"""Networks that encode images as grids of regions: their shapes, their equations, and their weights from files."""

import math
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch.testing import assert_close

from saccade.errors import ConfigError, DataError, ShapeError
from saccade.layers.grids import VGG, SmallGrid, flatten, load_weights, normalise, sinusoidal_places


def test_vgg_has_the_published_names_and_shapes_and_the_map_before_the_last_pooling():
    """Convolutions have these indices in torchvision's `features`; the last pooling, at 30 or 36, is left out."""
    published = {
        16: ([0, 2, 5, 7, 10, 12, 14, 17, 19, 21, 24, 26, 28], [4, 9, 16, 23]),
        19: ([0, 2, 5, 7, 10, 12, 14, 16, 19, 21, 23, 25, 28, 30, 32, 34], [4, 9, 18, 27]),
    }
    for depth, (convolutions, poolings) in published.items():
        with torch.device("meta"):
            grid = VGG(depth)
        before = 3
        for place in convolutions:
            after = 64 << min(sum(pooling < place for pooling in poolings), 3)
            assert grid.features[place].weight.shape == (after, before, 3, 3)
            assert isinstance(grid.features[place + 1], torch.nn.ReLU)
            before = after
        assert all(isinstance(grid.features[place], torch.nn.MaxPool2d) for place in poolings)
        assert len(grid.features) == 2 * len(convolutions) + len(poolings)
        assert grid(torch.zeros(1, 3, 64, 48, device="meta")).shape == (1, 512, 4, 3)
        assert grid(torch.zeros(1, 3, 16, 16, device="meta")).shape == (1, 512, 1, 1)
        with pytest.raises(ShapeError, match="at least 16"):
            grid(torch.zeros(1, 3, 15, 16, device="meta"))
    with pytest.raises(ConfigError, match="depth 11"):
        VGG(11)


def test_a_small_grid_knows_where_things_are():
    grid = SmallGrid(8, (8,)).eval()
    seen = grid(torch.zeros(1, 3, 16, 16))
    assert seen.shape == (1, 8, 4, 4)
    assert not torch.allclose(seen[0, :, 1, 1], seen[0, :, 2, 2])


def test_bytes_are_normalised_as_networks_expect():
    pictures = torch.randint(0, 256, (2, 5, 4, 3), dtype=torch.uint8)
    found = normalise(pictures)
    mean, std = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])  # of ImageNet
    assert found.shape == (2, 3, 5, 4)
    expected = (pictures[1, 2, 3] / 255 - mean) / std
    assert_close(found[1, :, 2, 3], expected, atol=1e-5, rtol=0)
    with pytest.raises(ShapeError, match=r"bytes of \(batch, height, width, 3\), but are torch.uint8 of \(3, 8, 8\)"):
        normalise(torch.zeros(3, 8, 8, dtype=torch.uint8))
    with pytest.raises(ShapeError, match=r"but are torch.float32 of \(1, 8, 8, 3\)"):
        normalise(torch.zeros(1, 8, 8, 3))


def test_the_first_stage_halves_twice_and_the_others_once():
    assert SmallGrid(8, (4, 6))(torch.randn(2, 3, 48, 32)).shape == (2, 8, 6, 4)
    assert SmallGrid(8, (4, 6, 8))(torch.randn(2, 3, 64, 64)).shape == (2, 8, 4, 4)


def test_a_small_grid_is_its_convolutions_over_the_picture_and_its_places():
    grid = SmallGrid(6, (4, 8)).double().eval()
    for part in grid.modules():
        if isinstance(part, torch.nn.BatchNorm2d):
            torch.nn.init.normal_(part.running_mean)
            torch.nn.init.uniform_(part.running_var, 0.5, 2)
    pictures = torch.randn(2, 3, 16, 24, dtype=torch.float64)
    place = torch.zeros(2, 2, 16, 24, dtype=torch.float64)
    for y in range(16):
        for x in range(24):
            place[:, 0, y, x], place[:, 1, y, x] = 2 * x / 23 - 1, 2 * y / 15 - 1
    seen, tensors = torch.cat([pictures, place], 1), grid.state_dict()

    def stage(x, name, stride, padding):
        number = int(name.rsplit(".", 1)[-1])
        norm = name[: -len(str(number))] + str(number + 1)
        x = F.conv2d(x, tensors[f"{name}.weight"], stride=stride, padding=padding)
        moments = tensors[f"{norm}.running_mean"], tensors[f"{norm}.running_var"]
        return F.relu(F.batch_norm(x, *moments, tensors[f"{norm}.weight"], tensors[f"{norm}.bias"]))

    seen = stage(stage(seen, "layers.0", 2, 1), "layers.3", 2, 1)
    assert tensors["layers.0.weight"].shape == (2, 5, 4, 4)
    for residual in ("layers.6.layers.0", "layers.7.layers.0"):
        seen = seen + stage(seen, residual, 1, 1)
    seen = stage(seen, "layers.8", 2, 0)
    seen = seen + stage(seen, "layers.11.layers.0", 1, 1)
    assert_close(grid(pictures), stage(seen, "layers.12", 1, 0))


def test_a_grid_of_one_channel_and_the_usual_one_can_be_built():
    assert SmallGrid(8, (1,)).layers[0].out_channels == 1
    usual = SmallGrid()
    assert usual.width == 128
    assert [part.out_channels for part in usual.layers if isinstance(part, torch.nn.Conv2d)] == [24, 48, 96, 128]


def test_annotations_are_in_reading_order():
    found = flatten(torch.arange(12.0).view(1, 2, 2, 3))
    assert found.tolist() == [[[0, 6], [1, 7], [2, 8], [3, 9], [4, 10], [5, 11]]]


@pytest.mark.parametrize("width", [16, 10, 7])
def test_places_are_sines_and_cosines_of_the_row_and_of_the_column(width):
    half = width // 2
    steps = [10_000 ** (-2 * number / half) for number in range((half + 1) // 2)]

    def code(place):
        numbers = [math.sin(place * step) for step in steps] + [math.cos(place * step) for step in steps]
        return (numbers + [0.0] * half)[:half]

    wanted = [code(row) + code(column) + [0.0] * (width - 2 * half) for row in range(3) for column in range(4)]
    assert_close(sinusoidal_places(3, 4, width, torch.zeros(1)), torch.tensor(wanted))
    assert sinusoidal_places(2, 2, width, torch.zeros(1, dtype=torch.float64)).dtype == torch.float64


def test_places_tell_rows_from_columns():
    places = sinusoidal_places(3, 4, 16, torch.zeros(1)).view(3, 4, 16)
    assert_close(places[1, :, :8], places[1, :1, :8].expand(4, -1))
    assert_close(places[:, 2, 8:], places[:1, 2, 8:].expand(3, -1))
    assert len({tuple(place) for place in places.flatten(0, 1).tolist()}) == 12


@pytest.mark.parametrize(
    ("pictures", "match"),
    [
        (torch.zeros(1, 1, 8, 8), "3, H, W"),
        (torch.zeros(3, 8, 8), "3, H, W"),
        (torch.zeros(1, 3, 8, 8).int(), "floating"),
        (torch.zeros(0, 3, 8, 8), "no axis of 0"),
    ],
)
def test_what_is_no_picture_is_refused(pictures, match):
    with torch.device("meta"):
        grids = SmallGrid(), VGG()
    for grid in grids:
        with pytest.raises(ShapeError, match=match):
            grid(pictures)


def test_published_weights_are_taken_and_the_classifier_left_out(tmp_path):
    torch.manual_seed(0)
    published, grid = SmallGrid(8, (4,)), SmallGrid(8, (4,))
    tensors = {**published.state_dict(), "classifier.0.weight": torch.zeros(2, 2)}
    torch.save(tensors, tmp_path / "weights.pth")
    save_file(tensors, tmp_path / "weights.safetensors")
    for name in ("weights.pth", "weights.safetensors"):
        grid = SmallGrid(8, (4,))
        load_weights(grid, tmp_path / name)
        assert all(torch.equal(grid.state_dict()[key], value) for key, value in published.state_dict().items())


class Evil:
    def __reduce__(self):
        return print, ("run",)


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (Evil(), "objects other than tensors"),
        ([1], "no dict of tensors"),
        ({"layers.0.weight": torch.zeros(1)}, "lacks layers.1.weight"),
        ({**SmallGrid(8, (4,)).state_dict(), "layers.0.weight": torch.zeros(1)}, "has layers.0.weight as"),
    ],
)
def test_weights_that_do_not_fit_are_refused(tmp_path, capsys, content, match):
    torch.save(content, tmp_path / "weights.pth")
    with pytest.raises(DataError, match=match):
        load_weights(SmallGrid(8, (4,)), tmp_path / "weights.pth")
    assert "run" not in capsys.readouterr().out


def test_weights_that_are_not_there_or_something_else_are_told(tmp_path):
    with pytest.raises(DataError, match="do not exist"):
        load_weights(SmallGrid(8, (4,)), tmp_path / "none.pth")
    torch.save({"a": Path("anything that is no tensor")}, tmp_path / "other.pth")
    with pytest.raises(DataError, match="objects other than tensors") as told:
        load_weights(SmallGrid(8, (4,)), tmp_path / "other.pth")
    assert "weights_only" not in str(told.value)
