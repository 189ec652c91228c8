"""Schemas of requests and responses: requests are validated, and /openapi.json shows both with examples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import ConfigDict, Field, PlainValidator, WithJsonSchema, model_validator
from pydantic_core import from_json

from saccade.config import Config, check, refuse
from saccade.serve.problems import Problem

__all__ = [
    "Failure",
    "Health",
    "Known",
    "Models",
    "Options",
    "Predict",
    "Predictions",
    "Sample",
    "TraceOf",
    "parse_body",
    "parse_picture",
]

Kind = TypeVar("Kind", bound=Config)
Pull = Annotated[tuple[int, int, float], Field(strict=False)]
_FAULTS = 8
"""Maximum faults listed. A body may have thousands, and finding them all takes seconds."""
_NAME = 60
"""Characters of an unknown name that an error repeats."""
_TEXT = "the European Economic Area"
_PICTURE = (
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAFklEQVR42mO4o6GhscCGQSPgxIcPHwAjIgZB8S+brgAAAABJRU5ErkJggg=="
)


_WAVE = "UklGRigAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQQAAAAAAAAA"


def _picture(value: Any) -> str | bytes:
    if not isinstance(value, str | bytes):
        raise ValueError("it must be a base64 text")
    return value


Picture = Annotated[
    str | bytes, PlainValidator(_picture), WithJsonSchema({"type": "string", "contentEncoding": "base64"})
]
"""An image or sound file: base64 text in JSON, or bytes if it was the body."""
_IMAGE = Field(None, description="For a model that reads images: an image file in base64, or as a data: URL.")


_SOUND: Any = Field(None, description="For a model that reads sound: a sound file in base64, or as a data: URL.")


class Options(Config):
    """Search options; the model's recipe gives the defaults.

    Only types are checked here. Values are checked later, by the model, since they depend on each other and on its
    recipe, and against the limits of the server.
    """

    beam: int | None = Field(None, description="Beam width; 1 is greedy search.", json_schema_extra={"minimum": 1})
    nbest: int | None = Field(None, description="Answers to an input, best first.", json_schema_extra={"minimum": 1})
    length_penalty: float | None = Field(
        None, description="For beam search: 0 prefers short answers.", json_schema_extra={"minimum": 0}
    )
    coverage_penalty: float | None = Field(
        None,
        description="For beam search: above 0, answers that attend to the whole source rank higher.",
        json_schema_extra={"minimum": 0},
    )
    overlap_penalty: float | None = Field(
        None,
        description="For beam search: above 0, answers that attend to source words again and again rank lower.",
        json_schema_extra={"minimum": 0},
    )
    sample: bool | None = Field(None, description="Whether to sample instead of to search.")
    temperature: float | None = Field(
        None, description="For sampling: below 1 likely tokens become likelier.", json_schema_extra={"minimum": 0.001}
    )
    top_k: int | None = Field(
        None, description="For sampling: only the k likeliest tokens.", json_schema_extra={"minimum": 1}
    )
    top_p: float | None = Field(
        None,
        description="For sampling: only the likeliest tokens that together have this probability.",
        json_schema_extra={"exclusiveMinimum": 0, "maximum": 1},
    )
    seed: int | None = Field(None, description="For sampling.", json_schema_extra={"minimum": 0})
    mbr: int | None = Field(
        None,
        description="For sampling: samples of which the one most like all others is the answer (minimum Bayes risk).",
        json_schema_extra={"minimum": 2},
    )
    max_length: int | None = Field(None, description="Maximum tokens of an answer.", json_schema_extra={"minimum": 1})
    min_length: int | None = Field(None, description="Minimum tokens of an answer.", json_schema_extra={"minimum": 0})
    no_repeat_ngram: int | None = Field(
        None,
        description="Length of n-grams that an answer may contain only once.",
        json_schema_extra={"minimum": 1},
    )
    unknown: bool | None = Field(None, description="Whether answers may contain <unk>, which stands for a rare word.")
    no_answer: float | None = Field(
        None,
        description="For questions: nats by which no answer must be likelier than the best one.",
        json_schema_extra={"minimum": -1000},
    )

    def given(self) -> dict[str, Any]:
        """Return the options that the request sets."""
        return {name: value for name, value in self if value is not None}


Given = str | dict[str, Any]
"""A text; or several fields by name, such as {"question": …, "passage": …} or {"turns": […]}."""


_INPUT: Any = Field(None, description="A text, or an object with the fields that the model reads.")
_OPTIONS: Any = Field(Options(), description="Search options; default: those of the model's recipe.")


class Predict(Config):
    """A prediction request: one input or a list of inputs (texts, questions, dialogues, images or sounds)."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"input": _TEXT},
                {"inputs": [_TEXT, "why did they close the old school ?"], "options": {"beam": 5, "nbest": 2}},
                {"input": _TEXT, "options": {"sample": True, "top_p": 0.9, "seed": 7}, "attention": True},
                {"image": _PICTURE},
                {"images": [_PICTURE, f"data:image/png;base64,{_PICTURE}"], "attention": True},
                {"sound": _WAVE},
            ]
        }
    )
    model: str | None = Field(None, description="A name from GET /v1/models; default: the first.")
    input: Given | None = _INPUT
    inputs: list[Given] | None = Field(None, fail_fast=True, description="Several inputs, in place of one.")
    image: Picture | None = _IMAGE
    images: list[Picture] | None = Field(None, fail_fast=True, description="Several images, in place of one.")
    sound: Picture | None = _SOUND
    sounds: list[Picture] | None = Field(None, fail_fast=True, description="Several sounds, in place of one.")
    options: Options = _OPTIONS
    attention: bool = Field(False, description="Whether to return all attention weights.")

    @model_validator(mode="after")
    def _one_of_them(self) -> Predict:
        if [self.input, self.inputs, self.image, self.images, self.sound, self.sounds].count(None) != 5:
            raise ValueError(
                "there must be exactly one of input (a text), inputs (a list of texts), image (in base64), images "
                "(a list of them), sound and sounds"
            )
        return self

    @property
    def texts(self) -> list[Given] | None:
        """The inputs unless they are images or sounds, else None."""
        return [self.input] if self.input is not None else self.inputs

    def files(self, kind: str) -> list[str | bytes] | None:
        """Return the inputs if they are of a kind, image or sound, else None."""
        one: str | bytes | None = getattr(self, kind)
        several: list[str | bytes] | None = getattr(self, f"{kind}s")
        return [one] if one is not None else several


