# %% [markdown]
# A custom modality and task: classify a tone by its note, with attention over the frames.
#
# saccade's own support for sound is for speech. This file does without it: it defines the inputs, the data files, how
# examples are stored and collated to batches, and the model. Training, evaluation, attention and the command line need
# nothing else.
from __future__ import annotations

import wave
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from saccade.attention import Tape, name_sites
from saccade.batch import Batch
from saccade.data.batch_sampler import Rows
from saccade.data.example import Example
from saccade.data.features import Feature, LabelFeature
from saccade.data.forms import Form
from saccade.data.store import Column, Numbered
from saccade.data.text import numbered
from saccade.data.tokenizer import TokenizerConfig, Tokenizers
from saccade.errors import DataError
from saccade.layers.pooling import build_pooling
from saccade.models.base import Classifying
from saccade.prediction import Side
from saccade.tasks.base import Split
from saccade.tasks.classification import Classification
from saccade.tasks.inputs import Modality, shown

FRAME = 64
"""Samples of a frame; a frame is one position for attention."""
WIDTH = FRAME // 2 + 1
"""Features of a frame: the magnitude of each frequency."""


# %% What an input is: the path of a .wav file, or its frames.
class Sound(Modality):
    name = "sound"

    def fault(self, given: Any) -> str | None:
        if isinstance(given, str | Path):
            return None
        if isinstance(given, np.ndarray) and given.ndim == 2 and given.shape[1] == WIDTH:
            return None
        return f"is {shown(given)}, but this model reads sound. Give the path of a .wav file."


def frames_of(path: Path) -> NDArray[np.float32]:
    """Compute the spectrogram (frames, WIDTH) of a .wav file with 16 bits and one channel."""
    try:
        with wave.open(str(path)) as file:
            if file.getsampwidth() != 2 or file.getnchannels() != 1:
                raise DataError(f"{path} is not a .wav file with 16 bits and one channel. Convert it.")
            samples = np.frombuffer(file.readframes(file.getnframes()), "<i2") / 32768
    except (OSError, EOFError, wave.Error) as error:
        raise DataError(f"{path} cannot be read: {error or 'it ends early'}.") from error
    count = len(samples) // FRAME
    if count == 0:
        raise DataError(f"{path} has {len(samples)} samples, but a frame has {FRAME}. Give a longer sound.")
    return np.abs(np.fft.rfft(samples[: count * FRAME].reshape(count, FRAME))).astype(np.float32)


# %% The data files: lines of `LABEL <tab> path`; the path is relative to the folder of the data file.
@dataclass(frozen=True)
class Heard(Example):
    sound: Path | None = None


class LabeledSounds(Form):
    title = "labeled sounds"

    def read(
        self,
        paths: Sequence[Path],
        *,
        columns: Sequence[str] | None = None,
        keys: Mapping[str, str] | None = None,
        first_word: int = 0,
    ) -> Iterator[Example]:
        for path in paths:
            for number, line in numbered(path):
                label, tab, name = line.partition("\t")
                if not tab:
                    raise DataError(f"{path}, line {number}: write a label, a tab and the path of a .wav file.")
                yield Heard(label=label, sound=path.parent / name)


# %% How examples are stored and collated.
class Frames(Feature):
    name, dtype, sized, width = "frames", np.float32, True, WIDTH

    def encode(self, chunk: Sequence[Numbered]) -> Sequence[Any]:
        return [frames_of(example.sound).ravel() for _, example in chunk]  # type: ignore[attr-defined]

    def collate(
        self, column: Column, rows: Rows, count: int, positions: int, made: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        values, sizes = column.rows(rows)
        parts = np.split(values.reshape(-1, WIDTH), np.cumsum(sizes // WIDTH)[:-1])
        return padded(parts, count, positions)


def padded(parts: Sequence[NDArray[np.float32]], count: int, positions: int = 0) -> dict[str, Tensor]:
    source = np.zeros((count, max(positions, *map(len, parts)), WIDTH), np.float32)
    mask = np.zeros(source.shape[:2], bool)
    mask[len(parts) :, 0] = True  # a padding row has one unmasked frame of zeros
    for row, part in enumerate(parts):
        source[row, : len(part)], mask[row, : len(part)] = part, True
    return {"source": torch.from_numpy(source), "source_mask": torch.from_numpy(mask)}


# %% The model: any encoder of saccade, over frames instead of words.
class Listener(Classifying):
    def __init__(self, encoder: nn.Module, width: int, classes: int) -> None:
        super().__init__()
        self.enter, self.encoder, self.classes = nn.Linear(WIDTH, width), encoder, classes
        self.pooling = build_pooling("attention", encoder.width)
        self.output = nn.Linear(encoder.width, classes)
        name_sites(self)

    def forward(self, batch: Batch, *, tape: Tape | None = None) -> Tensor:
        encoded = self.encoder(self.enter(batch.source), batch.source_mask, tape=tape)
        out: Tensor = self.output(self.pooling(encoded, batch.source_mask, tape=tape))
        return out


# %% The task connects these classes.
class Tones(Classification):
    name = "tones"
    reads = Sound()
    form = LabeledSounds()
    head = None
    parts = ("labels",)
    takes_vectors = False

    @classmethod
    def learn_tokenizers(cls, config: TokenizerConfig, examples: Callable[[], Iterator[Example]]) -> Tokenizers:
        return Tokenizers(None, None, sorted({example.label for example in examples() if example.label}))

    def _build(self) -> Listener:
        words = self.recipe.model_settings().encoder_of_words(4)
        return Listener(words.network, words.embedding.embedding_dim, len(self.labels))

    def features(self, split: Split) -> list[Feature]:
        return [Frames(), LabelFeature(self.labels)]

    def given(self, example: Example) -> Any:
        return example.sound  # type: ignore[attr-defined]

    def opened(self, given: Any, **limits: Any) -> NDArray[np.float32]:
        return given if isinstance(given, np.ndarray) else frames_of(Path(given))

    def length(self, given: Any) -> int:
        return len(self.opened(given))

    def sizes(self, inputs: Sequence[Any]) -> list[int]:
        return [self.length(given) for given in inputs]

    def read(self, inputs: Sequence[Any]) -> tuple[Batch, list[Side]]:
        parts = [self.opened(given) for given in inputs]
        names = [[str(number) for number in range(len(part))] for part in parts]
        sides = [Side(each, each, list(range(len(each)))) for each in names]
        return Batch(**padded(parts, len(parts))).to(self.device), sides
