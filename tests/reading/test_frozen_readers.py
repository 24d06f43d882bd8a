"""Readers that earlier versions saved load, and give the same answers.

`fixtures/readers-of-0.1` is frozen: folders as the first format wrote them, without a kind in
their recipe, and what that version answered to some questions of the bundled test split. Its
scores were not on one scale with the no-answer probability; the order and the ratios of the
candidates are the same.
"""

import json
from pathlib import Path

import pytest

from readlet.bundled import corpus
from readlet.formats import read_examples
from readlet.reading.reader import Reader

FROZEN = Path(__file__).parents[1] / "fixtures" / "readers-of-0.1"
READERS = sorted(path.name for path in FROZEN.iterdir() if path.is_dir())


def test_all_kinds_are_there() -> None:
    assert READERS == ["norm", "refusing", "slim"]


@pytest.mark.parametrize("name", READERS)
def test_answers_are_the_same(name: str) -> None:
    reader = Reader.load(FROZEN / name)
    assert reader.recipe.model.kind == "qacnn"
    expected = json.loads((FROZEN / f"{name}.json").read_text("utf-8"))
    examples = {e.id: e for e in read_examples(corpus("test"))}
    assert len(expected) == 14
    for identity, wanted in expected.items():
        found = reader.answer(examples[identity].question, examples[identity].context)
        assert (found.text, found.start, found.end) == (
            wanted["text"],
            wanted["start"],
            wanted["end"],
        )
        assert found.no_answer == pytest.approx(wanted["no_answer"], abs=2e-5)
        assert [(c.text, c.start) for c in found.n_best] == [(t, s) for t, s, _ in wanted["n_best"]]
        assert found.score <= 1 - found.no_answer
        best = wanted["n_best"][0][2]
        assert [c.score / found.score * best for c in found.n_best] == pytest.approx(
            [score for _, _, score in wanted["n_best"]], abs=2e-5
        )


@pytest.mark.parametrize("name", READERS)
def test_saved_again_it_is_the_same_reader(name: str, tmp_path: Path) -> None:
    Reader.load(FROZEN / name).save(tmp_path)
    for file in ("model.safetensors", "vocabulary.json"):
        assert (tmp_path / file).read_bytes() == (FROZEN / name / file).read_bytes()
    before, now = (
        json.loads((folder / "calibration.json").read_text("utf-8"))
        for folder in (FROZEN / name, tmp_path)
    )
    assert before.items() <= now.items()  # later fields are added
    config = json.loads((tmp_path / "config.json").read_text("utf-8"))
    assert config["recipe"]["model"]["kind"] == "qacnn"
    assert config["files"] == ["model.safetensors", "vocabulary.json"]
