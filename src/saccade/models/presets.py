"""Presets: one row for each model of a paper. Any field can be overridden when building."""

from __future__ import annotations

from typing import Any, NamedTuple

from saccade.config import merge
from saccade.models.captioning import RecurrentCaptionConfig, TransformerCaptionConfig
from saccade.models.drawing import DrawingConfig
from saccade.models.family import Family
from saccade.models.glimpses import GlimpseConfig, ImageClassifierConfig
from saccade.models.heads import HEADS
from saccade.models.hierarchical import HierarchicalConfig
from saccade.models.listening import ListenerConfig
from saccade.models.lstmn import LSTMNConfig
from saccade.models.matching import MatchingConfig
from saccade.models.pointer_network import PointerNetworkConfig
from saccade.models.recurrent import RecurrentConfig
from saccade.models.sagan import SaganConfig
from saccade.models.self_attentive import SelfAttentiveConfig
from saccade.models.snail import SnailConfig
from saccade.models.transformer import TransformerConfig

__all__ = ["MODELS", "Preset", "presets_for"]


class Preset(NamedTuple):
    """A model family, the settings of the paper, and overrides that make the model tiny for tests."""

    family: type[Family]
    settings: dict[str, Any]
    tiny: dict[str, Any]
    paper: str


_SUTSKEVER = {
    "embedding": 1000,
    "encoder": {"cell": "lstm", "width": 1000, "layers": 4, "reverse": True, "bidirectional": False},
    "decoder": {"cell": "lstm", "width": 1000, "layers": 4, "initial_state": "final", "output": "linear"},
    "attention": None,
    "init": {"kind": "uniform", "scale": 0.08},
}

_CHO = {
    "embedding": 100,
    "encoder": {"cell": "gru-cho", "width": 1000, "bidirectional": False},
    "decoder": {
        "cell": "gru-cho",
        "width": 1000,
        "initial_state": "project",
        "fixed_context": True,
        "output": "maxout",
        "output_width": 500,
        "read_word": True,
    },
    "attention": None,
    "init": {"kind": "groundhog"},
}

_BAHDANAU = {
    "embedding": 620,
    "encoder": {"cell": "gru-bahdanau", "width": 1000, "bidirectional": True},
    "decoder": {
        "cell": "gru-bahdanau",
        "width": 1000,
        "initial_state": "first-backward",
        "attend_from": "previous",
        "output": "maxout",
        "output_width": 500,
        "read_state": "previous",
        "read_word": True,
    },
    "attention": {"score": "additive"},
    "init": {"kind": "groundhog"},
}


def _luong(attention: dict[str, Any]) -> dict[str, Any]:
    return {
        "embedding": 1000,
        "encoder": {
            "cell": "lstm",
            "width": 1000,
            "layers": 4,
            "reverse": True,
            "bidirectional": False,
            "dropout": 0.2,
        },
        "decoder": {
            "cell": "lstm",
            "width": 1000,
            "layers": 4,
            "dropout": 0.2,
            "initial_state": "final",
            "attend_from": "current",
            "input_feeding": True,
            "output": "tanh",
        },
        "attention": attention,
        "init": {"kind": "uniform", "scale": 0.1},
    }


# The paper specifies neither an initial decoder state nor a layer before the softmax. Here the decoder starts from
# zeros, and the output layer reads only the top layer.
_GNMT = {
    "embedding": 1024,
    "encoder": {
        "cell": "lstm",
        "width": 1024,
        "layers": 8,
        "bidirectional": True,
        "bidirectional_layers": 1,
        "residual": True,
        "residual_from": 3,
        "dropout": 0.2,
    },
    "decoder": {
        "cell": "lstm",
        "width": 1024,
        "layers": 8,
        "residual": True,
        "residual_from": 3,
        "dropout": 0.2,
        "initial_state": "zero",
        "attend_from": "previous",
        "query_layer": "bottom",
        "context_layers": "all",
        "output": "linear",
        "read_context": False,
    },
    "attention": {"score": "additive"},
    "init": {"kind": "uniform", "scale": 0.04},
}

_HRED = {
    "embedding": 300,
    "encoder": {"cell": "gru", "width": 300, "bidirectional": False},
    "turns": {"cell": "gru", "width": 300},
    "decoder": {"cell": "gru", "width": 300, "initial_state": "last", "fixed_context": True, "output": "linear"},
    "attention": None,
}
_HRED_ATTENTION = {
    "embedding": 300,
    "encoder": {"cell": "gru", "width": 300, "bidirectional": True},
    "turns": {"cell": "gru", "width": 300},
    "decoder": {"cell": "gru", "width": 300, "initial_state": "last", "output": "tanh"},
    "attention": {"score": "additive"},
}

