"""What answers: questions and options in, ranked answers out."""

from collections.abc import Iterator
from typing import Protocol, TypedDict

from readlet.compat.calls import Pairs
from readlet.compat.options import Options
from readlet.errors import ReadletError
from readlet.reading.reader_names import Answerer

_OF_TOKENS = ("max_answer_len", "max_seq_len", "doc_stride", "align_to_words")


class Answer(TypedDict):
    """An answer as the pipeline returned it; an impossible one is empty, from 0 to 0."""

    score: float
    start: int
    end: int
    answer: str


class Answering(Protocol):
    at_once: int  # questions

    def answers(self, asked: Pairs, options: Options) -> Iterator[list[Answer]]:
        """For each question its answers, best first, at most `top_k`."""
        ...


def no_answer(score: float) -> Answer:
    return Answer(score=score, start=0, end=0, answer="")


def ranked(answers: list[Answer], options: Options) -> list[Answer]:
    return sorted(answers, key=lambda answer: -answer["score"])[: options.top_k]


class ReaderAnswering:
    """A reader of Readlet, with its own windows and calibrated scores."""

    def __init__(self, reader: Answerer, at_once: int) -> None:
        self.reader = reader
        self.at_once = at_once

    def answers(self, asked: Pairs, options: Options) -> Iterator[list[Answer]]:
        for name in _OF_TOKENS:
            if getattr(options, name) is not None:
                fault = f"{name}: a reader of Readlet has windows and answer lengths of its own"
                raise ReadletError(f"{fault}; leave it out")
        impossible = options.handle_impossible_answer
        for prediction in self.reader.answer_batch(
            asked, options.top_k, always_answer=not impossible
        ):
            found = [
                Answer(score=c.score, start=c.start, end=c.end, answer=c.text)
                for c in prediction.n_best
            ]
            yield ranked(found + [no_answer(prediction.no_answer)] * impossible, options)
