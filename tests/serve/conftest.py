"""Servers in this process: of tiny readers, and of readers that count and wait."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest

from readlet.inference.inputs import DEFAULTS, Answerer
from readlet.serve.batching import Counters
from readlet.serve.messages import Limits
from readlet.serve.registry import Models, serve_models
from readlet.types import Candidate, Prediction


@dataclass
class SlowReader(Answerer):
    """Answers with the first word. It notes its batches, and waits until it may go on."""

    name: str = "slow"
    batches: list[list[tuple[str, str]]] = field(default_factory=list)
    entered: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    may_go: threading.Event = field(default_factory=threading.Event)

    def answer_batch(
        self, asked: Iterable[Any], options: Any = DEFAULTS, **_: Any
    ) -> Iterator[Prediction]:
        listed = [(example.question, example.context) for example in asked]
        self.batches.append(listed)
        self.entered.release()
        assert self.may_go.wait(20)
        for question, context in listed:
            if question == "fail":
                raise RuntimeError("no such luck")
            word = context.split()[0]
            start = context.index(word)
            yield Prediction.choose(
                [Candidate(word, start, start + len(word), 0.75)], 0.25, options.level
            )


@dataclass
class Server:
    client: Any
    models: Models
    counters: Counters

    def post(self, path: str, **body: Any) -> Any:
        return self.client.post(path, json=body)


@pytest.fixture(scope="module")
def start() -> Iterator[Callable[..., Server]]:
    """Serve these models, by name; `limits` are keyword arguments."""
    testclient = pytest.importorskip("fastapi.testclient")
    from readlet.serve.app import make_app

    with ExitStack() as stack:

        def make(
            models: dict[str, Any],
            *,
            key: str = "",
            hosts: Any = None,
            origins: Any = frozenset(),
            **limits: Any,
        ) -> Server:
            chosen, counters = Limits(**limits), Counters()
            served = serve_models(models, chosen, counters)
            stack.callback(served.close)
            app = make_app(served, chosen, counters, key=key, hosts=hosts, origins=origins)
            # Entered: one event loop for all requests of a client.
            client = stack.enter_context(testclient.TestClient(app, raise_server_exceptions=False))
            return Server(client, served, counters)

        yield make


@pytest.fixture
def slow() -> Iterator[SlowReader]:
    reader = SlowReader()
    yield reader
    reader.may_go.set()
