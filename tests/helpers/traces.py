"""Traces made by hand for the explorer page."""

from base64 import b64encode

import numpy as np

from helpers.sounds import tone
from saccade.data.sounds import Sound, wave_bytes
from saccade.look.picture import data_address
from saccade.trace import About, Beams, BeamStep, Side, Site, Step, Trace, pack

ENGLISH = ["the", "law", "on", "the", "European", "Economic", "Area", "was", "signed", "in", "August", "1992", "."]
FRENCH = ["la", "loi", "sur", "la", "zone", "économique", "européenne", "a", "été", "signée", "en", "août", "1992", "."]
ORDER = [0, 1, 2, 3, 6, 5, 4, 7, 8, 8, 9, 10, 11, 12, 13]
FINE, COARSE = 65535, 255


def rows(scores):
    """Softmax over the last axis; 0 where there is no score."""
    raised = np.where(
        np.isfinite(scores),
        np.exp(scores - np.nanmax(np.where(np.isfinite(scores), scores, np.nan), -1, keepdims=True)),
        0,
    )
    return raised / raised.sum(-1, keepdims=True)


def side(words, end="<eos>", begin=None, pieces=False):
    """A side of whole words or of subwords of three letters, with marks around it."""
    tokens, word_of, marks = ([begin], [len(words)], [0]) if begin else ([], [], [])
    for number, word in enumerate(words):
        parts = [word[at : at + 3] for at in range(0, len(word), 3)] if pieces else [word]
        tokens, word_of = tokens + parts, word_of + [number] * len(parts)
    if end:
        marks, tokens, word_of = [*marks, len(tokens)], [*tokens, end], [*word_of, len(words)]
    return Side(text=" ".join(words), tokens=tokens, words=list(words), word_of=word_of, marks=marks)


def steps(tokens):
    """Steps whose token has 90 %, with four alternatives each."""
    others = ["autre", "encore", "même", "un"]
    return [
        Step(
            token=5 + number,
            text=text,
            log_probability=float(np.log(0.9)),
            candidates=[(5 + number, text, float(np.log(0.9)))]
            + [(100 + each, other, float(np.log(0.05 / (each + 1)))) for each, other in enumerate(others)],
            norms={"state": 3.0},
        )
        for number, text in enumerate(tokens)
    ]


def beams(tokens, width=3):
    """The answer stays in slot 0; the other hypotheses are dropped after two steps or end in the last slot."""
    found = []
    for number, token in enumerate(tokens):
        texts = [token, *(["une", "cette"] if number % 3 == 0 else [token, "le"])][:width]
        found.append(
            BeamStep(
                tokens=[5 + number, 100 + number, -1 if number == len(tokens) - 1 else 200 + number],
                texts=texts,
                parents=[0, 0 if number % 3 == 0 else 1, 0 if number % 2 else 2],
                scores=[-0.1 * number - 0.1, -0.4 * number - 1, -0.6 * number - 1.5],
            )
        )
    return Beams(width=width, steps=found, best=[0] * len(tokens))


def translation(name="newstest", **changes):
    """One site, one head, gold links, a beam and vectors."""
    chance = np.random.default_rng(1)
    source, target = side(ENGLISH), side(FRENCH)
    count, read = len(target.tokens), len(source.tokens)
    scores = chance.normal(size=(1, count, read))
    scores[0, np.arange(count), ORDER] += 5
    site = Site(
        name="attention",
        rows="target",
        columns="source",
        score="additive",
        align="softmax",
        formula="vᵀ tanh(W q + U k)",
        heads=1,
        weights=pack(rows(scores), FINE, low=0, high=1),
        scores=pack(scores, FINE),
    )
    vectors = {
        part: pack(chance.normal(size=(count, width)), COARSE)
        for part, width in [("state", 96), ("context", 128), ("vector", 64)]
    }
    made = {
        "task": "translation",
        "model": About(name=name, preset="bahdanau", parameters=1197000),
        "options": {"beam": 3},
        "text": " ".join(FRENCH),
        "score": -0.48,
        "sides": {"source": source, "target": target},
        "sites": [site],
        "steps": steps(target.tokens),
        "vectors": vectors,
        "beams": beams(target.tokens),
        "gold": [(link, number) for number, link in enumerate(ORDER[:14])],
    }
    return Trace(**(made | changes))


