"""plan: the targets of every frame of 5 ms, from the timing of an utterance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saccade.corpora.spoken.timing import FRAME, REST, Delivery, Timing
from saccade.corpora.spoken.voice import Voice
from saccade.data.example import Time

__all__ = ["Score", "plan"]

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Score:
    """Targets of an utterance, a row for each frame.

    formants: (F, 3) in Hz. pitch: (F,) in Hz. gains: (F, 3) of voice, breath and noise. bell: (F, 2), center and width
    of the noise. nasal: (F,). segments: (F,), the number of each frame's segment. times: of the words.
    """

    formants: Matrix
    pitch: Matrix
    gains: Matrix
    bell: Matrix
    nasal: Matrix
    segments: NDArray[np.int64]
    times: tuple[Time, ...]


def plan(timing: Timing, voice: Voice, delivery: Delivery) -> Score:
    """Compute the targets of every frame from the timing of an utterance."""
    frames = sum(timing.counts)
    return _score(timing, voice, _melody(frames, timing, voice, delivery))


def _melody(frames: int, timing: Timing, voice: Voice, delivery: Delivery) -> Matrix:
    """Return the pitch of each frame: it declines, rises at accents, and falls or rises at the end."""
    time = np.arange(frames) * FRAME
    begin, end = timing.times[0][0], timing.times[-1][1]
    along = np.clip((time - begin) / max(end - begin, FRAME), 0, 1)
    semitones = voice.melody * (0.35 - 0.7 * along) + 0.15 * np.sin(2 * np.pi * 1.3 * time + timing.phase)
    for peak, height in timing.accents:
        first, last = max(0, int((peak - 0.3) / FRAME)), int((peak + 0.3) / FRAME)
        semitones[first:last] += voice.melody * 0.55 * height * np.exp(-(((time[first:last] - peak) / 0.09) ** 2))
    semitones += voice.melody * (0.9 if delivery.asks else -0.45) * np.clip((time - end + 0.25) / 0.25, 0, 1)
    return np.asarray(voice.pitch * delivery.pitch * 2 ** (semitones / 12))


def _score(timing: Timing, voice: Voice, pitch: Matrix) -> Score:
    """Spread segments over their frames, and smooth the steps: articulators move slowly, and amplitudes quickly."""
    rows = timing.rows
    index = np.repeat(np.arange(len(rows)), timing.counts)
    formants = [row.formants for row in rows]
    formants[0] = formants[1]  # the mouth is ready before the first phone, and rests after the last
    for number in range(1, len(rows)):
        if formants[number] == REST:
            formants[number] = formants[number - 1]
    rest = np.array([row[2:] for row in rows], np.float64)[index]
    slow = np.hanning(max(3, round(voice.drag / FRAME)) + 2)
    quick = np.array([0.25, 0.5, 0.25])
    gains = _smooth(rest[:, [0, 1, 2, 5]], quick)
    return Score(
        formants=_smooth(np.array(formants)[index] * voice.tract, slow),
        pitch=pitch,
        gains=gains[:, :3],
        bell=rest[:, 3:5],
        nasal=gains[:, 3],
        segments=index,
        times=timing.times,
    )


def _smooth(values: Matrix, kernel: Matrix) -> Matrix:
    """Convolve each column with a kernel of sum 1, repeating the first and last rows."""
    kernel = kernel / kernel.sum()
    left = len(kernel) // 2
    padded = np.pad(values, ((left, len(kernel) - 1 - left), (0, 0)), mode="edge")
    return np.stack([np.convolve(column, kernel, "valid") for column in padded.T], 1)
