"""Parameter initialization of the papers."""

from __future__ import annotations

from collections.abc import Iterator

from torch import nn

from saccade.attention.aligns import AlphaEntmax
from saccade.attention.scores import Additive, Cosine
from saccade.layers.cells import LSTM, Cell

__all__ = ["init_embeddings", "init_forget_gates", "init_groundhog", "init_uniform"]


def init_uniform(model: nn.Module, scale: float) -> None:
    """Draw every parameter from U(-scale, scale): Sutskever with 0.08, Luong with 0.1."""
    for _, parameter in _free_parameters(model):
        nn.init.uniform_(parameter, -scale, scale)


def init_embeddings(model: nn.Module, scale: float) -> None:
    """Draw the model's own embeddings from N(0, scale²); those of its submodules may be pretrained and are kept."""
    for part in model.children():
        if isinstance(part, nn.Embedding):
            nn.init.normal_(part.weight, std=scale)


def init_forget_gates(model: nn.Module, bias: float) -> None:
    """Set the forget-gate bias of every LSTM, which torch stores as a sum of two.

    Paper: Jozefowicz et al. 2015, "An empirical exploration of recurrent network architectures", recommends 1.
    """
    for module in model.modules():
        if isinstance(module, LSTM):
            gate = slice(module.width, 2 * module.width)  # after the input gate
            nn.init.constant_(module.rnn.bias_ih_l0.data[gate], bias)  # type: ignore[index]
            nn.init.zeros_(module.rnn.bias_hh_l0.data[gate])  # type: ignore[index]


def init_groundhog(model: nn.Module) -> None:
    """Initialize like Cho and Bahdanau: recurrent matrices orthogonal, biases 0, the rest N(0, 0.01²).

    The score's matrices are N(0, 0.001²) and its v is 0. So attention starts exactly uniform, and the score's
    matrices get no gradient in the first update, as in the paper.
    """
    for name, parameter in _free_parameters(model):
        if "bias" in name:
            nn.init.zeros_(parameter)
        else:
            nn.init.normal_(parameter, std=0.01)
    for module in model.modules():
        if isinstance(module, Cell):
            recurrent = next(p for name, p in module.named_parameters() if "weight_hh" in name)
            for gate in recurrent.data.split(module.width):
                nn.init.orthogonal_(gate)
        if isinstance(module, Additive):
            nn.init.normal_(module.query_weight, std=0.001)
            if module.key_weight.requires_grad:
                nn.init.normal_(module.key_weight, std=0.001)
            nn.init.zeros_(module.v)


def _free_parameters(model: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    """Yield trainable parameters with their local names, except those whose initial value is an option."""
    for module in model.modules():
        for name, parameter in module.named_parameters(recurse=False):
            if parameter.requires_grad and not isinstance(module, AlphaEntmax | Cosine):
                yield name, parameter
