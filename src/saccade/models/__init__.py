"""Models: sequence models with `encode`, `init_state`, `step` and `forward` (see `Seq2Seq`), and classifiers."""

from saccade.models.base import Classifying, Seq2Seq
from saccade.models.build import (
    build_captioner,
    build_classifier,
    build_language_model,
    build_recognizer,
    build_seq2seq,
    configure,
)
from saccade.models.captioning import RecurrentCaptionConfig, TransformerCaptionConfig
from saccade.models.classifier import Classifier
from saccade.models.ensemble import Ensemble
from saccade.models.family import Family, WordNetwork
from saccade.models.heads import HEADS, build_head
from saccade.models.language import LanguageModel
from saccade.models.listening import ListenerConfig
from saccade.models.lstmn import FusedLSTMN, LSTMNConfig
from saccade.models.presets import MODELS, Preset, presets_for
from saccade.models.recurrent import RecurrentConfig, RecurrentSeq2Seq
from saccade.models.self_attentive import SelfAttentiveConfig
from saccade.models.transformer import Transformer, TransformerConfig

__all__ = [
    "HEADS",
    "MODELS",
    "Classifier",
    "Classifying",
    "Ensemble",
    "Family",
    "FusedLSTMN",
    "LSTMNConfig",
    "LanguageModel",
    "ListenerConfig",
    "Preset",
    "RecurrentCaptionConfig",
    "RecurrentConfig",
    "RecurrentSeq2Seq",
    "SelfAttentiveConfig",
    "Seq2Seq",
    "Transformer",
    "TransformerCaptionConfig",
    "TransformerConfig",
    "WordNetwork",
    "build_captioner",
    "build_classifier",
    "build_head",
    "build_language_model",
    "build_recognizer",
    "build_seq2seq",
    "configure",
    "presets_for",
]