_MOST = 4096
"""Maximum tokens to force, block or pull: each takes time from other requests."""


class TraceOf(Config):
    """A trace request with optional interventions; see docs/trace.md."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"input": _TEXT},
                {"input": _TEXT, "options": {"beam": 5}, "block": [2], "pull": [[1, 0, 0.8]], "detail": True},
                {"image": _PICTURE},
            ]
        }
    )
    model: str | None = Field(None, description="A name from GET /v1/models; default: the first.")
    input: Given | None = _INPUT
    image: Picture | None = _IMAGE
    sound: Picture | None = _SOUND
    options: Options = _OPTIONS
    force: list[int] = Field(default=[], max_length=_MOST, description="Token ids that the answer must begin with.")
    block: list[int] = Field(
        default=[], max_length=_MOST, description="Positions of source tokens that no attention may attend to."
    )
    pull: list[Pull] = Field(
        default=[], max_length=_MOST, description="[step, source position, attention weight to set]."
    )
    detail: bool = Field(False, description="Whether to return hidden vectors.")

    @model_validator(mode="after")
    def _one_of_them(self) -> TraceOf:
        if [self.input, self.image, self.sound].count(None) != 2:
            raise ValueError("there must be exactly one of input (a text), image and sound (in base64)")
        return self

    @property
    def texts(self) -> list[Given] | None:
        """The input as a list unless it is an image or a sound, else None."""
        return None if self.input is None else [self.input]

    def files(self, kind: str) -> list[str | bytes] | None:
        """Return the input as a list if it is of a kind, image or sound, else None."""
        one: str | bytes | None = getattr(self, kind)
        return None if one is None else [one]


class Sample(Config):
    """A request for a grid of images, for a model that generates images."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"input": "3"}, {"input": {"seed": 1, "class": "7"}, "grid": 8}]}
    )
    model: str | None = Field(None, description="A name from GET /v1/models; default: the first.")
    input: Given = Field(
        "1",
        description="The seed of the first image; or an object with `seed`, and `class`, `truncation`, or `toward` and "
        "`share`. Each further image has the next seed.",
    )
    grid: int = Field(1, ge=1, le=64, description="Rows and columns of images.")

    def inputs(self) -> list[Given]:
        """Return the input of each image; `input` must be valid."""
        given = {"seed": int(self.input)} if isinstance(self.input, str) else self.input
        return [given | {"seed": given["seed"] + number} for number in range(self.grid**2)]

    @property
    def texts(self) -> list[Given]:
        """The input as a list."""
        return [self.input]


class Attended(Config):
    """Attention weights: for every site (heads, target tokens, source tokens or regions)."""

    source: list[str] = Field(description="Source tokens.")
    target: list[str] = Field(description="Target tokens.")
    sites: dict[str, list[Any]] = Field(description="Weights, by the name of the site.")
    grid: list[int] | None = Field(None, description="Rows and columns of an image's regions, in row-major order.")
    turn_of: list[int] | None = Field(None, description="For a dialogue: the turn of each source token.")
    extra_sides: dict[str, list[str]] | None = Field(None, description="Tokens of further sources, by name.")
    between: dict[str, list[str]] | None = Field(
        None, description="Only with extra sides: the sides that a site's rows and columns stand for."
    )


class Spoken(Config):
    """A word of a transcript."""

    text: str = Field(description="The word.")
    begin: float = Field(description="Seconds.")
    end: float = Field(description="Seconds.")