_SHOW_ATTEND_TELL: dict[str, Any] = {
    "image_encoder": {"kind": "vgg19", "frozen": True},
    "embedding": 512,
    "decoder": {
        "cell": "lstm",
        "width": 1800,
        "initial_state": "mean-deep",
        "attend_from": "previous",
        "output": "sum",
        "read_word": True,
        "gated": True,
        "dropout": 0.5,
    },
    "attention": {"score": "additive"},
}

_LAS: dict[str, Any] = {
    "sound_encoder": {"kind": "pyramid", "cell": "lstm", "width": 256, "layers": 4, "factor": 8},
    "embedding": 512,
    "decoder": {
        "cell": "lstm",
        "width": 512,
        "layers": 2,
        "initial_state": "zero",
        "attend_from": "current",
        "input_feeding": True,
        "feed": "context",
        "output": "tanh",
    },
    "attention": {"score": "projected-dot"},
    "init": {"kind": "uniform", "scale": 0.1},
}

# The paper's s[i] reads y[i] and the glimpse g[i] after both are known. Its s[i-1], which attends and predicts y[i], is
# what the decoder calls the state of step i: it has read y[i-1] and the context of the step before.
_CHOROWSKI: dict[str, Any] = {
    "sound_encoder": {"kind": "pyramid", "cell": "gru-bahdanau", "width": 256, "layers": 3, "factor": 1},
    "embedding": 256,
    "decoder": {
        "cell": "gru-bahdanau",
        "width": 256,
        "initial_state": "zero",
        "attend_from": "current",
        "input_feeding": True,
        "feed": "context",
        "output": "maxout",
        "output_width": 256,
    },
    "attention": {
        "score": "location-aware",
        "align": "sigmoid",
        "score_options": {"width": 512, "filters": 10, "kernel": 201},
    },
    "init": {"kind": "groundhog"},
}

_LAS_TRANSFORMER = merge(
    _LAS,
    {
        "sound_encoder": {"kind": "transformer", "width": 256, "layers": 6, "dropout": 0.1},
        "init": {"kind": "default"},
    },
)

_TINY_RECURRENT = {
    "embedding": 6,
    "encoder": {"width": 8, "dropout": 0.0},
    "decoder": {"width": 8, "dropout": 0.0},
    "init": {"kind": "default"},
}
_TINY_STACK = {
    "embedding": 6,
    "encoder": {"width": 8, "layers": 2, "dropout": 0.0},
    "decoder": {"width": 8, "layers": 2, "dropout": 0.0},
    "init": {"kind": "default"},
}
_TINY_MAXOUT = {**_TINY_RECURRENT, "decoder": {"width": 8, "output_width": 5}}
_TINY_GNMT = {
    **_TINY_STACK,
    "encoder": {"width": 8, "layers": 3, "dropout": 0.0},
    "decoder": {"width": 8, "layers": 3, "dropout": 0.0},
}
_TINY_TURNS = {**_TINY_RECURRENT, "turns": {"width": 5}}
_TINY_CAPTION = {
    "image_encoder": {"kind": "small", "width": 6, "channels": (4,), "frozen": False},
    "embedding": 5,
    "decoder": {"width": 7, "dropout": 0.0},
}
_TINY_LISTENER = {
    "sound_encoder": {"width": 4, "layers": 2, "factor": 2},
    "embedding": 5,
    "decoder": {"width": 8},
    "init": {"kind": "default"},
}
_TINY_LSTMN = {"embedding": 6, "width": 8}
_TINY_SELF = {"embedding": 6, "width": 8, "decoder": {"width": 8}}
_TINY_TRANSFORMER = {"width": 8, "feed_forward": 12, "layers": 2, "dropout": 0.0, "attention": {"heads": 2}}
_TINY_IMAGE = {"filters": 4, "layers": 2, "width": 6}
_TINY_SNAIL = {
    "image": _TINY_IMAGE,
    "blocks": [
        {"kind": "attention", "keys": 4, "values": 3},
        {"kind": "convolutions", "filters": 3},
        {"kind": "attention", "keys": 5, "values": 4},
    ],
}

