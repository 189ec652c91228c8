"""A small recipe, inputs and a wrong input for every task of TASKS, and for tasks of examples/extend."""

import json
import math
import sys
import wave
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from helpers.recipes import MODEL, sentences, translation, write_lines

EXTEND = Path(__file__).parents[2] / "examples" / "extend"
TRAIN = {
    "steps": 4,
    "tokens_per_batch": 128,
    "validate_every": 4,
    "checkpoint_every": 2,
    "schedule": "constant",
    "precision": "fp32",
    "device": "cpu",
}
NOTES = {"a": 440, "c": 523, "e": 659}


@dataclass(frozen=True)
class Case:
    """Settings for a folder, inputs for the model, and an input line that it must refuse, if any."""

    settings: Callable[[Path], dict[str, Any]]
    inputs: Callable[[Path], list[str]]
    wrong: str | None = None


def on_path() -> None:
    """Let recipes find the modules of examples/extend."""
    if str(EXTEND) not in sys.path:
        sys.path.insert(0, str(EXTEND))


def _translation(folder):
    settings = translation(folder)
    return {**settings, "train": TRAIN}


def _language(folder):
    path = write_lines(folder / "text.txt", sentences(120))
    data = {"train": str(path), "test": str(path), "held_out": 4, "cache": str(folder / "cache")}
    model = {"preset": "lstmn", "embedding": 8, "width": 8}
    return {"task": "language-modeling", "data": data, "tokenizer": {"kind": "word"}, "model": model, "train": TRAIN}


def _classification(folder):
    lines = [f"{'good' if 'cat' in line.split() else 'bad'} {line}" for line in sentences(120)]
    path = write_lines(folder / "labels.txt", lines)
    data = {"train": str(path), "test": str(path), "held_out": 4, "cache": str(folder / "cache")}
    return {"task": "classification", "data": data, "tokenizer": {"kind": "word"}, "model": MODEL, "train": TRAIN}


def _captioning(folder):
    data = {"corpus": "scenes", "size": 24, "held_out": 4, "image_size": 32, "cache": str(folder / "cache")}
    grid = {"kind": "small", "frozen": False, "width": 8, "channels": [4, 8]}
    model = {"preset": "show-attend-tell-soft", "image_encoder": grid, "embedding": 8, "decoder": {"width": 8}}
    return {"task": "captioning", "data": data, "tokenizer": {"kind": "word"}, "model": model, "train": TRAIN}


def _pictures(folder):
    from PIL import Image

    made = []
    for number in range(3):
        pixels = np.random.default_rng(number).integers(0, 255, (40, 32, 3), np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.png")
        made.append(str(folder / f"{number}.png"))
    return made


def write_tone(path: Path, pitch: float, samples: int, seed: int = 0) -> Path:
    """A sine with a little noise, 8,000 samples a second."""
    noise = np.random.default_rng(seed).normal(0, 0.05, samples)
    values = 0.5 * np.sin(2 * math.pi * pitch * np.arange(samples) / 8000) + noise
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, 8000, samples, "NONE", ""))
        file.writeframes((values.clip(-1, 1) * 32767).astype("<i2").tobytes())
    return path


def _tones(folder):
    lines = []
    for number in range(120):
        note = list(NOTES)[number % 3]
        path = write_tone(folder / f"tone{number}.wav", NOTES[note], 64 * (5 + number % 7), number)
        lines.append(f"{note}\t{path.name}")
    path = write_lines(folder / "tones.tsv", lines)
    data = {"train": str(path), "test": str(path), "held_out": 4, "cache": str(folder / "cache")}
    return {"task": "tones:Tones", "data": data, "model": MODEL, "train": TRAIN}


def _sounds(folder):
    return [str(write_tone(folder / f"{note}.wav", pitch, 64 * (3 + 2 * n))) for n, (note, pitch) in
            enumerate(NOTES.items())]  # fmt: skip