def transformer(name="self-attentive", layers=2, heads=4):
    """Three kinds of sites in each layer, several heads, subwords, masked scores and projections."""
    chance = np.random.default_rng(2)
    source, target = side(ENGLISH, pieces=True), side(FRENCH, pieces=True)
    written = side(FRENCH, end=None, begin="<bos>", pieces=True)
    sides = {"source": source, "target": target, "written": written}
    sites, vectors = [], {}
    for layer in range(layers):
        for kind, (looks, seen) in {
            "encoder": ("source", "source"),
            "decoder.own": ("target", "written"),
            "decoder.cross": ("target", "source"),
        }.items():
            shape = (heads, len(sides[looks].tokens), len(sides[seen].tokens))
            scores = 2.5 * chance.normal(size=shape)
            if seen == "written":
                scores[:, ~np.tri(*shape[1:], dtype=bool)] = -np.inf
            label = f"{kind}.{layer}"
            sites.append(
                Site(
                    name=label,
                    layer=layer,
                    rows=looks,
                    columns=seen,
                    score="scaled-dot",
                    align="softmax",
                    formula="q·k / √d",
                    heads=heads,
                    weights=pack(rows(scores), COARSE, low=0, high=1),
                    scores=pack(scores, COARSE),
                )
            )
            for part, length in [("query", shape[1]), ("key", shape[2]), ("value", shape[2])]:
                vectors[f"{label}.{part}"] = pack(chance.normal(size=(heads, length, 16)), COARSE)
    return Trace(
        task="translation",
        model=About(name=name, preset="transformer", parameters=2400000),
        text=" ".join(FRENCH),
        score=-0.6,
        sides=sides,
        sites=sites,
        steps=steps(target.tokens),
        vectors=vectors,
        left_out=["The vectors of the layers in between were too many."],
    )


def fixed(name="fixed-vector"):
    """A model that reads everything into one vector."""
    return translation(name, sites=[], gold=None, beams=None)


CAPTION = ["a", "red", "square"]


def quartered():
    """An image with four quarters: red and green above, blue and white below."""
    picture = np.zeros((48, 64, 3), np.uint8)
    picture[:24, :32], picture[:24, 32:] = (255, 0, 0), (0, 255, 0)
    picture[24:, :32], picture[24:, 32:] = (0, 0, 255), (255, 255, 255)
    return picture


def captioned(name="captioner", heads=1, **changes):
    """An image of 3 × 4 regions; each word attends to the next region. Regions and words have self-attention, too."""
    names = [f"{row},{column}" for row in range(3) for column in range(4)]
    source = Side(
        kind="grid",
        text="square.png",
        tokens=names,
        words=names,
        word_of=list(range(12)),
        grid=[3, 4],
        image=data_address(quartered()),
    )
    sides = {"source": source, "target": side(CAPTION), "written": side(CAPTION, end=None, begin="<bos>")}
    sites = []
    for label, looks, seen in (
        ("cross", "target", "source"),
        ("encoder", "source", "source"),
        ("decoder", "target", "written"),
    ):
        shape = (heads, len(sides[looks].tokens), len(sides[seen].tokens))
        scores = np.zeros(shape)
        for head in range(heads):
            scores[head, range(shape[1]), [(row + head) % shape[2] for row in range(shape[1])]] = 4.0
        sites.append(
            Site(
                name=label,
                rows=looks,
                columns=seen,
                score="additive",
                align="softmax",
                formula="v · tanh(W q + U k)",
                heads=heads,
                weights=pack(rows(scores), FINE, low=0, high=1),
                scores=pack(scores, FINE),
            )
        )
    made = {
        "task": "captioning",
        "text": " ".join(CAPTION),
        "sides": sides,
        "sites": sites,
        "steps": steps(sides["target"].tokens),
        "vectors": {},
        "beams": beams(sides["target"].tokens),
        "gold": [(5, 2), (6, 2)],
    }
    return translation(name, **(made | changes))


