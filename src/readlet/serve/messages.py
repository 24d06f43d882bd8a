"""Schemas of requests and responses. All offsets count characters (code points) of the text."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from readlet.inference.inputs import N_BEST
from readlet.types import Classification, Prediction

_PASSAGE = "The kettle was patented in 1891. A toaster followed two years later."
_ANSWER: dict[str, Any] = {"text": "1891", "start": 27, "end": 31, "score": 0.93}
_IN = {"sentence": "The kettle was patented in 1891."}
_Text = Annotated[str, Field(json_schema_extra={"pattern": r"\S"})]
_Texts = _Text | Annotated[list[_Text], Field(json_schema_extra={"minItems": 1})]


class Request(BaseModel):
    """Unknown fields are rejected: a misspelt one would otherwise have no effect."""

    model_config = ConfigDict(extra="forbid", strict=True)


class _Options(Request):
    """How questions are answered."""

    reader: Annotated[str | None, Field(description="By default the first one.")] = None
    n_best: Annotated[int, Field(ge=1, description="Number of candidates.")] = N_BEST
    min_confidence: Annotated[
        Annotated[float, Field(ge=0, le=1)] | Literal["always", "balanced", "strict"],
        Field(description="How sure the reader must be to answer rather than abstain."),
    ] = "balanced"
    unanswerable_share: Annotated[
        float | None,
        Field(ge=0, lt=1, description="Share of the questions expected to have no answer."),
    ] = None
    language: Annotated[
        str, Field(description="Language of the passages, as a code such as es; empty: guessed.")
    ] = ""
    question_language: Annotated[
        str, Field(description="Language of the question; empty: guessed.")
    ] = ""


class AnswerRequest(_Options):
    """One question, or several; about one passage, or about as many as there are questions."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"question": "When was the kettle patented?", "passage": _PASSAGE},
                {
                    "question": ["When was the kettle patented?", "What followed?"],
                    "passage": _PASSAGE,
                    "n_best": 3,
                    "min_confidence": "strict",
                },
            ],
        }
    )
    question: _Texts
    passage: _Texts


class AnswerResponse(BaseModel):
    """One answer for each question, in order."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "reader": "bundled",
                    "answers": [
                        {
                            **_ANSWER,
                            "no_answer": 0.05,
                            "abstained": False,
                            "n_best": [_ANSWER | _IN],
                            "certainty": "sure",
                        }
                    ],
                }
            ]
        }
    )
    reader: str
    answers: list[Prediction]


class NamedDocument(Request):
    """A document; the parts are those of /text, without which places are lines."""

    name: Annotated[str, Field(min_length=1, max_length=1000)]
    text: str
    starts: Annotated[list[int], Field(description="Where the parts begin.")] = []
    labels: Annotated[list[str], Field(description="Of the parts, such as `page 3`.")] = []


class AskRequest(_Options):
    """One question about documents; of long ones only the most relevant pieces are read."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "question": "When was the kettle patented?",
                    "documents": [{"name": "kettle.txt", "text": _PASSAGE}],
                }
            ],
        }
    )
    question: _Text
    documents: Annotated[list[NamedDocument], Field(min_length=1)]


class LocatedCandidate(BaseModel):
    """A candidate with its place: `text[start:end]` of the document."""

    document: str
    text: str
    start: int
    end: int
    score: Annotated[float, Field(description="Probability that this answer is right.")]
    certainty: Annotated[str, Field(description="The score in a word: sure, likely or unsure.")]
    sentence: str
    sentence_start: int
    line: Annotated[int, Field(description="From 1.")]
    place: Annotated[str, Field(description="Its page, row or heading; else its line.")]


class AskResponse(BaseModel):
    """The answer to a question about documents; without one the text is empty."""

    reader: str
    text: str
    score: Annotated[float, Field(description="Probability that the first candidate is right.")]
    no_answer: Annotated[float, Field(description="Probability that there is no answer.")]
    abstained: bool
    unknown_language: str
    certainty: Annotated[str, Field(description="sure, likely or unsure.")]
    candidates: Annotated[list[LocatedCandidate], Field(description="Best first.")]
    pieces: Annotated[int, Field(description="Of the documents.")]
    read: Annotated[int, Field(description="Pieces that the reader has read.")]


class ClassifyRequest(Request):
    """One text, or several; with as many second texts for a classifier of pairs."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"text": "The lamp works well and looks lovely."}]}
    )
    text: _Texts
    second: Annotated[
        _Texts | None, Field(description="For a classifier of pairs, and only for one.")
    ] = None
    classifier: Annotated[str | None, Field(description="By default the first one.")] = None


class ClassifyResponse(BaseModel):
    """One prediction for each text, in order."""

    classifier: str
    predictions: list[Classification]


class ReaderMessage(BaseModel):
    name: str


class ClassifierMessage(BaseModel):
    name: str
    classes: Annotated[list[str], Field(description="None: it predicts values.")]
    pairs: bool


class ModelsResponse(BaseModel):
    """The models, as they were when the server started."""

    readers: list[ReaderMessage]
    classifiers: list[ClassifierMessage]
    levels: Annotated[dict[str, float], Field(description="Named levels of `min_confidence`.")]
    limits: dict[str, int | float]
    kinds: Annotated[
        dict[str, str], Field(description="Kinds of files for /text, by the ending of their names.")
    ]


class TextResponse(BaseModel):
    text: str
    starts: Annotated[list[int], Field(description="Start offsets of the parts.")]
    labels: Annotated[list[str], Field(description="Labels of the parts, such as `page 3`.")]
    guessed_encoding: Annotated[
        str, Field(description="Encoding that was guessed; empty: as declared, or UTF-8.")
    ]


class PassageMessage(BaseModel):
    title: str
    passage: str
    questions: list[str]


class HealthResponse(BaseModel):
    status: str


class Reason(BaseModel):
    """Why a request was rejected."""

    reason: str


def reasons(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors of a path, for the schema."""
    return {status: {"model": Reason, "description": _STATUSES[status]} for status in statuses}


_STATUSES = {
    400: "Malformed",
    401: "No key, or a wrong one",
    403: "Sent by a page of another site",
    404: "Unknown model",
    408: "The body came too slowly",
    413: "Too large",
    415: "Another type of content",
    422: "Invalid",
    429: "Too many questions are waiting",
    503: "Timed out, or the server is stopping",
}
