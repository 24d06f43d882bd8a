"""Schemas of requests and responses, limits of requests, and how they are rejected.

All offsets count characters (code points) of the text.
"""

from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from readlet.errors import ReadletError
from readlet.inference.inputs import N_BEST
from readlet.types import Classification, Prediction

_PASSAGE = "The kettle was patented in 1891. A toaster followed two years later."
_Text = Annotated[str, Field(json_schema_extra={"pattern": r"\S"})]
_Texts = _Text | Annotated[list[_Text], Field(json_schema_extra={"minItems": 1})]


class RequestError(Exception):
    """A rejected request. The client gets the status, and the reason as JSON."""

    def __init__(self, status: int, reason: str, *, retry_after: int | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.retry_after = retry_after  # seconds

    @property
    def headers(self) -> dict[str, str]:
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}


@dataclass(frozen=True)
class Limits:
    """Beyond them a request is rejected at once. All are more than 0."""

    body_bytes: int = 10_000_000
    passage_characters: int = 50_000
    question_characters: int = 1_000
    text_characters: int = 20_000  # of a text to classify
    documents: int = 1_000  # of one request
    # Of all documents of a request; and a multiple of it for those whose indexes are kept.
    document_characters: int = 5_000_000
    indexed_characters: int = 20_000_000
    questions: int = 64  # of one request; or texts to classify
    n_best: int = 100
    # Questions that wait for one model; beyond it clients are told to try again later.
    queue: int = 256
    # Until a request is answered, waiting included; and until its body has arrived.
    seconds: float = 30.0
    body_seconds: float = 10.0
    # How long the first question waits for others to be computed together with it.
    window_seconds: float = 0.004
    together: int = 32  # questions that are computed together
    connections: int = 512

    def __post_init__(self) -> None:
        for field in fields(self):
            if getattr(self, field.name) <= 0:
                raise ReadletError(f"{field.name}: {getattr(self, field.name)}; must be above 0")
        if self.queue < self.questions:
            fault = f"the queue has room for {self.queue}, a request may have {self.questions}"
            raise ReadletError(f"{fault} questions; allow more in the queue or fewer in a request")


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
            "examples": [{"question": "When was the kettle patented?", "passage": _PASSAGE}],
        }
    )
    question: _Texts
    passage: _Texts


class AnswerResponse(BaseModel):
    """One answer for each question, in order."""

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
