"""One reader on several files."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from readlet.bundled import corpus
from readlet.data import read_examples, write_examples
from readlet.inference.evaluate_questions import evaluate_questions, evaluate_several
from readlet.inference.inputs import AnswerOptions


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Two files with the same ids: one with impossible questions, one without."""
    examples = list(read_examples(corpus("test")))
    answerable = [replace(e, id=examples[n].id) for n, e in enumerate(examples) if e.answers]
    paths = [str(tmp_path / name) for name in ("a.json", "b.json")]
    write_examples(Path(paths[0]), examples[:24])
    write_examples(Path(paths[1]), answerable[:20])
    return paths


@pytest.mark.parametrize("options", [{}, {"threshold": 0.3}, {"always_answer": True}])
def test_rows_are_those_of_single_files(files: list[str], options: dict[str, Any]) -> None:
    chosen = AnswerOptions(**options)
    several = evaluate_several("baseline", files, options=chosen)
    alone = [evaluate_questions(file, reader="baseline", options=chosen) for file in files]
    assert list(several.parts) == files
    for row, one in zip(several.parts.values(), alone, strict=True):
        assert row.official == pytest.approx(one.official)
        assert row.intervals == one.intervals
        assert row.calibration_error == one.calibration_error
        assert row.missing == []
    together = several.together.official
    assert together["total"] == 44
    for name in ("exact", "f1"):
        parts = sum(one.official[name] * one.official["total"] for one in alone)
        assert together[name] == pytest.approx(parts / 44)
    listed = several.as_json()
    assert [row["file"] for row in listed["files"]] == files
    assert listed["together"]["total"] == 44
