"""Chunks of questions that are encoded and decoded in other processes."""

import dataclasses
from collections.abc import Iterator

import pytest

from readlet.errors import ReadletError
from readlet.inference.inputs import DEFAULTS
from readlet.inference.overlap import Overlapped, chunks_overlapped
from readlet.inference.reader import Reader
from readlet.types import Example

KILN = "The old kiln stands in Hollow Lane. Ada Brook built it in 1881."
HORNO = "El horno viejo está en la calle. Lo construyó Ada Brook en 1881, y es de ladrillo."
QUESTIONS = [
    *(Example(str(n), f"Who built kiln {n}?", KILN) for n in range(5)),
    Example("5", "¿Quién construyó el horno de la calle?", HORNO),
    Example("6", "kiln " * 200, KILN),
]


@pytest.fixture(scope="module")
def reader() -> Reader:
    return Reader.load(device="cpu")


def test_answers_and_warnings_are_those_of_one_process(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("readlet.inference.reader.CHUNK", 2)
    with pytest.warns(UserWarning, match="long question|in es") as alone:
        expected = list(reader.answer_batch(QUESTIONS))
    with pytest.warns(UserWarning, match="long question|in es") as beside:
        assert list(reader.answers(QUESTIONS, DEFAULTS, Overlapped(2))) == expected
    assert expected[5].unknown_language == "es"
    assert [str(one.message) for one in beside] == [str(one.message) for one in alone]


def test_an_error_while_scoring_ends_everything(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise ReadletError("the GPU's memory is full; load the reader with a smaller batch_size")

    monkeypatch.setattr("readlet.inference.reader.CHUNK", 1)
    monkeypatch.setattr(type(reader.scorer), "scores_of", full)
    with pytest.raises(ReadletError, match="memory is full"):
        list(reader.answers(QUESTIONS, DEFAULTS, Overlapped(2)))


def test_questions_that_are_no_longer_wanted_end_the_processes(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("readlet.inference.reader.CHUNK", 1)

    def endless() -> Iterator[Example]:
        while True:
            yield QUESTIONS[0]

    found = reader.answers(endless(), DEFAULTS, Overlapped(1))
    assert next(found).n_best[0].text == "Ada Brook"
    found.close()  # type: ignore[attr-defined]


def test_few_questions_and_a_cpu_need_no_processes(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("readlet.inference.overlap.own_cores", lambda: 16)
    on_gpu = dataclasses.replace(reader)
    on_gpu.device = "cuda"
    assert chunks_overlapped(reader, 1_000_000) is map
    assert chunks_overlapped(on_gpu, 1_000) is map
    assert chunks_overlapped(on_gpu, 1_000_000) == Overlapped(15)