def write_items(path: Path, classes: int, seed: int) -> Path:
    """Vectors whose first two numbers determine the class; the others are larger noise."""
    chance = np.random.default_rng(seed)
    lines = []
    for name, center in enumerate(chance.uniform(-1, 1, (classes, 2))):
        for _ in range(6):
            item = [*chance.normal(center, 0.05), *chance.normal(0, 2, 2)]
            lines.append(f"{seed}.{name}\t{','.join(f'{number:.2f}' for number in item)}")
    return write_lines(path, lines)


def few_shot(folder: Path, classes: int = 5) -> dict[str, Any]:
    """Test episodes have no class of the training episodes."""
    splits = {split: str(write_items(folder / f"{split}.tsv", count, seed)) for seed, (split, count) in
              enumerate({"train": classes, "valid": 3, "test": 40}.items())}  # fmt: skip
    model = {**MODEL, "attention": {"score": "projected-dot", "score_options": {"width": 16}}}
    data = {**splits, "cache": str(folder / "cache")}
    return {"task": "episodes:FewShot", "data": data, "model": model, "train": TRAIN}


def _episodes(folder):
    return ["1,0,2,1=A 0,1,-1,2=C 1,1,2,2=B 1,0,-3,1=?", "1,0,0,0=B 0,0,0,0.5=?", "1,2,3,4=A 4,3,2,1=B 1,1,1,1=?"]


KNOWN = {"ant": "fourmi", "bee": "abeille", "cat": "chat", "dog": "chien", "saw": "vit"}


def write_names(folder: Path, split: str, count: int, seed: int) -> list[str]:
    """Sentences with unique names, which the translation copies."""
    chance = np.random.default_rng(seed)
    pairs = []
    for _ in range(count):
        words = chance.choice(list(KNOWN), chance.integers(3, 7)).tolist()
        name = "".join(chance.choice(list("aeioklmnrst"), 7))
        for place in set(chance.integers(0, len(words), 2).tolist()):
            words[place] = name
        pairs.append((" ".join(words), " ".join(KNOWN.get(word, word) for word in words)))
    sides = {"en": [source for source, _ in pairs], "fr": [target for _, target in pairs]}
    return [str(write_lines(folder / f"{split}.{side}", lines)) for side, lines in sides.items()]


def copying(folder: Path) -> dict[str, Any]:
    """Names that occur once, so they are out of the vocabulary."""
    splits = {split: write_names(folder, split, count, seed) for seed, (split, count) in
              enumerate({"train": 1500, "valid": 20, "test": 60}.items())}  # fmt: skip
    tokenizer = {"kind": "word", "punctuation": "keep", "min_count": 5, "shared": True}
    data = {**splits, "cache": str(folder / "cache")}
    return {"task": "pointer:Copying", "data": data, "tokenizer": tokenizer, "model": MODEL, "train": TRAIN}


def _copied(folder):
    return ["ant saw zorblax", "dog", "kif saw kif bee"]


PLACES = ["box", "cup", "jar", "bag"]


def asking(folder: Path, count: int = 120) -> dict[str, Any]:
    """Passages that state where things are, and a question about one of them."""
    splits = {}
    for split in ("train", "test"):
        chance = np.random.default_rng(len(split))
        sources, targets = [], []
        for _ in range(count):
            things = chance.choice(list(KNOWN)[:4], chance.integers(2, 4), replace=False).tolist()
            places = chance.choice(PLACES, len(things), replace=False).tolist()
            asked = int(chance.integers(len(things)))
            passage = " and ".join(f"{thing} in {place}" for thing, place in zip(things, places, strict=True))
            sources.append(f"{passage} | where is {things[asked]}")
            targets.append(f"in {places[asked]}")
        splits[split] = [
            str(write_lines(folder / f"{split}.in", sources)),
            str(write_lines(folder / f"{split}.out", targets)),
        ]
    data = {**splits, "held_out": 8, "cache": str(folder / "cache")}
    return {"task": "passages:Answering", "data": data, "tokenizer": {"kind": "word"}, "model": MODEL, "train": TRAIN}


def _asked(folder):
    return ["ant in cup and bee in jar | where is bee", "dog in bag | where", "cat in box | where is cat"]


