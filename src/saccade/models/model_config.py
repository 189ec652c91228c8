"""Settings shared by several model families."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator
from torch import nn

from saccade.attention import ALIGNS, SCORES, WINDOWS, Attention, MultiHead, Project, build_attention
from saccade.config import Config, Depth, Positive, Share, Width
from saccade.errors import unknown_name
from saccade.kernels.dropout import Dropout
from saccade.layers.cells import CELLS
from saccade.layers.encoder import RecurrentEncoder
from saccade.layers.init import init_embeddings, init_forget_gates, init_groundhog, init_uniform
from saccade.layers.initial_state import INITIAL_STATES
from saccade.layers.readout import READOUTS
from saccade.outside import is_outside

__all__ = ["AttentionConfig", "CellName", "DecoderConfig", "EncoderConfig", "InitConfig", "SelfAttentionConfig"]


def _of(kind: str, table: Collection[str]) -> AfterValidator:
    """Return a validator for names in `table`; as part of the config it reports errors together with all others."""

    def known(name: str) -> str:
        if name not in table and not (kind in ("score", "align", "window") and is_outside(name)):
            raise ValueError(str(unknown_name(kind, name, table)))
        return name

    return AfterValidator(known)


def _moderate(options: dict[str, Any]) -> dict[str, Any]:
    """Check that numbers in the options of a component are within the bounds of all settings."""
    for name, value in options.items():
        if isinstance(value, int | float) and not -(2**20) <= value <= 2**20:
            raise ValueError(f"option {name!r} must lie between -1,048,576 and 1,048,576")
    return options


Options = Annotated[dict[str, Any], AfterValidator(_moderate)]
CellName = Annotated[str, _of("cell", CELLS)]
ResidualFrom = Annotated[int, Field(ge=2, le=256)]


class AttentionConfig(Config):
    """An attention, given by the names of its components."""

    score: Annotated[str, _of("score", SCORES)] = "additive"
    align: Annotated[str, _of("align", ALIGNS)] = "softmax"
    window: Annotated[str, _of("window", WINDOWS)] = "global"
    heads: Width | None = None
    """Number of heads, which project queries, keys and values; None is one head without projections."""
    dropout: Share = 0.0
    """Dropout of the attention weights."""
    score_options: Options = Field(default_factory=dict)
    align_options: Options = Field(default_factory=dict)
    window_options: Options = Field(default_factory=dict)

    def build(
        self, query_width: int, key_width: int, value_width: int | None = None, **more: Any
    ) -> Attention | MultiHead:
        """Build the attention for queries, keys and values of these widths."""
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


class SelfAttentionConfig(AttentionConfig):
    """Self-attention."""

    project: Project | None = None
    """What is projected: none (raw vectors, and no output layer), qk (the projected keys are summed) or qkv. Default:
    qkv with heads, none without."""
    itself: bool = True
    """Whether a word may attend to itself."""

    def build(
        self, query_width: int, key_width: int, value_width: int | None = None, **more: Any
    ) -> Attention | MultiHead:
        return super().build(query_width, key_width, value_width, project=self.project, itself=self.itself, **more)

    def between(self) -> AttentionConfig:
        """Return the settings of the same attention to another sequence, without those of self-attention only."""
        return AttentionConfig(**self.model_dump(exclude=OF_SELF_ATTENTION))


OF_SELF_ATTENTION = set(SelfAttentionConfig.model_fields) - set(AttentionConfig.model_fields)


class EncoderConfig(Config):
    """A recurrent encoder."""

    cell: CellName = "gru"
    width: Width = 256
    """Width of each direction."""
    layers: Depth = 1
    bidirectional: bool = False
    bidirectional_layers: Depth | None = None
    """Number of bidirectional layers, counted from the lowest, if `bidirectional`; default: all."""
    reverse: bool = False
    """Whether to read the source in reverse order."""
    residual: bool = False
    """Whether a layer's input is added to its output."""
    residual_from: ResidualFrom = 2
    """The lowest layer with a residual connection, counted from 1."""
    dropout: Share = 0.0
    """Dropout of the embeddings and between layers."""
    locked_dropout: bool = False
    """Whether all words of a sentence share one dropout mask (variational dropout)."""

    @model_validator(mode="after")
    def _check_residual(self) -> EncoderConfig:
        both = self.bidirectional_layers if self.bidirectional else None
        if self.residual and both is not None and both < self.layers and self.residual_from < both + 2:
            raise ValueError(
                f"layer {both + 1} reads both directions and writes one, so its input cannot be added to its output: "
                f"set residual_from to {both + 2} or more, or leave bidirectional_layers out"
            )
        return self

    def drops(self) -> Dropout:
        """Build the dropout of the embeddings."""
        return Dropout(self.dropout, locked=self.locked_dropout)

    def build(self, input_width: int) -> RecurrentEncoder:
        """Build the encoder for embeddings of this width."""
        return RecurrentEncoder(
            self.cell,
            input_width,
            self.width,
            self.layers,
            bidirectional=self.bidirectional,
            bidirectional_layers=self.bidirectional_layers,
            reverse=self.reverse,
            residual=self.residual,
            residual_from=self.residual_from,
            dropout=self.drops(),
        )


