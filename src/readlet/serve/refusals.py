"""Requests that are refused: a status and a reason, sent to the client as JSON."""


class RefusedError(Exception):
    """The request is not answered. The client gets the status, and the reason as JSON."""

    def __init__(self, status: int, reason: str, *, retry_after: int | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.retry_after = retry_after  # seconds

    @property
    def headers(self) -> dict[str, str]:
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
