from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from readlet.types import Candidate, Prediction

Run = Callable[..., Any]

BASELINE = ("--reader", "baseline")
PASSAGE = "\nThe old kiln stands in Hollow Lane. Ada Brook built it in 1881.\n"


@pytest.fixture
def passage(tmp_path: Path) -> Path:
    path = tmp_path / "passage.txt"
    path.write_text(PASSAGE)
    return path


def test_answer_is_a_span_of_the_passage(readlet: Run, passage: Path) -> None:
    done = readlet("ask", "Who built the kiln?", passage, *BASELINE, "--json", "--n-best", 3)
    assert done.code == 0
    answer = done.json()
    assert answer["text"] == "Ada Brook"
    assert PASSAGE[answer["start"] : answer["end"]] == answer["text"]
    assert 0 <= answer["score"] <= 1
    assert 1 < len(answer["n_best"]) <= 3


def test_answer_is_highlighted_in_the_passage(readlet: Run, passage: Path) -> None:
    done = readlet("ask", "Who built the kiln?", passage, *BASELINE)
    assert done.code == 0
    assert "[Ada Brook] built it" in " ".join(done.out.split())
    several = readlet("ask", "Who built the kiln?", passage, *BASELINE, "--n-best", 2)
    assert "  2. " in several.out


def test_a_long_text_is_cropped_around_the_answer(readlet: Run, tmp_path: Path) -> None:
    path = tmp_path / "passage.txt"
    path.write_text("Nobody came by.\n" * 2000 + PASSAGE + "Nobody came by.\n" * 2000)
    done = readlet("ask", "Who built the kiln?", path, *BASELINE)
    assert "[Ada Brook] built it" in " ".join(done.out.split())
    assert done.out.startswith("… ")
    assert 1000 < len(done.out) < 6000


def test_square_brackets_are_text(readlet: Run, tmp_path: Path) -> None:
    path = tmp_path / "passage.txt"
    path.write_text("The [/b] bell was cast by [bold] Ada Brook [/x].")
    done = readlet("ask", "Who cast the [/i] bell?", path, *BASELINE, "--n-best", 5)
    assert done.code == 0
    assert "Who cast the [/i] bell?" in done.out


def test_passage_from_standard_input(readlet_process: Run) -> None:
    words = ("ask", "Who built the kiln?", "-", *BASELINE, "--json")
    done = readlet_process(*words, input=PASSAGE)
    assert done.code == 0
    assert done.json()["text"] == "Ada Brook"
    with_mark = readlet_process(*words, input=f"\ufeff{PASSAGE}")
    assert with_mark.json() == done.json()


@pytest.mark.parametrize(
    ("question", "content", "place"),
    [
        (" ", b"Some text.", "question"),
        ("Who?", b" \n", "passage.txt: "),
        ("Who?", b"caf\xe9", "passage.txt: byte 3: "),
    ],
)
def test_bad_input(readlet: Run, tmp_path: Path, question: str, content: bytes, place: str) -> None:
    path = tmp_path / "passage.txt"
    path.write_bytes(content)
    done = readlet("ask", question, path)
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert place in line


def test_the_bundled_reader_is_the_default(
    readlet: Run, passage: Path, bundle: Callable[..., Path], random_reader: Callable[..., Any]
) -> None:
    inside = random_reader(PASSAGE)
    bundle(inside)
    prediction = inside.answer("Who built the kiln?", PASSAGE)
    for words in ((), ("--reader", "bundled")):
        done = readlet("ask", "Who built the kiln?", passage, "--json", *words)
        assert (done.code, done.err) == (0, "")
        assert (done.json()["text"], done.json()["score"]) == (prediction.text, prediction.score)


def test_a_refusal_shows_the_best_candidate(
    readlet: Run, passage: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Timid:
        name = "timid"

        def answer(self, question: str, context: str, *_: object, **__: object) -> Prediction:
            guess = Candidate("Ada Brook [sic]", 37, 46, 0.2)
            return Prediction("", 0, 0, 0.2, 0.7, True, (guess,) if "kiln" in question else ())

    monkeypatch.setattr("readlet.inference.reader.load_reader", lambda name, **_: Timid())
    done = readlet("ask", "Who built the kiln?", passage)
    assert "no answer here  (probability 0.70; best candidate: Ada Brook [sic])" in done.out
    done = readlet("ask", "Who sold it?", passage)
    assert "no answer here  (probability 0.70)" in done.out


def test_a_truncated_question_is_reported(forked: Any, passage: Path, tmp_path: Path) -> None:
    question, err = "Tell me please " * 30 + "who built it?", tmp_path / "err.txt"
    with forked.forked_readlet("ask", question, passage, err=err) as process:
        process.join(60)
        assert process.exitcode == 0
    (line,) = err.read_text("utf-8").splitlines()
    assert "1 × long question" in line


def test_thresholds(readlet: Run, passage: Path, tmp_path: Path) -> None:
    """For one passage and for several documents."""
    other = tmp_path / "other.txt"
    other.write_text("The mill grinds corn.")
    for passages in ((passage,), (passage, other)):
        words = ("ask", "Who built the kiln of Ghent?", *passages, *BASELINE, "--json")
        doubt = readlet(*words).json()["no_answer"]
        assert 0 < doubt < 1
        assert readlet(*words, "--threshold", doubt - 0.01).json()["abstained"]
        assert readlet(*words, "--threshold", doubt + 0.01).json()["text"] == "Ada Brook"
        certain = readlet(*words, "--always-answer").json()
        assert (certain["text"], certain["abstained"]) == ("Ada Brook", False)