def _summarization(folder):
    """Long lines with two of their words as the summary."""
    splits = {}
    for split, count in (("train", 120), ("test", 20)):
        lines = [" ".join([line, line]) for line in sentences(count)]
        sides = {"text": lines, "summary": [" ".join(line.split()[:2]) for line in lines]}
        splits[split] = [str(write_lines(folder / f"{split}.{side}", rows)) for side, rows in sides.items()]
    data = {**splits, "held_out": 4, "cache": str(folder / "cache")}
    tokenizer = {"kind": "word", "shared": True}
    task = {"task": "summarization", "output": "pointer", "tokenizer": tokenizer}
    return {**task, "data": data, "model": MODEL, "train": TRAIN, "search": {"max_length": 8, "no_repeat_ngram": 2}}


def _questions(folder):
    """Questions for the third word of a line, which name the second."""
    splits = {}
    for split, count in (("train", 120), ("test", 20)):
        lines = [line.split() for line in sentences(count) if len(line.split()) > 2]
        records = [
            {
                "passage": (passage := " ".join(words)),
                "question": f"what follows {words[1]}",
                "answers": [words[2]],
                "evidence": [[0, len(passage)]],
            }
            for words in lines
        ]
        rows = [json.dumps(record) for record in records]
        splits[split] = str(write_lines(folder / f"{split}.jsonl", rows))
    data = {**splits, "held_out": 4, "cache": str(folder / "cache")}
    reader = {"hops": 1, "every_word": True, "window": 6}
    task = {"task": "questions", "tokenizer": {"kind": "word"}, "reader": reader}
    return {**task, "data": data, "model": MODEL, "objective": {"guided_hops": {"weight": 0.5}}, "train": TRAIN}


def _answerable(folder):
    short = {"question": "what follows bee", "passage": "ant bee cat"}
    long = {"question": "what follows elk", "passage": "ant bee cat dog elk fox gnu hen ant bee cat"}
    return [json.dumps(short), json.dumps(long), json.dumps({"question": "zorblax", "passage": "dog"})]


def _answering(folder):
    settings = {name: part for name, part in _questions(folder).items() if name not in ("reader", "objective")}
    return {**settings, "task": "answering", "output": "pointer", "tokenizer": {"kind": "word", "shared": True}}


def ordering(folder: Path, count: int = 120) -> dict[str, Any]:
    """Points in the plane, from left to right."""
    splits = {}
    for split in ("train", "test"):
        chance = np.random.default_rng(len(split))
        sets = [chance.random((int(chance.integers(2, 6)), 2)).round(2) for _ in range(count)]
        lines = [" ".join(f"{x},{y}" for x, y in points) for points in sets]
        orders = [" ".join(str(place + 1) for place in points[:, 0].argsort()) for points in sets]
        splits[split] = [
            str(write_lines(folder / f"{split}.points", lines)),
            str(write_lines(folder / f"{split}.order", orders)),
        ]
    data = {**splits, "held_out": 8, "cache": str(folder / "cache")}
    model = {"preset": "pointer-network", "embedding": 8, "width": 16, "init": {"kind": "default"}}
    points = {"choose": "every", "answer": "tour"}
    return {"task": "ordering", "data": data, "points": points, "model": model, "train": TRAIN}


def drawn_episodes(folder: Path, **episodes: Any) -> dict[str, Any]:
    """Two shots of two or three classes."""
    data = {"corpus": "alphabets", "size": 120, "held_out": 100, "image_size": 12, "cache": str(folder / "cache")}
    settings = {"ways": [2, 3], "shots": [1, 2], "queries": 3, "count": 40, "tests": [[2, 1], [3, 2]], "tested": 10}
    blocks = [
        {"kind": "attention", "keys": 6, "values": 5},
        {"kind": "convolutions", "filters": 4},
        {"kind": "attention", "keys": 6, "values": 5},
    ]
    model = {"preset": "snail", "image": {"filters": 6, "layers": 3, "width": 8}, "blocks": blocks}
    return {"task": "episodes", "data": data, "episodes": {**settings, **episodes}, "model": model, "train": TRAIN}


