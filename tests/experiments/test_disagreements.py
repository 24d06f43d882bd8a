"""Positions of the answers of two rows in a passage with repeated words."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

from readlet.experiments.disagreements import Disagreement, _most, disagreements
from readlet.experiments.store import FinishedRun, Result
from readlet.reading.evaluate_files import write_predictions
from readlet.types import Example, Span

CONTEXT = "Oak and oaks: the oak by the oak gate."
GOLD = Span(CONTEXT.rindex("oak"), "oak")
EXAMPLE = Example("q", "Which tree is by the gate?", CONTEXT, (GOLD,))


def run_of(
    folder: Path, text: str, start: int, *, is_right: bool, identity: str = "q"
) -> FinishedRun:
    folder.mkdir()
    columns = {"f1": np.array([is_right], np.float32), "start": np.array([start], np.int32)}
    save_file(columns, folder / "scores.safetensors")
    write_predictions(folder / "answers.json.gz", {identity: text})
    return FinishedRun(folder, Result.model_construct(recipe={"training": {"seed": 0}}))


def place_of(found: Disagreement, whose: str) -> list[int]:
    return [mark.start for mark in found.marks if mark.whose == whose]


@pytest.mark.parametrize(
    ("example", "text", "start", "place"),
    [
        (EXAMPLE, "oak", 18, [18]),  # where the reader found it, correct or not
        (EXAMPLE, "oak gate", GOLD.start, [GOLD.start]),
        (Example("q", "?", CONTEXT), "elm", 0, []),
        (Example("q", "?", CONTEXT), "oak", 17, []),  # not there: no mark instead of a wrong one
        (EXAMPLE, "", 0, []),
    ],
)
def test_an_answer_is_marked_where_it_was_found(
    example: Example, text: str, start: int, place: list[int], tmp_path: Path
) -> None:
    row = run_of(tmp_path / "row", text, start, is_right=True)
    against = run_of(tmp_path / "against", "", 0, is_right=False)
    runs = {"row": [row], "against": [against]}
    (found,) = disagreements([example], runs, [("row", "against")], 1)
    assert found.excerpt == CONTEXT  # short: shown completely, with the same positions
    assert place_of(found, "row") == place
    assert place_of(found, "against") == []
    assert found.answer == text


def test_an_id_may_contain_a_lone_surrogate(tmp_path: Path) -> None:
    """JSON allows them, UTF-8 does not."""
    runs = {
        name: [run_of(tmp_path / name, text, 0, is_right=text == "oak", identity="q\ud83d")]
        for name, text in (("row", "oak"), ("against", "elm"))
    }
    example = Example("q\ud83d", "?", CONTEXT, (GOLD,))
    (found,) = disagreements([example], runs, [("row", "against")], 1)
    assert found.answer == "oak"


@given(st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1.0]), max_size=12), st.integers(1, 4))
def test_the_largest_differences_are_found(differences: list[float], shown: int) -> None:
    draws = [bytes([number * 7 % 12]) for number in range(len(differences))]
    above = [number for number, value in enumerate(differences) if value > 0]
    ranked = sorted(above, key=lambda n: (differences[n], draws[n]), reverse=True)
    assert _most(np.array(differences, np.float32), draws, shown) == ranked[:shown]
