"""Questions of concurrent requests are computed together, by one thread for each model.

A model that computes each question with one core has a thread for each core. A request waits for
its results until its timeout, and only while its client is connected.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Generic, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from readlet.errors import ReadletError, is_out_of_memory
from readlet.serve.messages import Limits, RequestError

if TYPE_CHECKING:
    from fastapi import Request


Found = TypeVar("Found")
Wanted = TypeVar("Wanted")


async def results(
    request: "Request", futures: Sequence["Future[Found]"], seconds: float
) -> list[Found]:
    """All results in order. If the caller stops waiting, queued work is cancelled."""
    try:
        return await while_wanted(request, asyncio.ensure_future(_all(futures)), seconds)
    finally:
        for future in futures:
            future.cancel()


async def _all(futures: Sequence["Future[Found]"]) -> list[Found]:
    return [await asyncio.wrap_future(future) for future in futures]


async def while_wanted(
    request: "Request", work: "asyncio.Future[Wanted]", seconds: float
) -> "Wanted":
    """The result; the work is cancelled on timeout or when its client has disconnected."""
    left = asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait((work, left), timeout=seconds, return_when="FIRST_COMPLETED")
        if work.done():
            return _result(work)
        if left.done():
            raise RequestError(503, "the client has left")
        raise RequestError(503, f"not done within {seconds:g} s; send less, or try again later")
    finally:
        left.cancel()
        work.cancel()


def _result(work: "asyncio.Future[Wanted]") -> "Wanted":
    try:
        return work.result()
    except (MemoryError, RuntimeError, ReadletError) as error:
        if is_out_of_memory(error):
            raise RequestError(503, "the memory is full; send less at once") from None
        if isinstance(error, ReadletError):
            raise RequestError(422, str(error)) from None
        raise


async def _left(request: "Request") -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


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


Asked = TypeVar("Asked")
_JOIN_SECONDS = 5.0
_RETRY_SECONDS = 1
_FEW = 3


class Batcher(Generic[Asked, Found]):
    """A queue and its worker threads, which call `compute` concurrently."""

    def __init__(
        self,
        name: str,
        compute: Callable[[list[Asked]], list[Found]],
        limits: Limits,
        counters: Counters,
        characters: Callable[[Asked], int],
        *,
        threads: int = 1,
    ) -> None:
        self._name = name
        self._compute = compute
        self._limits = limits
        self._counters = counters
        self._characters = characters
        self._waiting: deque[tuple[Asked, Future[Found]]] = deque()
        self._changed = threading.Condition()
        self._closed = False
        # Daemons: a long computation does not keep the program from ending.
        self._threads = [
            threading.Thread(target=self._work, name=f"readlet {name}", daemon=True)
            for _ in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def __len__(self) -> int:
        """The number of waiting questions."""
        return len(self._waiting)

    def submit(self, asked: Sequence[Asked]) -> list[Future[Found]]:
        """Queue all questions of a request, or none of them if there is no room."""
        with self._changed:
            if self._closed:
                raise RequestError(503, "the server is stopping")
            if len(self._waiting) + len(asked) > self._limits.queue:
                reason = f"{len(self._waiting)} questions are waiting; try again later"
                raise RequestError(429, reason, retry_after=_RETRY_SECONDS)
            futures: list[Future[Found]] = [Future() for _ in asked]
            self._waiting.extend(zip(asked, futures, strict=True))
            self._changed.notify_all()
        return futures

    def close(self) -> None:
        """Reject what waits; running computations get a few seconds."""
        with self._changed:
            self._closed = True
            waiting = [future for _, future in self._waiting]
            self._waiting.clear()
            self._changed.notify_all()
        for future in waiting:
            _fail(future, RequestError(503, "the server is stopping"))
        end = time.monotonic() + _JOIN_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _work(self) -> None:
        while batch := self._next():
            # A request that ran out of time, or whose client has left, has cancelled its futures.
            wanted = [item for item in batch if item[1].set_running_or_notify_cancel()]
            if wanted:
                self._run(wanted)

    def _next(self) -> list[tuple[Asked, Future[Found]]]:
        """Questions to compute together; none when the queue is closed."""
        with self._changed:
            while True:
                while not self._waiting and not self._closed:
                    self._changed.wait()
                if len(self._threads) == 1:
                    self._wait_for_more()
                if self._waiting or self._closed:
                    return self._taken()

    def _wait_for_more(self) -> None:
        end = time.monotonic() + self._limits.window_seconds
        while len(self._waiting) < self._limits.together and not self._closed:
            left = end - time.monotonic()
            if left <= 0:
                break
            self._changed.wait(left)

    def _taken(self) -> list[tuple[Asked, Future[Found]]]:
        """The first questions, with at most as much text as the longest passage.

        Running computations cannot be stopped. So a request of many long passages does not keep
        the model busy after its timeout: what is still queued is cancelled.
        """
        taken: list[tuple[Asked, Future[Found]]] = []
        room = self._limits.passage_characters
        most = self._limits.together
        if len(self._threads) > 1:
            # Some for every thread, and not many: they would all wait for the last one.
            most = min(most, _FEW, -(-len(self._waiting) // len(self._threads)))
        while self._waiting and len(taken) < most:
            room -= self._characters(self._waiting[0][0])
            if taken and room < 0:
                break
            taken.append(self._waiting.popleft())
        return taken

    def _run(self, batch: list[tuple[Asked, Future[Found]]]) -> None:
        try:
            found = self._compute([asked for asked, _ in batch])
        except Exception as error:
            if len(batch) == 1:
                _fail(batch[0][1], error)
                return
            for item in batch:  # only the question that fails by itself should fail
                self._run([item])
            return
        self._counters.batches.labels(self._name).inc()
        self._counters.questions.labels(self._name).inc(len(batch))
        for (_, future), result in zip(batch, found, strict=True):
            future.set_result(result)


def _fail(future: "Future[Found]", error: Exception) -> None:
    with suppress(Exception):  # cancelled in the meantime
        future.set_exception(error)