class DecoderConfig(Config):
    """A recurrent decoder."""

    cell: CellName = "gru"
    width: Width = 256
    layers: Depth = 1
    residual: bool = False
    """Whether a layer's input is added to its output."""
    residual_from: ResidualFrom = 2
    """The lowest layer with a residual connection, counted from 1."""
    dropout: Share = 0.0
    """Dropout of the embeddings, between layers and of the read-out."""
    locked_dropout: bool = False
    """Whether all words of a sentence share one dropout mask (variational dropout)."""
    initial_state: Annotated[str, _of("initial state", INITIAL_STATES)] = "mean"
    """How the initial state is computed: zero, final, project, first-backward, mean, mean-deep or last."""
    attend_from: Literal["previous", "current"] = "previous"
    """The state used as query: the one before this word is read, or the one after."""
    query_layer: Literal["top", "bottom"] = "top"
    """The layer whose state is the query."""
    context_layers: Literal["bottom", "all"] = "bottom"
    """The layers that read the context, or the fixed context, in addition to their input."""
    input_feeding: bool = False
    """Whether the read-out of a step is an input of the next step."""
    feed: Literal["readout", "context"] = "readout"
    """What input feeding feeds: the read-out (Luong), or the context alone (Listen, Attend and Spell)."""
    fixed_context: bool = False
    """Whether every step and the read-out read a fixed context vector, the encoder's last state."""
    output: Annotated[str, _of("output layer", READOUTS)] = "tanh"
    """The read-out: linear, tanh, maxout or sum."""
    output_width: Width | None = None
    read_state: Literal["previous", "current"] = "current"
    """The state the read-out reads."""
    read_word: bool = False
    """Whether the read-out reads the last word too."""
    read_context: bool = True
    """Whether the read-out reads the context, or the fixed context, too."""
    gated: bool = False
    """Whether to multiply the context by a scalar gate, computed from the query state."""

    @model_validator(mode="after")
    def _check_feed(self) -> DecoderConfig:
        if self.feed == "context" and not (self.input_feeding and self.attend_from == "current"):
            raise ValueError("feed 'context' needs input_feeding and attend_from 'current': set both")
        return self

    @model_validator(mode="after")
    def _check_sum(self) -> DecoderConfig:
        if self.output == "sum" and (not self.read_word or self.output_width is not None):
            raise ValueError(
                "output 'sum' adds to the last word's embedding: set read_word, and leave output_width out"
            )
        return self

    def drops(self) -> Dropout:
        """Build the dropout of the embeddings and the read-out."""
        return Dropout(self.dropout, locked=self.locked_dropout)

    def check_attending(self) -> None:
        """Raise ValueError for settings that a decoder with attention does not support."""
        if self.fixed_context:
            raise ValueError("decoder.fixed_context is for models without attention: set attention to null")
        if self.read_state == "previous" and self.attend_from == "current":
            raise ValueError("decoder.read_state 'previous' needs attend_from 'previous': the context is newer")
        if self.attend_from == "current":
            early = {
                "query_layer 'bottom'": self.query_layer == "bottom",
                "context_layers 'all'": self.context_layers == "all",
                "read_context false": not self.read_context,
            }
            if used := [name for name, is_used in early.items() if is_used]:
                raise ValueError(
                    f"decoder.{used[0]} needs attend_from 'previous': the current state is known after all layers"
                )


class InitConfig(Config):
    """Initialization of the parameters."""

    kind: Literal["default", "uniform", "groundhog"] = "default"
    scale: Positive = 0.1
    """For uniform: U(-scale, scale)."""
    embedding: Positive = 0.1
    """For default: word embeddings from N(0, embedding²). PyTorch's default of 1 remains as noise in the embeddings
    of rare words. With 1, Penn Treebank perplexity was 118.4, against 102.1 with 0.1; Multi30k was 3.9 BLEU worse.
    For few words, each seen thousands of times, 1 learns faster."""
    forget_bias: Annotated[float, Field(ge=-1e6, le=1e6)] | None = None
    """Bias of the LSTM forget gates; with 1 the cell starts by remembering. Default: the bias that `kind` sets."""

    def apply(self, model: nn.Module) -> None:
        """Initialize a model's parameters."""
        if self.kind == "uniform":
            init_uniform(model, self.scale)
        elif self.kind == "groundhog":
            init_groundhog(model)
        elif self.embedding != 1.0:  # the default of nn.Embedding
            init_embeddings(model, self.embedding)
        if self.forget_bias is not None:
            init_forget_gates(model, self.forget_bias)
