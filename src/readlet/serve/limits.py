"""Requests that are rejected: a status and a reason, sent to the client as JSON.

Limits on the size and the duration of requests.
"""

from dataclasses import dataclass, fields

from readlet.errors import ReadletError


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
