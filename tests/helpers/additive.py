"""A few steps of additive attention over the same keys and values, by any implementation, with all gradients."""

from dataclasses import dataclass

import torch
from torch import Tensor

from helpers.naive_kernels import naive_attend
from saccade.kernels.additive.collect import attend, collect
from saccade.kernels.additive.parts import Parts, Way


@dataclass(frozen=True)
class Steps:
    """Sizes, as in `Parts`; every step but the first sees the weights so far in its features."""

    sentences: int = 2
    heads: int = 1
    length: int = 1
    size: int = 5
    width: int = 7
    depth: int = 6
    features: int = 0
    steps: int = 1
    masked: bool = False
    scale: float = 1.0

    def inputs(self, dtype: torch.dtype, device: str = "cpu") -> dict[str, Tensor]:
        chance = torch.Generator().manual_seed(0)

        def some(*shape: int) -> Tensor:
            return torch.randn(*shape, generator=chance).to(device, dtype)

        lead = (self.sentences, self.heads)
        made = {
            "keys": self.scale * some(*lead, self.size, self.width),
            "values": some(*lead, self.size, self.depth),
            "v": some(self.heads, self.width),
            "queries": self.scale * some(self.steps, *lead, self.length, self.width),
            "to_contexts": some(self.steps, *lead, self.length, self.depth),
            "to_weights": some(self.steps, *lead, self.length, self.size),
        }
        if self.features:
            made["features"] = some(*lead, self.length, self.size, self.features)
            made["matrix"] = some(self.heads, self.width, self.features) * self.features**-0.5
        return made

    def mask(self, device: str = "cpu") -> Tensor | None:
        """A mask of some keys; the last sentence has none."""
        if not self.masked:
            return None
        mask = torch.rand(self.sentences, 1, 1, self.size, generator=torch.Generator().manual_seed(1)) < 0.6
        mask[:, ..., 0] = True
        mask[-1] = False
        return mask.to(device)

    def run(self, way: Way | None, inputs: dict[str, Tensor], *, collected: bool = True) -> dict[str, Tensor]:
        """Contexts, weights and gradients; `way` None is the definition, left to autograd."""
        own = {name: x.clone().requires_grad_() for name, x in inputs.items() if not name.startswith("to_")}
        keys, values, v, matrix = own["keys"], own["values"], own["v"], own.get("matrix")
        mask = self.mask(str(keys.device))
        if way is not None and collected:
            keys, values = collect(way, keys, values, v, matrix)
        features, contexts, weights = own.get("features"), [], []
        for query in own["queries"].unbind():
            if way is None:
                context, weight = naive_attend(query, keys, values, v, mask, features, matrix)
            else:
                context, weight = attend(way, Parts(query, keys, values, v, mask, features, matrix))
            contexts.append(context)
            weights.append(weight)
            if features is not None:
                features = features + weight.unsqueeze(-1)
        found = {"context": torch.stack(contexts), "weights": torch.stack(weights)}
        torch.autograd.backward(list(found.values()), [inputs["to_contexts"], inputs["to_weights"]])
        gradients = {f"gradient of {name}": x.grad for name, x in own.items()}
        return {name: x.detach() for name, x in (found | gradients).items()}


def error(found: Tensor, truth: Tensor) -> float:
    """The relative error over all numbers."""
    return ((found.double() - truth.double()).norm() / truth.double().norm().clamp_min(1e-9)).item()


def assert_as_exact(steps: Steps, way: Way, dtype: torch.dtype, device: str = "cpu", **options: bool) -> None:
    """Assert that errors against float64 are at most twice those of the definition in the same precision."""
    inputs = steps.inputs(dtype, device)
    truth = steps.run(None, {name: x.double() for name, x in inputs.items()})
    usual, ours = steps.run(None, inputs), steps.run(way, inputs, **options)
    floor = torch.finfo(dtype).eps * (8 if dtype == torch.float32 else 1)  # another order of rounding is as exact
    for name, exact in truth.items():
        assert ours[name].dtype == dtype
        assert ours[name].isfinite().all(), name
        found, allowed = error(ours[name], exact), max(2 * error(usual[name], exact), floor)
        assert found <= allowed, f"{name}: {found:.2e}, but {allowed:.2e} allowed"