class Predicted(Config):
    """One prediction."""

    source: str | None = Field(None, description="The input, if it is a text.")
    text: str = Field(description="The output.")
    score: float = Field(description="Log-probability, after the penalties of beam search.")
    tokens: list[str] = Field(description="Output tokens, such as subwords.")
    notes: list[str] = Field(default=[], description="What the model did not read of its input.")
    words: list[Spoken] = Field(default=[], description="For speech, with attention: words and their times.")
    span: list[int] | None = Field(None, description="Characters [begin, end) of the passage that are the answer.")
    image: str | None = Field(None, description="For a model that draws: the image as a data: URL of a PNG.")
    attention: Attended | None = Field(None, description="Only if the request asks for it.")
    others: list[Predicted] = Field(default=[], description="The next best predictions, if nbest is above 1.")


class Predictions(Config):
    """The predictions, one for each input, in order."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "model": "demo",
                    "predictions": [
                        {
                            "source": _TEXT,
                            "text": "l' espace économique européen",
                            "score": -0.12,
                            "tokens": ["l'", "espace", "économique", "européen", "</s>"],
                        }
                    ],
                }
            ]
        }
    )
    model: str = Field(description="The name of the model.")
    predictions: list[Predicted] = Field(description="One for each input, in order.")


class Known(Config):
    """A served model; `input` is what it reads: "text", "picture" (images), "sound" and others.

    `examples` have the fields of a trace request, `input` or `image`; images have a `name` too.
    """

    name: str = Field(description="What `model` in a request refers to.")
    task: str = Field(description="The task of its recipe.")
    input: str = Field(description="What it reads: text, question, dialogue, points, picture, sound, episode or seed.")
    preset: str = Field(description="The preset of its recipe.")
    parameters: int = Field(description="Number of parameters.")
    attention: bool = Field(description="Whether it has attention.")
    examples: list[dict[str, Given]] = Field(default=[], description="Inputs to try.")
    classes: list[str] = Field(default=[], description="For a model that draws images by class: the classes.")


class Models(Config):
    """The served models; the first is the default."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "models": [
                        {
                            "name": "demo",
                            "task": "translation",
                            "input": "text",
                            "preset": "bahdanau",
                            "parameters": 1234567,
                            "attention": True,
                            "examples": [{"input": _TEXT}],
                        }
                    ]
                }
            ]
        }
    )
    models: list[Known] = Field(description="The first is the default.")


class Health(Config):
    """Whether the server accepts requests."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"status": "ok"}]})
    status: str = Field(description="Always `ok`.")


class Fault(Config):
    """An error: a code for programs and a message for people."""

    code: str = Field(description="For programs; see the table of errors.")
    message: str = Field(description="For people: what is wrong, and what to do.")


class Failure(Config):
    """The body of every error."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"error": {"code": "not_found", "message": "There is no model 'dema'. Known: demo."}}]
        }
    )
    error: Fault = Field(description="What went wrong.")


def parse_body(kind: type[Kind], body: bytes | bytearray) -> Kind:
    """Parse a JSON request; a Problem names every place that is not valid."""
    try:
        # unlike the json module, it refuses invalid Unicode and limits the nesting depth
        found = from_json(body, allow_inf_nan=False)
    except (ValueError, RecursionError) as error:
        raise Problem(400, f"The body is not JSON: {error}.") from error
    if not isinstance(found, dict):
        raise Problem(400, 'The body is JSON, but not an object, such as {"input": "…"}.')
    return _checked(kind, found)


def parse_picture(
    kind: type[Kind], picture: bytes, parameters: Mapping[str, str], what: Literal["image", "sound"] = "image"
) -> Kind:
    """Build a request from an image or sound as the body and a query string such as ?beam=5&attention=true."""
    found: dict[str, Any] = {what: picture}
    options: dict[str, Any] = {}
    for name, text in parameters.items():
        if name in ("image", "images", "input", "inputs", "sound", "sounds"):
            raise Problem(
                400, f"The body is {_NAMED[what]}, so {name} cannot be in the query string. Send one of them."
            )
        if name == "options":
            raise Problem(400, "In a query string, each option is a parameter of its own, as in ?beam=5.")
        place = found if name in kind.model_fields else options
        place[name] = text if name == "model" else _value(text)
    return _checked(kind, found | ({"options": options} if options else {}))


_NAMED = {"image": "an image", "sound": "a sound"}


def _value(text: str) -> Any:
    """Parse a query value as JSON; keep it as text if it is not JSON, and let validation refuse it."""
    try:
        return from_json(text, allow_inf_nan=False)
    except (ValueError, RecursionError):
        return text


def _checked(kind: type[Kind], found: dict[str, Any]) -> Kind:
    found = _without_excess(kind, found)
    if isinstance(options := found.get("options"), dict):
        found["options"] = _without_excess(Options, options)
    request, faults = check(kind, found)
    if request is None:
        raise Problem(400, str(refuse(faults[:_FAULTS], "the request")))
    return request


def _without_excess(kind: type[Config], found: dict[str, Any]) -> dict[str, Any]:
    """Drop most unknown fields and shorten the names of the rest, so that the error stays readable."""
    unknown = [name for name in found if name not in kind.model_fields]
    shown = {name: name if len(name) <= _NAME else f"{name[:_NAME]}…" for name in unknown[:_FAULTS]}
    known = {name: value for name, value in found.items() if name in kind.model_fields}
    return known | {short: found[name] for name, short in shown.items()}