def write_drawings(folder: Path, characters: int = 3, shots: int = 2) -> Path:
    """Write a folder of folders with drawings, and beside it a query of each character: query1.png and so on."""
    from PIL import Image

    from saccade.corpora import alphabets

    examples = list(alphabets("test", characters * 20))
    for number in range(characters):
        place = folder / "support" / f"letter{number + 1}"
        place.mkdir(parents=True, exist_ok=True)
        for shot in range(shots + 1):
            image = Image.fromarray(examples[number * 20 + shot].image.load())
            image.save(place / f"{shot}.png" if shot < shots else folder / f"query{number + 1}.png")
    return folder / "support"


def _drawn(folder):
    support = write_drawings(folder)
    few = {f"letter{number}": [str(support / f"letter{number}" / "0.png")] for number in (1, 2)}
    inputs = [{"support": str(support), "query": str(folder / f"query{number}.png")} for number in (1, 3)]
    return [json.dumps(one) for one in (*inputs, {"support": few, "query": str(folder / "query2.png")})]


def _points(folder):
    return ["0.3,0.4 0.1,0.2 0.9,0.8", "[[0.5, 0.25]]", "0.1,0.2 0.9,0.8 0.5,0.5 0,1 1,0"]


def _chat(folder):
    """Dialogues whose replies repeat the first word of the first turn."""
    splits = {}
    for split, count in (("train", 120), ("test", 20)):
        lines = sentences(count)
        records = [
            {"turns": [first, second, f"{first.split()[0]} again"], "replies": [2], "links": [None, None, "0-0"]}
            for first, second in pairwise(lines)
        ]
        splits[split] = str(write_lines(folder / f"{split}.jsonl", [json.dumps(record) for record in records]))
    data = {**splits, "held_out": 4, "cache": str(folder / "cache")}
    chat = {"tokens": 12, "without_history": 0.1, "mutual": 0.3, "candidates": 3}
    task = {"task": "chat", "output": "pointer", "tokenizer": {"kind": "word", "shared": True}, "chat": chat}
    return {**task, "data": data, "model": MODEL, "train": TRAIN, "search": {"max_length": 8, "no_repeat_ngram": 2}}


def _histories(folder):
    short, long = ["ant bee", "cat dog"], ["ant bee cat dog elk", "zorblax", "fox gnu hen", "cat bee", "dog dog dog"]
    return [json.dumps({"turns": short}), "zorblax dog", json.dumps({"turns": long})]


def speech(folder: Path, count: int = 110) -> dict[str, Any]:
    """Sequences of one to three tones, whose names are to be written."""
    splits = {}
    for split in ("train", "test"):
        chance, rows = np.random.default_rng(len(split)), []
        for number in range(count):
            names = chance.choice(list(NOTES), chance.integers(1, 4)).tolist()
            parts = [write_tone(folder / f"{split}{number}-{n}.wav", NOTES[name], 640) for n, name in enumerate(names)]
            times = [[0.08 * n, 0.08 * (n + 1)] for n in range(len(names))]
            rows.append(json.dumps({"sound": [part.name for part in parts], "text": " ".join(names), "times": times}))
        splits[split] = str(write_lines(folder / f"{split}.jsonl", rows))
    data = {**splits, "held_out": 4, "cache": str(folder / "cache")}
    sound = {"rate": 8000, "mels": 8, "augment": {"speed": [0.9, 1.1], "time_masks": 1, "frequency_masks": 1}}
    encoder = {"width": 8, "layers": 2, "factor": 4}
    model = {"preset": "las", "sound_encoder": encoder, "embedding": 8, "decoder": {"width": 8}, "ctc": True}
    task = {"task": "speech", "tokenizer": {"kind": "char"}, "sound": sound, "model": model}
    return {**task, "data": data, "objective": {"ctc": {"weight": 0.3}}, "train": TRAIN}


def generating(folder: Path) -> dict[str, Any]:
    """Drawings of two shapes; both networks attend on grids of two sizes."""
    data = {"corpus": "twins", "size": 60, "held_out": 12, "image_size": 32, "cache": str(folder / "cache")}
    model = {"preset": "sagan", "noise": 4, "generator": [8, 4, 4], "discriminator": [4, 4], "attend": [8], "patch": 2}
    train = {**TRAIN, "tokens_per_batch": 8, "metric": "kid", "ema": 0.9, "betas": [0.0, 0.9]}
    return {"task": "image-generation", "data": data, "model": model, "train": train}