MODELS: dict[str, Preset] = {
    "sutskever": Preset(RecurrentConfig, _SUTSKEVER, _TINY_STACK, "Sutskever et al. 2014, arXiv:1409.3215"),
    "cho": Preset(RecurrentConfig, _CHO, _TINY_MAXOUT, "Cho et al. 2014, arXiv:1406.1078"),
    "bahdanau": Preset(RecurrentConfig, _BAHDANAU, _TINY_MAXOUT, "Bahdanau et al. 2015, arXiv:1409.0473"),
    **{
        f"luong-{name}": Preset(RecurrentConfig, _luong(attention), _TINY_STACK, "Luong et al. 2015, arXiv:1508.04025")
        for name, attention in {
            "dot": {"score": "dot"},
            "general": {"score": "general"},
            "concat": {"score": "concat"},
            "location": {"score": "location"},
            "local-m": {"score": "general", "window": "local-m"},
            "local-p": {"score": "general", "window": "local-p"},
        }.items()
    },
    "gnmt": Preset(RecurrentConfig, _GNMT, _TINY_GNMT, "Wu et al. 2016, arXiv:1609.08144"),
    "hred": Preset(HierarchicalConfig, _HRED, _TINY_TURNS, "Serban et al. 2016, arXiv:1507.04808"),
    "hred-attention": Preset(
        HierarchicalConfig,
        _HRED_ATTENTION,
        _TINY_TURNS,
        "Serban et al. 2016, with attention after Xing et al. 2018, arXiv:1701.07149",
    ),
    "self-attentive-rnn": Preset(SelfAttentiveConfig, {}, _TINY_SELF, "lecture notes: SimpleRNN + self-attention"),
    "lstmn": Preset(LSTMNConfig, {}, _TINY_LSTMN, "Cheng et al. 2016, arXiv:1601.06733"),
    "lstmn-shallow": Preset(
        LSTMNConfig, {"fusion": "shallow"}, _TINY_LSTMN | {"layers": 2}, "Cheng et al. 2016, arXiv:1601.06733"
    ),
    "transformer-base": Preset(TransformerConfig, {}, _TINY_TRANSFORMER, "Vaswani et al. 2017, arXiv:1706.03762"),
    "transformer-big": Preset(
        TransformerConfig,
        {"width": 1024, "feed_forward": 4096, "dropout": 0.3, "attention": {"score": "scaled-dot", "heads": 16}},
        _TINY_TRANSFORMER | {"norm": "pre", "positions": "rotary"},
        "Vaswani et al. 2017, arXiv:1706.03762",
    ),
    **{
        f"show-attend-tell-{name}": Preset(
            RecurrentCaptionConfig,
            merge(_SHOW_ATTEND_TELL, changes),
            _TINY_CAPTION,
            "Xu et al. 2015, arXiv:1502.03044",
        )
        for name, changes in {"soft": {}, "hard": {"attention": {"align": "hard"}}}.items()
    },
    "transformer-captioner": Preset(
        TransformerCaptionConfig,
        {
            "width": 256,
            "feed_forward": 1024,
            "layers": 2,
            "norm": "pre",
            "attention": {"score": "scaled-dot", "heads": 4},
        },
        {**_TINY_TRANSFORMER, "image_encoder": {"width": 6, "channels": (4,)}},
        "the decoder of Vaswani et al. 2017 over a grid",
    ),
    "las": Preset(ListenerConfig, _LAS, _TINY_LISTENER, "Chan et al. 2016, arXiv:1508.01211"),
    "las-transformer": Preset(
        ListenerConfig,
        _LAS_TRANSFORMER,
        merge(_TINY_LISTENER, {"sound_encoder": {"heads": 2, "feed_forward": 6, "dropout": 0.0}}),
        "the speller of Chan et al. 2016 over a Transformer encoder, as in Dong et al. 2018",
    ),
    "chorowski": Preset(
        ListenerConfig,
        _CHOROWSKI,
        merge(_TINY_LISTENER, {"decoder": {"output_width": 5}, "attention": {"score_options": {"kernel": 5}}}),
        "Chorowski et al. 2015, arXiv:1506.07503",
    ),
    "pointer-network": Preset(
        PointerNetworkConfig,
        {"width": 512, "init": {"kind": "uniform", "scale": 0.08}},
        {"embedding": 6, "width": 8, "init": {"kind": "default"}},
        "Vinyals et al. 2015, arXiv:1506.03134",
    ),
    "ram": Preset(
        GlimpseConfig,
        {},
        {"retina": {"size": 4, "scales": 2, "hidden": 5, "width": 6}, "width": 7, "glimpses": 3},
        "Mnih et al. 2014, arXiv:1406.6247",
    ),
    "image-convolutions": Preset(
        ImageClassifierConfig, {}, {"filters": 4, "layers": 2, "width": 6}, "the convolutional baseline of glimpses"
    ),
    "snail": Preset(SnailConfig, {}, _TINY_SNAIL, "Mishra et al. 2018, arXiv:1707.03141"),
    "matching-network": Preset(MatchingConfig, {}, {"image": _TINY_IMAGE}, "Vinyals et al. 2016, arXiv:1606.04080"),
    "sagan": Preset(
        SaganConfig,
        {},
        {"noise": 4, "generator": [4, 4], "discriminator": [4], "attend": [4, 8]},
        "Zhang et al. 2018, arXiv:1805.08318",
    ),
    "attngan": Preset(
        DrawingConfig,
        {},
        {"noise": 4, "words": 8, "generator": [4, 4], "discriminator": [4], "read": [4, 8], "judge": (4, 8, 8)},
        "Xu et al. 2018, arXiv:1711.10485",
    ),
}
"""All presets, for text, images, points, sound, episodes and noise."""


def presets_for(head: str) -> dict[str, Preset]:
    """Return the presets that can be built with a head."""
    return {name: preset for name, preset in MODELS.items() if preset.family.reads == HEADS[head].reads}
