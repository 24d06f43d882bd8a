"""How the batches of a graph share the cores.

One batch alone is computed by all cores. Of many, each core computes its own: cores that share an
operation wait for each other at its end, and a small reader has a thousand operations. For this
the graph is loaded a second time, once that pays off.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from readlet.encoding.batches import Arrays, Batches
from readlet.encoding.rows import Ints
from readlet.families.onnx_graph import OnnxGraph, own_threads

# In a batch, padding included. Fewer do not fill the operations, more do not fit into the caches.
_PLACES = 512
# To load the graph again takes as long as some ten questions.
_PLACES_BEFORE_SECOND = 4096
Found = TypeVar("Found")


class Workers:
    """A thread for each core, and the graph that they run. Several callers share them."""

    def __init__(self, graph: OnnxGraph) -> None:
        self.threads = own_threads()
        self._graph = graph
        self._lock = threading.Lock()
        self._callers = 0
        self._places = 0  # so far
        self._own: OnnxGraph | None = None  # the graph for one core
        self._pool: ThreadPoolExecutor | None = None

    def each(
        self, batches: Batches[Arrays], compute: Callable[[OnnxGraph, Ints], Found]
    ) -> Iterator[Found]:
        """What `compute` makes of all rows, the longest first, a few places at a time."""
        places = batches.places()
        with self._calling(places) as alone:
            own, pool = self._own, self._pool
            share = -(-places // self.threads)  # few rows: some for each thread
            cuts = batches.by_length(min(_PLACES, share) if own and alone else _PLACES)
            if own is None or pool is None or (alone and len(cuts) == 1):
                for numbers in cuts:
                    yield compute(self._graph, numbers)
            elif alone:
                yield from _in_order(pool, self.threads, own, cuts, compute)
            else:  # the other cores are busy
                for numbers in cuts:
                    yield compute(own, numbers)

    def prepare(self) -> None:
        """Load the graph for one core now, before anything is computed."""
        with self._lock:
            self._prepare()

    def _prepare(self) -> None:
        if self._pool is None and self.threads > 1:
            self._own = self._graph.with_one_thread()
            self._pool = ThreadPoolExecutor(self.threads, "readlet graph")

    @contextmanager
    def _calling(self, places: int) -> Iterator[bool]:
        """Whether no one else computes now."""
        with self._lock:
            self._callers += 1
            self._places += places
            alone = self._callers == 1
            if self._places >= _PLACES_BEFORE_SECOND:
                self._prepare()
        try:
            yield alone
        finally:
            with self._lock:
                self._callers -= 1


def _in_order(
    pool: ThreadPoolExecutor,
    threads: int,
    graph: OnnxGraph,
    cuts: list[Ints],
    compute: Callable[[OnnxGraph, Ints], Found],
) -> Iterator[Found]:
    """By all threads; only a few results wait, since all of them would be in memory."""
    waiting: deque[Future[Found]] = deque()
    try:
        for numbers in cuts:
            waiting.append(pool.submit(compute, graph, numbers))
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
