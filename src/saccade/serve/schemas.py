"""What requests and answers look like: checked on the way in, shown in /openapi.json with examples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

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
    "TraceOf",
    "parse_body",
    "parse_picture",
]

Kind = TypeVar("Kind", bound=Config)
Pull = Annotated[tuple[int, int, float], Field(strict=False)]
_FAULTS = 8
"""How many are worth listing, and finding: a body may have thousands, and finding them all takes seconds."""
_NAME = 60
"""The letters of an unknown name that are said again."""
_TEXT = "the European Economic Area"
_PICTURE = (
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAFklEQVR42mO4o6GhscCGQSPgxIcPHwAjIgZB8S+brgAAAABJRU5ErkJggg=="
)


def _picture(value: Any) -> str | bytes:
    if not isinstance(value, str | bytes):
        raise ValueError("a picture must be a text, which is base64")
    return value


Picture = Annotated[
    str | bytes, PlainValidator(_picture), WithJsonSchema({"type": "string", "contentEncoding": "base64"})
]
"""A picture's file: in base64, which is all that JSON can hold, or its very bytes, where they were the body."""
_IMAGE = Field(
    None, description="For a model that looks at pictures: the file of one in base64, or as a data: address of it."
)


class Options(Config):
    """How to search; what is left out is as the model's recipe has it.

    Only the types are checked here. Values are checked with the model, since they depend on each other and on its
    recipe, and against the limits of the server.
    """

    beam: int | None = Field(None, json_schema_extra={"minimum": 1})
    nbest: int | None = Field(None, json_schema_extra={"minimum": 1})
    length_penalty: float | None = Field(None, json_schema_extra={"minimum": 0})
    coverage_penalty: float | None = Field(None, json_schema_extra={"minimum": 0})
    sample: bool | None = None
    temperature: float | None = Field(None, json_schema_extra={"minimum": 0.001})
    top_k: int | None = Field(None, json_schema_extra={"minimum": 1})
    top_p: float | None = Field(None, json_schema_extra={"exclusiveMinimum": 0, "maximum": 1})
    seed: int | None = Field(None, json_schema_extra={"minimum": 0})
    max_length: int | None = Field(None, json_schema_extra={"minimum": 1})
    min_length: int | None = Field(None, json_schema_extra={"minimum": 0})

    def given(self) -> dict[str, Any]:
        """Those that were said."""
        return {name: value for name, value in self if value is not None}


class Predict(Config):
    """What to answer: one input, or a list of inputs; which are pictures where the model looks at pictures."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"input": _TEXT},
                {"inputs": [_TEXT, "why did they close the old school ?"], "options": {"beam": 5, "nbest": 2}},
                {"input": _TEXT, "options": {"sample": True, "top_p": 0.9, "seed": 7}, "attention": True},
                {"image": _PICTURE},
                {"images": [_PICTURE, f"data:image/png;base64,{_PICTURE}"], "attention": True},
            ]
        }
    )
    model: str | None = Field(None, description="A name of GET /v1/models; the first one if left out.")
    input: str | None = None
    inputs: list[str] | None = Field(None, fail_fast=True)
    image: Picture | None = _IMAGE
    images: list[Picture] | None = Field(None, fail_fast=True)
    options: Options = Options()
    attention: bool = Field(False, description="Whether to answer with the weights of every attention, too.")

    @model_validator(mode="after")
    def _one_of_them(self) -> Predict:
        if [self.input, self.inputs, self.image, self.images].count(None) != 3:
            raise ValueError(
                "there must be either input, a text, or inputs, a list of texts, or image, a picture in base64, or "
                "images, a list of them"
            )
        return self

    @property
    def texts(self) -> list[str] | None:
        """All inputs, if they are texts."""
        return [self.input] if self.input is not None else self.inputs

    @property
    def pictures(self) -> list[str | bytes] | None:
        """All inputs, if they are pictures."""
        return [self.image] if self.image is not None else self.images


_MOST = 4096
"""Tokens that can be forced, blocked or pulled: each costs time that nobody else has then."""


class TraceOf(Config):
    """What to trace, and how to interfere with it; see docs/trace.md."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"input": _TEXT},
                {"input": _TEXT, "options": {"beam": 5}, "block": [2], "pull": [[1, 0, 0.8]], "detail": True},
                {"image": _PICTURE},
            ]
        }
    )
    model: str | None = Field(None, description="A name of GET /v1/models; the first one if left out.")
    input: str | None = None
    image: Picture | None = _IMAGE
    options: Options = Options()
    force: list[int] = Field(default=[], max_length=_MOST, description="Target tokens that the answer begins with.")
    block: list[int] = Field(
        default=[], max_length=_MOST, description="Places of source tokens that may not be looked at."
    )
    pull: list[Pull] = Field(
        default=[], max_length=_MOST, description="[step, place of a source token, weight it must get]."
    )
    detail: bool = Field(False, description="Whether to answer with the vectors, too.")

    @model_validator(mode="after")
    def _one_of_them(self) -> TraceOf:
        if (self.input is None) == (self.image is None):
            raise ValueError("there must be either input, a text, or image, a picture in base64")
        return self

    @property
    def texts(self) -> list[str] | None:
        """The input, if it is a text."""
        return None if self.input is None else [self.input]

    @property
    def pictures(self) -> list[str | bytes] | None:
        """The input, if it is a picture."""
        return None if self.image is None else [self.image]


