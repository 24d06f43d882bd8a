"""Counters of the server, as text that Prometheus reads."""

from collections.abc import Mapping

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)


class Counters:
    """The counters of one server; thread-safe."""

    def __init__(self) -> None:
        self.registry = given = CollectorRegistry()
        by, path = "Questions or texts that ", ["path"]
        self.requests = Counter("readlet_requests", "Requests.", ["path", "status"], registry=given)
        self.seconds = Histogram(
            "readlet_request_seconds", "Seconds that requests took.", path, registry=given
        )
        self.questions = Counter(
            "readlet_questions", f"{by}a model has computed.", ["model"], registry=given
        )
        self.batches = Counter(
            "readlet_batches", "Batches that a model has computed.", ["model"], registry=given
        )
        self._waiting = Gauge(
            "readlet_waiting", f"{by}wait for a model.", ["model"], registry=given
        )

    def text(self, waiting: Mapping[str, int]) -> str:
        """All of them, and the lengths of the queues by model."""
        for name, length in waiting.items():
            self._waiting.labels(name).set(length)
        return generate_latest(self.registry).decode()
