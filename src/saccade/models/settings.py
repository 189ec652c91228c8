"""Settings that several model families share."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field
from torch import nn

from saccade.attention import Attention, MultiHead, build_attention
from saccade.config import Config
from saccade.layers.init import init_groundhog, init_uniform

__all__ = ["AttentionConfig", "DecoderConfig", "EncoderConfig", "InitConfig"]


class AttentionConfig(Config):
    """An attention by the names of its parts."""

    score: str = "additive"
    align: str = "softmax"
    window: str = "global"
    heads: int | None = Field(None, ge=1)
    """Several heads project queries, keys and values; None is one head without projections."""
    dropout: float = Field(0.0, ge=0, lt=1)
    """On the weights."""
    score_options: dict[str, Any] = Field(default_factory=dict)
    align_options: dict[str, Any] = Field(default_factory=dict)
    window_options: dict[str, Any] = Field(default_factory=dict)

    def build(
        self, query_width: int, key_width: int, value_width: int | None = None, **more: Any
    ) -> Attention | MultiHead:
        """The attention for queries, keys and values of these widths."""
        return build_attention(
            self.score,
            query_width,
            key_width,
            value_width,
            align=self.align,
            window=self.window,
            heads=self.heads,
            dropout=self.dropout,
            score_options=self.score_options,
            align_options=self.align_options,
            window_options=self.window_options,
            **more,
        )


class EncoderConfig(Config):
    """A recurrent encoder."""

    cell: str = "gru"
    width: int = Field(256, ge=1)
    """Of each direction."""
    layers: int = Field(1, ge=1)
    bidirectional: bool = False
    reverse: bool = False
    """Read the source from its end."""
    residual: bool = False
    dropout: float = Field(0.0, ge=0, lt=1)
    """On the embeddings and between layers."""


class DecoderConfig(Config):
    """A recurrent decoder."""

    cell: str = "gru"
    width: int = Field(256, ge=1)
    layers: int = Field(1, ge=1)
    residual: bool = False
    dropout: float = Field(0.0, ge=0, lt=1)
    """On the embeddings, between layers and on the read-out."""
    start: str = "mean"
    """Where the first state comes from: zero, final, project, first-backward, mean or last."""
    attend_from: Literal["previous", "current"] = "previous"
    """The state that asks: the one before this word was read, or the one after."""
    input_feeding: bool = False
    """Whether the read-out of a step enters the next."""
    summary: bool = False
    """Whether one fixed vector, the encoder's last state, enters every step and the read-out."""
    output: str = "tanh"
    """The read-out: linear, tanh or maxout."""
    output_width: int | None = Field(None, ge=1)
    read_state: Literal["previous", "current"] = "current"
    """The state the read-out reads."""
    read_word: bool = False
    """Whether the read-out reads the last word too."""


class InitConfig(Config):
    """How parameters start."""

    kind: Literal["default", "uniform", "groundhog"] = "default"
    scale: float = Field(0.1, gt=0)
    """For uniform: U(-scale, scale)."""

    def apply(self, model: nn.Module) -> None:
        """Set a model's parameters."""
        if self.kind == "uniform":
            init_uniform(model, self.scale)
        elif self.kind == "groundhog":
            init_groundhog(model)