def drawing(folder: Path) -> dict[str, Any]:
    """Scenes to draw; both networks read the words on grids of two sizes, and one grid attends to itself."""
    data = {"corpus": "scenes", "size": 24, "held_out": 6, "image_size": 16, "cache": str(folder / "cache")}
    networks = {"generator": [8, 4, 4], "discriminator": [4, 4], "read": [2, 4], "attend": [4], "judge": [4, 8, 8]}
    model = {"preset": "attngan", "noise": 4, "words": 8, "smallest": 2, "patch": 2, **networks}
    train = {**TRAIN, "tokens_per_batch": 100, "metric": "kid", "ema": 0.9, "betas": [0.0, 0.9], "word_dropout": 0.1}
    objective = {"adversarial": {"shift": 1}, "redescription": {"weight": 0.5}}
    return {"task": "drawing", "data": data, "tokenizer": {"kind": "word"}, "model": model, "objective": objective,
            "train": train}  # fmt: skip


def _pointer(folder):
    return {**copying(folder), "task": "translation", "output": "pointer"}


def glimpses(folder: Path, **field: Any) -> dict[str, Any]:
    """Digits on a slightly larger field, with a part of another."""
    data = {"corpus": "digits", "size": 60, "held_out": 20, "image_size": 20, "cache": str(folder / "cache")}
    model = {"preset": "ram", "retina": {"size": 4, "scales": 2, "hidden": 5, "width": 6}, "width": 7, "glimpses": 3}
    settings = {"size": 24, "clutter": 1, "clutter_size": 4, "turn": 10.0, "count": 60, **field}
    task = {"task": "glimpses", "field": settings, "objective": {"glimpse_reward": {"weight": 0.1}}}
    return {**task, "data": data, "model": model, "train": TRAIN | {"tokens_per_batch": 16}}


def digit_files(folder: Path) -> list[str]:
    """Write three images of digits: of a digit alone, of a field, and white on black."""
    from PIL import Image

    from saccade.corpora import digits

    found = [example.image.load() for example in digits("test", 3)]
    found[1], found[2] = np.pad(found[1], ((2, 2), (2, 2), (0, 0)), constant_values=255), 255 - found[2]
    paths = [folder / f"digit{number}.png" for number in range(3)]
    for path, pixels in zip(paths, found, strict=True):
        Image.fromarray(pixels).save(path)
    return [str(path) for path in paths]


CASES = {
    "translation": Case(_translation, lambda folder: ["ant bee cat", "dog", "elk fox gnu hen"]),
    "language-modeling": Case(_language, lambda folder: ["ant bee", "dog", "elk fox gnu"]),
    "classification": Case(_classification, lambda folder: ["ant bee cat", "dog", "elk fox gnu hen"]),
    "summarization": Case(_summarization, lambda folder: ["ant bee cat dog elk fox", "dog", "elk zorblax gnu hen"]),
    "questions": Case(_questions, _answerable, "no passage"),
    "answering": Case(_answering, _answerable, "no passage"),
    "ordering": Case(ordering, _points, "0.1,0.2 0.3"),
    "glimpses": Case(glimpses, digit_files, "nowhere.png"),
    "episodes": Case(drawn_episodes, _drawn, "nowhere.png"),
    "chat": Case(_chat, _histories, "{}"),
    "speech": Case(speech, _sounds, "nowhere.wav"),
    "image-generation": Case(
        generating, lambda folder: ["3", '{"seed": 5, "class": "red rows"}', '{"seed": 4}'], "a red disc"
    ),
    "drawing": Case(drawing, lambda folder: ["a red seven", "two blue stars left of a pink frame", "A mauve ring"]),
    "captioning": Case(_captioning, _pictures, "nowhere.png"),
    "tones:Tones": Case(_tones, _sounds, "nowhere.wav"),
    "translation, pointer": Case(_pointer, _copied),
    "pointer:Copying": Case(copying, _copied),
    "passages:Answering": Case(asking, _asked, "no bar"),
    "episodes:FewShot": Case(few_shot, _episodes, "1,0=A 1,1=?"),
}
