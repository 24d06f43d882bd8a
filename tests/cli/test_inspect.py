import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Run = Callable[..., Any]

QUESTION = "Who lit the lamp?"
LAMP = "The lamp at Cape Wick was lit by Ada Brook in 1881. Fishermen paid for its oil."


@pytest.fixture
def passage(tmp_path: Path) -> Path:
    path = tmp_path / "passage.txt"
    path.write_text(LAMP)
    return path


@pytest.fixture(params=["dot", "scalar", "last"])
def reader(request: pytest.FixtureRequest, tmp_path: Path, random_encoder_reader: Any) -> Path:
    folder = tmp_path / "reader"
    random_encoder_reader(request.param).save(folder)
    return folder


def test_the_scores_of_the_best_answer_are_shown(readlet: Run, reader: Path, passage: Path) -> None:
    done = readlet("inspect", reader, QUESTION, passage)
    assert done.code == 0, done.err
    best = next(line for line in done.out.splitlines() if line.startswith("best answer"))
    start, end, total = (float(number) for number in best.partition(" (")[0].split()[2::2])
    assert start + end == pytest.approx(total, abs=0.011)


def test_json_has_all_numbers(readlet: Run, reader: Path, passage: Path) -> None:
    found = readlet("inspect", reader, QUESTION, passage, "--json").json()
    layers = found["layers"]
    tokens, places = len(layers["tokens"]), len(found["places"])
    assert layers["tokens"][0] == "[CLS]"
    assert layers["null_token"] == 0
    for side in ("start", "end"):
        assert np.shape(layers[side]["weights"]) == (2, tokens)
        total = np.sum(layers[side]["contributions"], axis=0)
        np.testing.assert_allclose(total, layers[side]["scores"], atol=1e-4)
        inside = layers[side]["scores"][layers["first_place"] :][:places]
        np.testing.assert_allclose(inside, found[side]["scores"], atol=1e-4)
        assert found[side]["null"] == pytest.approx(layers[side]["scores"][0], abs=1e-4)
    for place in found["places"]:
        assert LAMP[place["start"] : place["end"]] == place["text"].removeprefix("##")
    best = found["prediction"]["n_best"][0]
    first, last = found["best"]["first"], found["best"]["last"]
    assert found["places"][first]["start"] == best["start"]
    assert found["places"][last]["end"] == best["end"]


@pytest.mark.parametrize("null", [True, False])
def test_readers_of_words(
    readlet: Run, passage: Path, tmp_path: Path, random_reader: Any, null: bool
) -> None:
    random_reader(LAMP, null=null).save(tmp_path / "words")
    done = readlet("inspect", tmp_path / "words", QUESTION, passage)
    assert done.code == 0
    assert ("no answer  " in done.out) == null
    found = readlet("inspect", tmp_path / "words", QUESTION, passage, "--json").json()
    assert found["layers"] is None
    total = sum(found["start"]["probabilities"]) + found["prediction"]["no_answer"]
    assert total == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("reader", ["dot"], indirect=True)  # test_inspecting.py has all pictures
def test_a_picture_beside_json(readlet: Run, reader: Path, passage: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    out = tmp_path / "layers.svg"
    done = readlet("inspect", reader, QUESTION, passage, "--json", "--save", out)
    assert json.loads(done.out)["question"] == QUESTION
    assert "[CLS]" in out.read_text("utf-8")


def test_the_baseline_has_no_scores(readlet: Run, passage: Path) -> None:
    done = readlet("inspect", "baseline", "Who?", passage)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("readlet: baseline: ")
