"""The paths of the server. Each checks what was asked, queues it, and waits for the results.

Also the files that clients send, read one at a time, and the files of the page.
"""

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, TypeVar

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

from readlet.bundled import corpus
from readlet.data import read_examples
from readlet.errors import ReadletError
from readlet.inference.document_files import KINDS, DocumentKind, read_bytes
from readlet.inference.inputs import LEVELS
from readlet.processes import Job
from readlet.serve.batching import Counters, results, while_wanted
from readlet.serve.documents import QueuedReader, Shelf, answer_documents
from readlet.serve.messages import (
    AnswerRequest,
    AnswerResponse,
    AskRequest,
    AskResponse,
    ClassifierMessage,
    ClassifyRequest,
    ClassifyResponse,
    HealthResponse,
    Limits,
    ModelsResponse,
    PassageMessage,
    ReaderMessage,
    RequestError,
    TextResponse,
    reasons,
)
from readlet.serve.middleware import Guard
from readlet.serve.registry import (
    Models,
    ServedReader,
    class_texts,
    documents_of,
    options_of,
    questions_of,
)

_MOST_WAITING = 8
_ASKED_AT_ONCE = 16  # questions about documents; others wait


_OFFICE = "application/vnd.openxmlformats-officedocument."
_TYPES_OF_KINDS: dict[str, tuple[str, ...]] = {
    "text": ("text/plain", "text/markdown"),
    "markdown": ("text/markdown", "text/plain"),
    "html": ("text/html", "application/xhtml+xml"),
    "pdf": ("application/pdf",),
    "docx": (f"{_OFFICE}wordprocessingml.document",),
    "xlsx": (f"{_OFFICE}spreadsheetml.sheet",),
    "csv": ("text/csv",),
    "eml": ("message/rfc822",),
}
_ANY_BYTES = "application/octet-stream"


def _check_type(request: Request, kind: DocumentKind) -> None:
    """Reject other types: apart from plain text, forms on other sites cannot send these."""
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given not in (_ANY_BYTES, *_TYPES_OF_KINDS[kind]):
        proper = " or ".join((_ANY_BYTES, *_TYPES_OF_KINDS[kind]))
        raise RequestError(415, f"send the file with Content-Type: {proper}")


