"""Speech recognition: write what is said in a recording, with the time of each word from attention."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from saccade.batch import BOS, EOS, PAD, Batch
from saccade.corpora import CORPORA
from saccade.data.example import Example
from saccade.data.features import Feature, TokenFeature
from saccade.data.forms import SPEECH
from saccade.data.log_mel import log_mel
from saccade.data.sound_feature import HeardLinks, SoundFeature, heard_spans, padded_frames
from saccade.data.sound_files import MAX_SECONDS, array_sound, open_sound
from saccade.data.sounds import Sound, wave_bytes
from saccade.data.tokenizer import Tokenizer, TokenizerConfig, Tokenizers
from saccade.errors import DataError
from saccade.look.picture import data_address
from saccade.look.sound import Spectrogram, gray
from saccade.metrics import (
    course,
    ctc_spans,
    edit_rate,
    error_counts,
    joined_spans,
    loudness,
    median_onset,
    onset_counts,
    ordered,
    pointing_counts,
    time_error,
    time_error_counts,
    word_edges,
    word_spans,
)
from saccade.models import build_head
from saccade.models.base import Seq2Seq
from saccade.models.listening import Listener
from saccade.prediction import AttentionMaps, Prediction, Side, TimedWord
from saccade.search import Hypothesis, SearchConfig
from saccade.tasks.base import Evaluation, Split, Statistics
from saccade.tasks.batching import in_batches
from saccade.tasks.generation import GenerationTask, ModelInput, Sides
from saccade.tasks.inputs import SOUND, Opened, Samples, name_of
from saccade.tasks.objectives import word_loss
from saccade.tasks.postprocess import texts_of
from saccade.tasks.tracing import plain_side
from saccade.tasks.translation import score_texts
from saccade.trace import Side as TraceSide
from saccade.train.objective import WordLoss
from saccade.train.spec_augment import SpecAugment

__all__ = ["Speech"]

_TOKENS_A_SECOND = 30
"""Maximum output tokens for a second of sound; fast speech has about 20 characters."""
_FEWEST_TOKENS = 20
_EXAMPLES = 2
_TOGETHER = 32
"""Recordings listened to together."""
_SILENT = 1e-4
"""Peak below which a recording is silent (-80 dB), and has no words."""
_PLAYED = 60
"""Maximum seconds of a recording that traces contain."""
_SPACE = "▁"
"""How tokenizers of characters and subwords show a space."""


class Speech(GenerationTask):
    """Speech recognition. An input is the path or the bytes of a sound file, or samples with their rate."""

    name = "speech"
    reads = SOUND
    form = SPEECH
    head = "recognizer"
    parts = ("target",)
    metrics = ("wer", "cer", "bleu", "exact", "pointing", "mass_inside", "time_error", "onset_error")
    offers = frozenset({"words to write", "attention to a source", "gold alignments", "sound"})
    model: Listener

    def _build(self) -> Seq2Seq:
        made: Seq2Seq = build_head(self.head, self.recipe.model_settings(), self.recipe.sound.width, len(self.target))
        return made

    @classmethod
    def learn_tokenizers(cls, config: TokenizerConfig, examples: Callable[[], Iterator[Example]]) -> Tokenizers:
        return Tokenizers(None, Tokenizer.train(config, texts_of(examples(), "target"), "text"))

    def features(self, split: Split) -> list[Feature]:
        found: list[Feature] = [SoundFeature(self.recipe.sound), TokenFeature("target", self.target)]
        guided = split.name == "train" and self._guided is not None
        return [*found, HeardLinks(self.target, self.recipe.sound)] if guided else found

    def objective(self) -> WordLoss:
        changes = self.recipe.sound.augment.changes
        return word_loss(self, SpecAugment(self.recipe.sound) if changes else None)

    def sample_files(self) -> list[str]:
        data = self.recipe.data
        if data.corpus is None or data.spoken.voices != "formant":  # other voices need a library, and time
            return []
        corpus = CORPORA[data.corpus]
        least, most = data.lengths or corpus.lengths
        found = corpus.generate("test", _EXAMPLES, data.seed, min_length=least, max_length=most, **corpus.options(data))
        return [_address(example.sound.load()) for example in found if example.sound is not None]

    def opened(self, given: Any, **limits: Any) -> Opened:
        if isinstance(given, Opened):
            return given
        if isinstance(given, Samples):
            sound: Sound = array_sound(given.samples, given.rate)
        elif isinstance(given, str | Path | bytes | bytearray | memoryview):
            sound = open_sound(given, **limits)
        else:
            sound = given.load()
        frames = log_mel(sound.samples, sound.rate, self.recipe.sound)
        if np.abs(sound.samples).max(initial=0.0) < _SILENT:
            frames = np.zeros_like(frames)
        return Opened(frames, name_of(given), sound if sound.seconds <= _PLAYED else None)

    def length(self, given: Any) -> int:
        return len(self.opened(given).value)

    @property
    def longest(self) -> int:
        return round(MAX_SECONDS / self.recipe.sound.seconds(1)) + 1

    def positions(self, tokens: int) -> tuple[int, int]:
        most = _FEWEST_TOKENS + round(self.recipe.sound.seconds(tokens) * _TOKENS_A_SECOND)
        return -(-tokens // self.model.encoder.factor), most

    @property
    def key(self) -> float:
        """Seconds that a key of the attention covers."""
        return self.recipe.sound.seconds(self.model.encoder.factor)

    def given(self, example: Example) -> Any:
        return example.sound

    def read(self, inputs: Sequence[Opened], *, sides: bool = True) -> ModelInput:
        frames = [given.value for given in inputs]
        batch = Batch(**padded_frames(frames, len(frames))).to(self.device)
        shown: list[dict[str, Side]] = [{"source": self._keys(len(part))} for part in frames] if sides else []
        return ModelInput(batch, list(map(len, frames)), shown)

    def _keys(self, frames: int) -> Side:
        """Return the source side: the keys of the attention, each named by its begin in seconds."""
        names = [f"{number * self.key:.2f}" for number in range(-(-frames // self.model.encoder.factor))]
        return Side(names, names, list(range(len(names))))

    def seen(self, given: Opened, sides: Sides) -> dict[str, TraceSide]:
        # without folders: traces are shared, and a path may be private
        name = "a recording" if given.name is None else Path(given.name).name
        seconds = self.recipe.sound.seconds(len(given.value))
        shown: dict[str, Any] = {
            "kind": "frames",
            "seconds": round(seconds, 3),
            "image": data_address(self._picture(given).pixels),
        }
        if given.original is not None:
            shown["sound"] = _address(given.original)
        return {"source": plain_side(sides["source"], name).model_copy(update=shown)}

    def attention(
        self,
        given: Opened,
        sides: Sides,
        target: Side,
        weights: Mapping[str, NDArray[Any]],
        example: Example | None = None,
    ) -> AttentionMaps:
        record = super().attention(given, sides, target, weights)
        return replace(record, sound=self._picture(given)) if sides else record

    def _picture(self, given: Opened) -> Spectrogram:
        frames = given.value[:, : self.recipe.sound.mels]  # without derivatives
        return Spectrogram(gray(frames), self.recipe.sound.seconds(len(frames)))

    def _decode(self, read: ModelInput, search: SearchConfig, **limits: Any) -> list[list[Hypothesis]]:
        found = super()._decode(read, search, **limits)
        assert read.batch.source is not None
        heard = read.batch.source.flatten(1).any(1).tolist()
        return [own if sounding else [self._nothing(own[0])] for own, sounding in zip(found, heard, strict=True)]

    def _nothing(self, found: Hypothesis) -> Hypothesis:
        """Return the empty answer, which is given to silence: a model would guess words."""
        cross = {site: found.attention[site][:, :1] for site in self.model.source_sites if site in found.attention}
        return replace(
            found, tokens=[EOS], score=0.0, log_probability=0.0, finished=True, attention=found.attention | cross,
            slots=found.slots[:1], beams=found.beams[:1],
        )  # fmt: skip

    def _answer(self, given: Any, found: list[Hypothesis], sides: Sides, *, words: bool) -> Prediction:
        made = super()._answer(given, found, sides, words=words)
        if not made.attention:
            return made
        (logs,) = self._listened([given])
        every = [
            replace(one, words=self._timed(one, given.value, hypothesis.tokens, logs))
            for one, hypothesis in zip((made, *made.alternatives), found, strict=True)
        ]
        return replace(every[0], alternatives=every[1:])

    def _timed(
        self, prediction: Prediction, frames: NDArray[Any], tokens: list[int], logs: NDArray[Any] | None
    ) -> list[TimedWord]:
        maps = prediction.attention
        times = self._times(maps.matrix(words=False), maps.target, frames, tokens, logs)
        return [TimedWord(word, *time) for word, time in zip(maps.target.words, times, strict=True)]

    @torch.no_grad()
    def _listened(self, inputs: Sequence[Opened]) -> list[NDArray[Any] | None]:
        """Return the log-probabilities (S, V) of the CTC layer for each recording; None without such a layer."""
        if self.model.ctc is None:
            return [None] * len(inputs)
        found: list[NDArray[Any] | None] = []
        for start in range(0, len(inputs), _TOGETHER):
            read = self.read(inputs[start : start + _TOGETHER], sides=False)
            logs, mask = self.model.listened(read.batch)
            found += [row[real].cpu().numpy() for row, real in zip(logs, mask, strict=True)]
        return found

    def _times(
        self,
        weights: NDArray[Any],
        target: Side,
        frames: NDArray[Any],
        tokens: Sequence[int],
        logs: NDArray[Any] | None,
    ) -> list[tuple[float, float]]:
        """Return begin and end of each word in seconds.

        Where it is heard: by forced alignment to the CTC layer, or else from the attention (T, S) of tokens.
        """
        count, owners = len(target.words), _owners(target)
        said = [token for token in tokens if token not in (BOS, EOS)]
        spans = None if logs is None or not said else ctc_spans(logs, said, PAD)
        words = (
            word_spans(weights, owners, count) if spans is None else joined_spans(spans, owners[: len(spans)], count)
        )
        factor = self.model.encoder.factor
        anchors = ordered([(begin * factor, end * factor) for begin, end in words], len(frames))
        edges = word_edges(anchors, loudness(frames[:, : self.recipe.sound.mels]))
        return [
            (round(self.recipe.sound.seconds(begin), 3), round(self.recipe.sound.seconds(end), 3))
            for begin, end in edges
        ]

    def evaluate(self, examples: Sequence[Example], search: SearchConfig) -> Evaluation:
        inputs = [self.opened(self.given(example)) for example in self._heard(examples)]
        predictions = in_batches(self, inputs, search)
        texts, wanted = [one.text for one in predictions], [example.target or "" for example in examples]
        words = error_counts(wanted, texts)
        right = [[float(one.split() == two.split()), 1.0] for one, two in zip(texts, wanted, strict=True)]
        translated = all(example.source is not None for example in examples)
        statistics = score_texts(texts, wanted)[0] if translated else {}
        statistics |= {
            "wer": Statistics(words, edit_rate),
            "cer": Statistics(error_counts(wanted, texts, characters=True), edit_rate),
            "exact": Statistics(np.array(right), _share),
        }
        substitutions, deletions, insertions, count = (round(float(part)) for part in words.sum(0))
        details = {
            "recordings": len(examples),
            "seconds": round(sum(self.recipe.sound.seconds(len(one.value)) for one in inputs), 1),
            "words": count,
            "substitutions": substitutions,
            "deletions": deletions,
            "insertions": insertions,
        }
        if all(example.times for example in examples):
            statistics |= self._pointing(examples, inputs) if translated else self._timing(examples, inputs)
        metrics = {name: part.value for name, part in statistics.items()}
        return Evaluation(metrics, details, statistics, [len(text.split()) for text in wanted], predictions)

    def health(self, examples: Sequence[Example]) -> tuple[dict[str, float], list[str]]:
        """Measure whether attention moves forward through recordings, and how much of them it reaches."""
        weights = [maps.matrix(words=False) for maps in self.attend(examples[:_TOGETHER])]
        monotonicity, coverage = course(weights)
        return {"attention/monotonicity": monotonicity, "attention/coverage": coverage}, []

    def _heard(self, examples: Sequence[Example]) -> Iterator[Example]:
        for number, example in enumerate(examples, 1):
            if example.sound is None:
                raise DataError(f"example {number} has no sound, which this task needs. Add it.")
            yield example

    def _pointing(self, examples: Sequence[Example], inputs: list[Opened]) -> dict[str, Statistics]:
        """Score the attention of translations: a word should attend to the spoken words that it is linked to."""
        points = []
        for maps, example in zip(self.attend(examples, inputs), examples, strict=True):
            gold = linked_times(example)
            weights = _of_words(maps.matrix(words=False), maps.target)[list(gold)]
            points.append(pointing_counts(weights, list(gold.values()), self.key))
        return _pointed(np.stack(points))

    def _timing(self, examples: Sequence[Example], inputs: list[Opened]) -> dict[str, Statistics]:
        """Score attention against the gold times of words, under teacher forcing of the transcripts."""
        points, errors, onsets = [], [], []
        heard = self._listened(inputs)
        for maps, example, given, logs in zip(self.attend(examples, inputs), examples, inputs, heard, strict=True):
            gold = example.times
            weights = maps.matrix(words=False)
            points.append(pointing_counts(_of_words(weights, maps.target), gold, self.key))
            tokens = self.target.encode(example.target or "").tokens
            times = self._times(weights, maps.target, given.value, tokens, logs)
            errors.append(time_error_counts(times, gold))
            onsets.append(onset_counts(times, gold))
        return {
            **_pointed(np.stack(points)),
            "time_error": Statistics(np.stack(errors), time_error),
            "onset_error": Statistics(np.stack(onsets), median_onset),
        }


def _owners(target: Side) -> list[int]:
    """Return the word of each token; a space attends to the pause, and belongs to no word."""
    none = len(target.words)
    return [none if token == _SPACE else word for token, word in zip(target.tokens, target.word_of, strict=True)]


def _of_words(weights: NDArray[Any], target: Side) -> NDArray[Any]:
    """Return the attention (words, S) of words, the mean over their tokens."""
    owners = np.array(_owners(target))
    return np.stack(
        [weights[owners == word].sum(0) / max((owners == word).sum(), 1) for word in range(len(target.words))]
    )


def linked_times(example: Example) -> dict[int, tuple[float, float]]:
    """Return, for each target word of a translation with gold links, the time of the spoken words it is linked to."""
    spans = heard_spans(example)
    return {word: (min(begin for begin, _ in own), max(end for _, end in own)) for word, own in spans.items()}


def _pointed(counts: NDArray[np.float64]) -> dict[str, Statistics]:
    return {
        "pointing": Statistics(counts, lambda sums: float(sums[1] / max(sums[0], 1.0))),
        "mass_inside": Statistics(counts, lambda sums: float(sums[2] / max(sums[0], 1.0))),
    }


def _share(sums: NDArray[np.float64]) -> float:
    return float(sums[0] / max(sums[1], 1.0))


def _address(sound: Sound) -> str:
    """Return a sound as the data: URL of a .wav file."""
    return "data:audio/wav;base64," + b64encode(wave_bytes(sound)).decode()