SAID = ["one", "two", "three"]


def heard(name="listener", seconds=2.0, keys=40, **changes):
    """A recording of two seconds; each word attends around its place, at 0.3, 0.9 and 1.5 seconds."""
    names = [f"{seconds / keys * number:.2f}" for number in range(keys)]
    tones = np.concatenate([tone(pitch, seconds / 4, 8000) for pitch in (300, 600, 900, 1200)])
    bands = np.random.default_rng(4).integers(0, 255, (40, 4 * keys, 1)).repeat(3, 2).astype(np.uint8)
    source = Side(
        kind="frames",
        text="clip.wav",
        tokens=names,
        words=names,
        word_of=list(range(keys)),
        image=data_address(bands),
        seconds=seconds,
        sound="data:audio/wav;base64," + b64encode(wave_bytes(Sound(tones, 8000))).decode(),
    )
    sides = {"source": source, "target": side(SAID)}
    centers = np.array([0.3, 0.9, 1.5, 1.95])[:, None] * keys / seconds
    site = Site(
        name="attention",
        rows="target",
        columns="source",
        score="location-aware",
        align="softmax",
        formula="vᵀ tanh(W q + U k + L f)",
        heads=1,
        weights=pack(rows(-(((np.arange(keys) - centers) / 2.0) ** 2)[None]), FINE, low=0, high=1),
    )
    made = {"task": "speech", "text": " ".join(SAID), "sides": sides, "sites": [site], "vectors": {}, "gold": None}
    made |= {"steps": steps(sides["target"].tokens), "beams": beams(sides["target"].tokens)}
    return translation(name, **(made | changes))


def long(count=200, heads=2):
    """So many tokens on both sides."""
    words = [f"word{number}" for number in range(count - 1)]
    scores = np.random.default_rng(3).normal(size=(heads, count, count)) + 6 * np.eye(count)
    source, target = side(words), side([word.upper() for word in words])
    site = Site(
        name="attention",
        rows="target",
        columns="source",
        score="dot",
        align="softmax",
        formula="q·k",
        heads=heads,
        weights=pack(rows(scores), COARSE, low=0, high=1),
        scores=pack(scores, 63),
    )
    return Trace(
        task="translation",
        model=About(name="long", preset="luong", parameters=9),
        text=target.text,
        score=-1.0,
        sides={"source": source, "target": target},
        sites=[site],
        steps=steps(target.tokens),
    )


HOSTILE = [
    '<img src=x onerror="window.pwned=1">',
    "</script><script>window.pwned=2</script>",
    "<!--<script>",
    "javascript:window.pwned=3",
    "\u202egnp.exe\u2028\u2029\x1b[31m",
    "__proto__",
    "{{constructor.constructor('window.pwned=4')()}}",
]


def hostile():
    """A trace whose every text is an injection attempt."""
    source = side(HOSTILE)
    target = side(list(reversed(HOSTILE)))
    count = len(source.tokens)
    site = Site(
        name=HOSTILE[0],
        rows="target",
        columns="source",
        score=HOSTILE[0],
        align=HOSTILE[0],
        formula=HOSTILE[1],
        heads=1,
        weights=pack(np.full((1, count, count), 1 / count), COARSE, low=0, high=1),
    )
    return Trace(
        task=HOSTILE[0],
        model=About(name=HOSTILE[1], preset=HOSTILE[0], parameters=1),
        options={"block": [0], HOSTILE[0]: HOSTILE[1]},
        text=" ".join(HOSTILE),
        score=-1.0,
        sides={"source": source, "target": target},
        sites=[site],
        steps=steps(target.tokens),
        beams=beams(target.tokens),
        left_out=HOSTILE,
    )