class Uploads:
    """Reading a file takes time and memory: one is read at a time, and only a few wait.

    The subprocess that reads it ends with the request, and only then the next file starts.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._turn = asyncio.Lock()
        self._waiting = 0

    async def document(self, request: Request, kind: DocumentKind) -> Response:
        if self._waiting >= _MOST_WAITING:
            raise RequestError(429, "other files are being read; try again later", retry_after=1)
        self._waiting += 1
        reading = asyncio.ensure_future(self._in_turn(await request.body(), kind))
        try:
            return await while_wanted(request, reading, self._limits.seconds)
        finally:
            self._waiting -= 1

    async def _in_turn(self, data: bytes, kind: DocumentKind) -> Response:
        async with self._turn:
            job = Job()
            reading = asyncio.ensure_future(asyncio.to_thread(self._read, data, kind, job))
            try:
                return await asyncio.shield(reading)
            finally:
                job.kill()
                await asyncio.wait((reading,))

    def _read(self, data: bytes, kind: DocumentKind, job: Job) -> Response:
        """The whole response: to check and encode a long text takes a while."""
        document = read_bytes(data, kind, guess=True, seconds=self._limits.seconds, job=job)
        length, most = len(document.text), self._limits.document_characters
        if length > most:
            raise ReadletError(f"the file has {length:,} characters; at most {most:,}")
        content = TextResponse.model_validate(asdict(document)).model_dump_json()
        return Response(content, media_type="application/json")


_STATIC = Path(__file__).parent / "static"
_TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
_PASSAGES, _QUESTIONS = 8, 3
_FAULTS = 3


@cache
def page_files() -> dict[str, tuple[bytes, str]]:
    """Content and media type of each file of the page, by its path on the server."""
    files = {
        f"/{path.name}": (path.read_bytes(), _TYPES[path.suffix])
        for path in sorted(_STATIC.iterdir())
        if path.suffix in _TYPES
    }
    files |= {"/": files.pop("/index.html"), "/docs": files.pop("/docs.html")}
    return files


@cache
def bundled_passages() -> list[PassageMessage]:
    """The first passages of the bundled test split, each with a few questions."""
    found: dict[str, PassageMessage] = {}
    for example in read_examples(corpus("test")):
        if example.language not in ("", "en"):  # the bundled reader reads English
            continue
        if example.context not in found and len(found) < _PASSAGES:
            passage = PassageMessage(title=example.title, passage=example.context, questions=[])
            found[example.context] = passage
        shown = found.get(example.context)
        if shown is not None and len(shown.questions) < _QUESTIONS:
            shown.questions.append(example.question)
    return list(found.values())


_QUEUED = (400, 401, 403, 404, 408, 413, 422, 429, 503)
Served = TypeVar("Served")


def make_app(
    models: Models,
    limits: Limits,
    counters: Counters,
    *,
    key: str = "",
    hosts: frozenset[str] | None = None,
    origins: frozenset[str] = frozenset(),
) -> Any:
    """The application. Without `hosts`, a request may name any host.

    `origins` are other sites whose pages may use it.
    """
    app = FastAPI(
        title="Readlet",
        description="Answers as spans of a passage, and classes of texts.",
        docs_url=None,  # these pages load external scripts; /docs is our own
        redoc_url=None,
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    _add_errors(app)
    _add_models(app, models, limits)
    _add_page(app, limits)

    @app.get("/health", responses=reasons(408))
    async def health() -> HealthResponse:
        """Whether the server is up."""
        return HealthResponse(status="ok")

    @app.get("/metrics", response_class=PlainTextResponse, responses=reasons(401, 408))
    async def metrics() -> str:
        """Counters for Prometheus."""
        return counters.text(models.waiting())

    pages = frozenset(page_files())
    paths = frozenset({*app.openapi()["paths"], "/openapi.json"}) | pages
    guard = Guard(app, limits, counters, key, hosts, pages | {"/health"}, paths, origins)
    if not origins:
        return guard
    return CORSMiddleware(
        guard,
        sorted(origins),
        allow_methods=["GET", "POST"],
        allow_headers=["authorization", "content-type"],
        expose_headers=["retry-after"],
    )


def _add_models(app: FastAPI, models: Models, limits: Limits) -> None:
    @app.get("/readers", responses=reasons(401, 408))
    async def readers() -> ModelsResponse:
        """The models of this server, as they were when it started."""
        return ModelsResponse(
            readers=[ReaderMessage(name=name) for name in models.readers],
            classifiers=[
                ClassifierMessage(
                    name=name,
                    classes=list(served.model.classes),
                    pairs=served.model.scorer.encoder.pairs,
                )
                for name, served in models.classifiers.items()
            ],
            levels=LEVELS,
            limits=asdict(limits),
            kinds=dict(KINDS),
        )

    shelf, threads = Shelf(limits), ThreadPoolExecutor(_ASKED_AT_ONCE, "readlet ask")

    @app.post("/ask", responses=reasons(*_QUEUED))
    async def ask(request: Request, asked: AskRequest) -> AskResponse:
        """The answer to a question about documents, with its document, sentence and line."""
        name, served = _chosen(models.readers, asked.reader, "reader")
        options = _options(asked, name, served)
        reader, texts = QueuedReader(served), documents_of(asked, limits)
        given = (name, reader, shelf, texts, asked.question, options, limits)
        loop = asyncio.get_running_loop()
        work = asyncio.ensure_future(loop.run_in_executor(threads, answer_documents, *given))
        try:
            return await while_wanted(request, work, limits.seconds)
        finally:
            reader.cancel()

    @app.post("/answer", responses=reasons(*_QUEUED))
    async def answer(request: Request, asked: AnswerRequest) -> AnswerResponse:
        """Answers to questions, with their places in the passage, or none."""
        name, served = _chosen(models.readers, asked.reader, "reader")
        questions = questions_of(asked, _options(asked, name, served), limits)
        futures = served.answers.submit(questions)
        return AnswerResponse(reader=name, answers=await results(request, futures, limits.seconds))

    def _options(asked: AnswerRequest | AskRequest, name: str, served: ServedReader) -> Any:
        if asked.unanswerable_share is not None and not served.model.takes_unanswerable_share:
            raise RequestError(422, f"unanswerable_share: {name} has no probabilities to move")
        return options_of(asked, limits)

    @app.post("/classify", responses=reasons(*_QUEUED))
    async def classify(request: Request, asked: ClassifyRequest) -> ClassifyResponse:
        """Classes or values of texts, or of pairs of texts."""
        name, served = _chosen(models.classifiers, asked.classifier, "classifier")
        pairs = served.model.scorer.encoder.pairs
        futures = served.classes.submit(class_texts(asked, limits, pairs=pairs))
        found = await results(request, futures, limits.seconds)
        return ClassifyResponse(classifier=name, predictions=found)


def _add_page(app: FastAPI, limits: Limits) -> None:
    uploads = Uploads(limits)

    @app.get("/passages", responses=reasons(401, 408))
    async def passages() -> list[PassageMessage]:
        """A few passages that come with Readlet, with questions."""
        return bundled_passages()

    types = dict.fromkeys((_ANY_BYTES, *chain.from_iterable(_TYPES_OF_KINDS.values())))
    schema = {"schema": {"type": "string", "minLength": 1}}
    body = {"required": True, "content": dict.fromkeys(types, schema)}

    @app.post(
        "/text",
        response_model=TextResponse,
        responses=reasons(*_QUEUED, 415),
        openapi_extra={"requestBody": body},
    )
    async def text(
        request: Request, kind: Annotated[DocumentKind, Query(description="What the body is.")]
    ) -> Response:
        """The text of a file, and the names of its parts: pages, rows, headings."""
        _check_type(request, kind)
        return await uploads.document(request, kind)

    # Only these files are served, from memory: no path of a request is looked up on the disk.
    for path, (content, media_type) in page_files().items():
        app.add_api_route(path, _sent(content, media_type), include_in_schema=False)


def _sent(content: bytes, media_type: str) -> Any:
    async def send() -> Response:
        return Response(content, media_type=media_type)

    return send


def _chosen(models: Mapping[str, Served], name: str | None, kind: str) -> tuple[str, Served]:
    if name is None and models:
        return next(iter(models.items()))
    if name is None:
        raise RequestError(404, f"this server has no {kind}")
    if name not in models:
        raise RequestError(404, f"no {kind} of this name; GET /readers lists them")
    return name, models[name]


def _what_is_wrong(errors: Sequence[Any]) -> str:
    """Each fault with its field."""
    if any(one["loc"] == ("body",) or one["type"] == "json_invalid" for one in errors):
        remedy = "send one with Content-Type: application/json"
        return f"the body is not a JSON object; {remedy}"
    faults = []
    for one in errors:
        # It may contain names of unknown fields, of any length and with any character.
        place = ".".join(map(str, one["loc"][1:4])).encode("ascii", "backslashreplace").decode()
        faults.append(f"{place:.80}: {one['msg']}")
    return "; ".join(faults[:_FAULTS])


def _add_errors(app: FastAPI) -> None:
    """Every error is JSON with a reason; the client's input is not echoed."""

    @app.exception_handler(RequestError)
    async def rejected(_: Request, error: RequestError) -> JSONResponse:
        return JSONResponse({"reason": error.reason}, error.status, error.headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        return JSONResponse({"reason": _what_is_wrong(error.errors())}, 422)

    @app.exception_handler(HTTPException)
    async def other(_: Request, error: HTTPException) -> JSONResponse:
        return JSONResponse({"reason": str(error.detail)}, error.status_code, error.headers)

    @app.exception_handler(Exception)
    async def fault(_: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"reason": "an error in the server; its log has more"}, 500)
