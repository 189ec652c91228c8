"""The result of the cross-entropy, and checks of its arguments."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from saccade.errors import ConfigError, DataError, ShapeError

__all__ = ["Losses", "check_chunk", "check_classes", "check_layer", "refuse_second_derivatives", "saved_gradients"]


class Losses(NamedTuple):
    """Sums over the rows whose expected class is not padding; divide by their number for a mean."""

    smoothed: Tensor
    """() the training loss: cross-entropy against the smoothed target."""
    plain: Tensor
    """() the negative log-likelihood of the expected classes, for perplexity; carries no gradient."""
    correct: Tensor
    """() int64: the number of rows where no class has a larger logit than the expected one; ties count."""


def check_classes(rows: int, classes: int, expected: Tensor, smoothing: float, padding: int) -> None:
    """Raise an error if expected classes, smoothing or padding do not fit `rows` rows of `classes` logits."""
    if expected.shape != (rows,) or expected.dtype != torch.int64:
        raise ShapeError(
            f"expected is {tuple(expected.shape)} of {expected.dtype}, but {rows} rows need ({rows},) of torch.int64. "
            "Pass one class per row."
        )
    if not 0 <= smoothing < 1:
        raise ConfigError(f"smoothing is {smoothing}, but the share taken from the right class is in [0, 1).")
    if not 0 <= padding < classes:
        raise ConfigError(f"padding is {padding}, but must be one of the {classes} classes, 0 to {classes - 1}.")
    # on an accelerator, reading the values forces a sync; there a wrong class gives NaN or an error of the lookup
    if rows and expected.device.type == "cpu" and not torch.compiler.is_compiling():
        low, high = (int(end) for end in expected.aminmax())
        if low < 0 or high >= classes:
            wrong = low if low < 0 else high
            raise DataError(f"a row expects class {wrong}, but there are {classes}. Check the vocabulary's size.")


def check_layer(hidden: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    """Raise ShapeError if the shapes of an output layer do not match."""
    if hidden.dim() != 2 or weight.dim() != 2 or hidden.shape[1] != weight.shape[1]:
        raise ShapeError(
            f"hidden is {tuple(hidden.shape)} and weight {tuple(weight.shape)}, but they must be (N, D) and (V, D) "
            "with the same D. Select the real positions first: hidden[mask]."
        )
    if bias is not None and bias.shape != weight.shape[:1]:
        raise ShapeError(f"bias is {tuple(bias.shape)}, but weight has {weight.shape[0]} classes. Pass one per class.")


def check_chunk(chunk: int) -> None:
    """Raise ConfigError if a chunk has less than one row."""
    if chunk < 1:
        raise ConfigError(f"chunk is {chunk}, but at least 1 row must be done at a time.")


def refuse_second_derivatives() -> None:
    """Raise ConfigError under create_graph=True, where autograd would treat these gradients as constants.

    Autograd runs a backward pass in grad mode only to differentiate it again.
    """
    if torch.is_grad_enabled() and not torch.compiler.is_compiling():
        raise ConfigError(
            "create_graph=True asks to differentiate the gradient of this cross-entropy, but it is made without a "
            "graph. Use torch.nn.functional.cross_entropy for second derivatives."
        )


def saved_gradients(ctx: Any, grad: Tensor) -> list[Tensor | None]:
    """Return the gradients that a forward pass has saved, times that of the loss, in the types of its inputs."""
    refuse_second_derivatives()
    made = zip(ctx.saved_tensors, ctx.dtypes, strict=True)
    return [None if saved is None else (saved * grad).to(dtype) for saved, dtype in made]
