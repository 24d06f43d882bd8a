"""CPU processes encode questions and decode scores while a GPU scores.

One process alone would keep a GPU idle most of the time. Each process answers chunks of questions
as `Reader.answer_batch` does, except for the scores: it sends the arrays of a batch and waits for
them. Batches are the same as in one process, and so are the answers, to the bit.
"""

import os
import pickle
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from queue import SimpleQueue
from typing import IO, Any, NamedTuple, Protocol, runtime_checkable

from readlet.errors import ReadletError
from readlet.inference.decoding import AnswerChunk, Answered
from readlet.inference.reader import MapChunks, Reader
from readlet.models.family import Floats, SpanScores
from readlet.processes import CORES, own_command, own_cores
from readlet.text.arrays import Arrays
from readlet.text.rows import Ints, Rows
from readlet.types import Example

Scored = tuple[Floats, Floats, Floats | None]
"""Scores of starts and ends, (B, L) each, and of "no answer", (B, 2)."""

_FEWEST = 2  # chunks: for fewer, starting processes takes longer
_WAITING = 2  # chunks for each process: one that it answers, and one that is ready


@runtime_checkable
class ScoresArrays(Protocol):
    """A scorer whose batches may be made in another process."""

    max_answer: int
    can_abstain: bool

    def inputs(self) -> Any:
        """Makes the arrays of a batch without torch; it can be pickled."""
        ...

    def scores_of(self, arrays: Arrays) -> Scored:
        """Scores of a batch; several threads may ask at once."""
        ...


@dataclass
class _Remote:
    """In a process that encodes: a scorer that asks the process with the GPU."""

    inputs: Any
    max_answer: int
    can_abstain: bool
    parent: Any = None  # in that process, its streams

    @property
    def encoder(self) -> Any:
        return self.inputs.encoder

    def scores(self, rows: Rows, batch_size: int) -> Iterator[tuple[Ints, SpanScores]]:
        batches = self.inputs.batches(rows, min(batch_size, max(len(rows), 1)))
        for shape, numbers in batches.in_order():
            arrays: Arrays = batches.make(shape, numbers, filled=False)
            _send(self.parent.output, arrays)
            start, end, null = _received(self.parent.input)
            yield numbers, SpanScores(start, end, self.inputs.allowed(arrays), null)


def chunks_overlapped(reader: Reader, questions: int) -> MapChunks:
    """The best way for a reader to process this many questions in chunks."""
    chunks = -(-questions // reader.chunk)
    processes = min(own_cores() - 1, chunks)
    if reader.device == "cpu" or processes < 2 or chunks < _FEWEST:
        return map
    return Overlapped(processes) if isinstance(reader.scorer, ScoresArrays) else map


@dataclass(frozen=True)
class Overlapped:
    """Answers chunk after chunk, in order, with `processes` processes beside this one.

    Pass it to `Reader.answers` in place of `map`.
    """

    processes: int

    def __call__(self, answer: AnswerChunk, chunks: Iterator[list[Example]]) -> Iterator[Answered]:
        scorer = answer.predictor.scorer
        assert isinstance(scorer, ScoresArrays)
        remote: Any = _Remote(scorer.inputs(), scorer.max_answer, scorer.can_abstain)
        sent = replace(answer, predictor=replace(answer.predictor, scorer=remote))
        free: SimpleQueue[_Process] = SimpleQueue()
        waiting: deque[Future[Answered]] = deque()

        def work(chunk: list[Example]) -> Answered:
            process = free.get()
            try:
                return process.answer(chunk, scorer)
            except BaseException:
                process.kill()  # it may wait for scores; its next user gets an error
                raise
            finally:
                free.put(process)

        with ExitStack() as stack:
            for _ in range(self.processes):
                free.put(stack.enter_context(_Process(sent)))
            pool = stack.enter_context(ThreadPoolExecutor(self.processes))
            stack.callback(lambda: pool.shutdown(wait=False, cancel_futures=True))
            for chunk in chunks:
                waiting.append(pool.submit(work, chunk))
                if len(waiting) == _WAITING * self.processes:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()


class _Process:
    """A process that encodes and decodes; leaving it ends it."""

    def __init__(self, answer: AnswerChunk) -> None:
        one = dict.fromkeys((CORES, "OMP_NUM_THREADS", "RAYON_NUM_THREADS"), "1")
        self._process = subprocess.Popen(
            own_command(__name__),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | one,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout
        self._first: AnswerChunk | None = answer

    def answer(self, chunk: Sequence[Example], scorer: ScoresArrays) -> Answered:
        try:
            if self._first is not None:
                _send(self._input, self._first)
                self._first = None
            _send(self._input, chunk)
            while isinstance(message := _received(self._output), dict):  # the arrays of a batch
                _send(self._input, scorer.scores_of(message))
        except (EOFError, OSError):
            fault = "a process that encodes questions has died"
            raise ReadletError(f"{fault}; free some memory and run it again") from None
        answered: Answered = message
        return answered

    def __enter__(self) -> "_Process":
        return self

    def kill(self) -> None:
        self._process.kill()

    def __exit__(self, *_: object) -> None:
        self.kill()
        with suppress(OSError):
            self._input.close()
        self._output.close()
        self._process.wait()


def _send(stream: IO[bytes], message: object) -> None:
    pickle.dump(message, stream, protocol=pickle.HIGHEST_PROTOCOL)
    stream.flush()


def _received(stream: IO[bytes]) -> Any:
    return pickle.load(stream)


class _Streams(NamedTuple):
    input: IO[bytes]
    output: IO[bytes]


def serve() -> None:
    """In a subprocess: answer chunks until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process with the GPU ends this one
    parent = _Streams(sys.stdin.buffer, os.fdopen(os.dup(1), "wb"))
    os.dup2(2, 1)  # output of libraries must not mix with messages
    with suppress(EOFError, BrokenPipeError):
        answer: AnswerChunk = _received(parent.input)
        scorer: Any = answer.predictor.scorer
        scorer.parent = parent
        while True:
            _send(parent.output, answer(_received(parent.input)))


if __name__ == "__main__":
    serve()