class Attended(Config):
    """Where the model looked: for every site its weights (heads, tokens written, tokens or regions read)."""

    source: list[str]
    target: list[str]
    sites: dict[str, list[Any]]
    grid: list[int] | None = Field(None, description="Rows and columns of a picture's regions, which go row by row.")
    others: dict[str, list[str]] | None = Field(None, description="Tokens of further sources, by their names.")
    between: dict[str, list[str]] | None = Field(
        None, description="Where there are others: the names of what a site's rows and columns stand for."
    )


class Predicted(Config):
    """One answer."""

    source: str | None = None
    text: str
    score: float
    tokens: list[str]
    attention: Attended | None = None
    others: list[Predicted] = Field(default=[], description="The next best answers, where nbest asked for them.")


class Predictions(Config):
    """The answers, one for each input, in their order."""

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
    model: str
    predictions: list[Predicted]


class Known(Config):
    """A model that is served; `input` is "text" or "picture", `attention` says whether it has any."""

    name: str
    task: str
    input: str
    preset: str
    parameters: int
    attention: bool


class Models(Config):
    """The models that are served; the first is the default."""

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
                        }
                    ]
                }
            ]
        }
    )
    models: list[Known]


class Health(Config):
    """Whether the server takes requests."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"status": "ok"}]})
    status: str


class Fault(Config):
    """What went wrong: a word for programs, and a sentence for people."""

    code: str
    message: str


class Failure(Config):
    """The body of every error."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"error": {"code": "not_found", "message": "There is no model 'dema'. Known: demo."}}]
        }
    )
    error: Fault


def parse_body(kind: type[Kind], body: bytes | bytearray) -> Kind:
    """A request; what cannot be understood is a Problem that says where."""
    try:
        # unlike Python's own reader it refuses texts that are no Unicode, and stops at a depth
        found = from_json(body, allow_inf_nan=False)
    except (ValueError, RecursionError) as error:
        raise Problem(400, f"The body is not JSON: {error}.") from error
    if not isinstance(found, dict):
        raise Problem(400, 'The body is JSON, but not an object, such as {"input": "…"}.')
    return _checked(kind, found)


def parse_picture(kind: type[Kind], picture: bytes, parameters: Mapping[str, str]) -> Kind:
    """A request whose body is a picture and whose address says the rest, as in ?beam=5&attention=true."""
    found: dict[str, Any] = {"image": picture}
    options: dict[str, Any] = {}
    for name, text in parameters.items():
        if name in ("image", "images", "input", "inputs"):
            raise Problem(400, f"The body is a picture, so {name} cannot stand in the address. Send one of them.")
        if name == "options":
            raise Problem(400, "In an address each option stands by itself, as in ?beam=5.")
        place = found if name in kind.model_fields else options
        place[name] = text if name == "model" else _value(text)
    return _checked(kind, found | ({"options": options} if options else {}))


def _value(text: str) -> Any:
    """What a text in an address means: a number, a truth, a list; what is none of these is refused as a text."""
    try:
        return from_json(text, allow_inf_nan=False)
    except (ValueError, RecursionError):
        return text


def _checked(kind: type[Kind], found: dict[str, Any]) -> Kind:
    found = _few(kind, found)
    if isinstance(options := found.get("options"), dict):
        found["options"] = _few(Options, options)
    request, faults = check(kind, found)
    if request is None:
        raise Problem(400, str(refuse(faults[:_FAULTS], "the request")))
    return request


def _few(kind: type[Config], found: dict[str, Any]) -> dict[str, Any]:
    """What was sent, without most of the names that nobody knows, and with no more of each than can be read."""
    unknown = [name for name in found if name not in kind.model_fields]
    shown = {name: name if len(name) <= _NAME else f"{name[:_NAME]}…" for name in unknown[:_FAULTS]}
    known = {name: value for name, value in found.items() if name in kind.model_fields}
    return known | {short: found[name] for name, short in shown.items()}
