"""spoken: recordings of synthetic voices with transcripts and the exact time of every word.

    three seven zero               turn on the light in the kitchen          the old woman gives a red apple
    0.13-0.41 0.41-0.84 0.97-1.42  the twenty-first of march two thousand    la vieille femme donne une pomme rouge

The voices are those of a small formant synthesizer in numpy, or of espeak, which the extra `voices` installs. Read
`phones` first (the sounds of English), then `voice` (speakers), `timing` and `plan` (from words to movements), `synth`
(from movements to samples), `effects` (rooms and noise), and `sentences` (what is said).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from saccade.config import parse
from saccade.corpora.spoken.bilingual import spoken_pairs
from saccade.corpora.spoken.config import Kind, SpokenConfig, Voices
from saccade.corpora.spoken.sentences import digit_writer, phrase_writer
from saccade.corpora.spoken.speakers import Speakers
from saccade.corpora.spoken.utterance import Utterance
from saccade.corpora.stream import Dice, check_request, stream
from saccade.data.example import Example

__all__ = ["BOUNDS", "SpokenConfig", "Utterance", "spoken"]

BOUNDS = 1, 60
"""Fewest and most words of an utterance."""


def spoken(
    split: str,
    size: int | None,
    seed: int = 1,
    *,
    min_length: int = 1,
    max_length: int = 7,
    kind: Kind = "digits",
    voices: Voices = "formant",
    held_out_voices: bool = False,
    noise: tuple[float, float] | None = None,
    noise_color: str = "pink",
    room: float = 0.0,
    rate: int = 8000,
) -> Iterator[Example]:
    """Generate utterances: `sound` (synthesized on load), `target` (the transcript), `times`. `size` None never ends.

    kind: `digits` are strings of digits; `sentences` are numbers, dates, times, commands and the English sentences of
    english-french; `translation` are the latter with source English, target French, and gold links between their words.
    The other options are those of `SpokenConfig`.

    Lengths count words. The same arguments give the same utterances, and a larger size only appends to them. Splits
    share no sentence, whatever the seeds and lengths; with `held_out_voices` they share no voice either.
    """
    settings = {
        "kind": kind, "voices": voices, "held_out_voices": held_out_voices, "noise": noise, "noise_color": noise_color,
        "room": room, "rate": rate,
    }  # fmt: skip
    config = parse(SpokenConfig, settings, "the corpus spoken")
    check_request("spoken", split, size, min_length, max_length, BOUNDS)
    texts = _texts(split, seed, min_length, max_length, config.kind)
    speakers = Speakers(config, split, seed)
    found = (_spoken(example, number, speakers) for number, example in enumerate(texts))
    return found if size is None else islice(found, size)


def _spoken(example: Example, number: int, speakers: Speakers) -> Example:
    assert example.text is not None
    sound, times = speakers.speak(example.text, number)
    return replace(example, sound=sound, times=times)


def _texts(split: str, seed: int, low: int, high: int, kind: Kind) -> Iterator[Example]:
    """Return the texts of a split without end."""
    if kind == "translation":
        return spoken_pairs(split, seed, low, high)
    writer = digit_writer if kind == "digits" else phrase_writer
    lines = stream("spoken", writer, split, None, seed, low, high, bounds=BOUNDS)
    return lines if kind == "digits" or high < _SHORTEST_PAIR else _mixed(lines, split, seed, low, high)


_SHORTEST_PAIR = 3
"""Least words for which there are enough English sentences."""


def _mixed(lines: Iterator[Example], split: str, seed: int, low: int, high: int) -> Iterator[Example]:
    """Yield phrases and English sentences in equal parts, in random order."""
    dice = Dice(f"spoken sentences {split} {seed} {low} {high}")
    pairs = spoken_pairs(split, seed, low, high)
    while True:
        yield Example(target=next(pairs).source) if dice.chance(0.5) else next(lines)
