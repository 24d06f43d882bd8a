"""How the batches of a graph share the cores.

One batch alone is computed by all cores. Of many, each core computes its own: cores that share an
operation wait for each other at its end, and a small reader has a thousand operations. For this
the graph is loaded a second time, once that pays off.
"""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
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
    """A thread for each core, and the graph that they run."""

    def __init__(self, graph: OnnxGraph) -> None:
        self._graph = graph
        self._threads = own_threads()
        self._places = 0  # so far
        self._own: OnnxGraph | None = None
        self._pool: ThreadPoolExecutor | None = None

    def each(
        self, batches: Batches[Arrays], compute: Callable[[OnnxGraph, Ints], Found]
    ) -> Iterator[Found]:
        """What `compute` makes of all rows, the longest first, a few places at a time."""
        places = batches.places()
        self._places += places
        if self._pool is None and self._threads > 1 and self._places >= _PLACES_BEFORE_SECOND:
            self._own = self._graph.with_one_thread()
            self._pool = ThreadPoolExecutor(self._threads, "readlet graph")
        own, pool = self._own, self._pool
        share = -(-places // self._threads)  # few rows: some for each thread
        cuts = batches.by_length(_PLACES if own is None else min(_PLACES, share))
        if own is None or pool is None or len(cuts) == 1:
            for numbers in cuts:
                yield compute(self._graph, numbers)
            return
        # A few at once: all of them would be in memory.
        waiting: deque[Future[Found]] = deque()
        try:
            for numbers in cuts:
                waiting.append(pool.submit(compute, own, numbers))
                if len(waiting) > 2 * self._threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
