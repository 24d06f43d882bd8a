"""The model card in a reader's folder."""

import subprocess
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

from readlet.inference import model_card as room
from readlet.inference.calibration import Calibration
from readlet.inference.model_card import model_card
from readlet.inference.reader import Reader

Build = Callable[..., Reader]


def test_it_has_data_recipe_scores_versions_seed_and_commit(
    random_reader: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "_commit", lambda: "abc1234")
    reader = random_reader("the lamp at the cape", train=["mine.json", "yours.json"])
    seeded = reader.recipe.training.model_copy(update={"seed": 41})
    reader.recipe = reader.recipe.model_copy(update={"training": seeded})
    reader.calibration = Calibration(
        temperature=1.375, questions=1234, error_before=0.25, error_after=0.125
    )
    reader.metrics = {"dev": {"exact": 61.234, "f1": 70.5}, "dev_source": "dev.json", "steps": 9876}
    card = model_card(reader)
    assert card.startswith("# tiny-random")
    for expected in (
        "mine.json, yours.json",
        "9,876 steps",
        "seed 41",
        "dev.json",
        "| exact | 61.23 |",
        "| f1 | 70.50 |",
        "1.375",
        "1,234 questions of the training data, held out",
        "0.250 before, 0.125 after",
        f"{reader.scorer.parameters:,} trainable parameters",
        f"torch {torch.__version__.split('+')[0]}",
        f"numpy {numpy.__version__}",
        "commit abc1234",
        "always gives an answer",
    ):
        assert expected in card
    for section in reader.recipe.sections:
        for field, value in reader.recipe.model_dump()[section].items():
            assert f"| {section}.{field} | {value!r} |" in card
    # Every row of a table has as many cells as its head: one broken row breaks the page.
    assert all(line.count("|") == 3 for line in card.splitlines() if line.startswith("|"))


def test_refusals_that_were_not_fitted_and_rollbacks_are_reported(random_reader: Build) -> None:
    reader = random_reader("the lamp", null=True)
    reader.calibration = Calibration(temperature=1.5, questions=84)
    assert "No-answer probability and threshold are the defaults" in model_card(reader)
    reader.calibration = Calibration(temperature=1.5, questions=84, no_answer_slope=0.5)
    assert "usual ones" not in model_card(reader)
    assert "rolled back" not in model_card(reader)
    reader.metrics = {"rollbacks": 3}
    assert "- training was rolled back 3 times" in model_card(reader)


def test_an_unmeasured_reader_says_so(random_reader: Build) -> None:
    card = model_card(random_reader("the lamp", null=True))
    assert "not measured" in card
    few = "fewer than 30 answerable questions of the training data, held out"
    assert f"Not fitted ({few}); default values: temperature 1.000" in card
    assert "Fitted on" not in card
    assert "or reports that there is none" in card


def test_slimming_and_licence_are_reported_only_where_they_apply(
    random_reader: Build,
) -> None:
    reader = random_reader("the lamp")
    plain = model_card(reader)
    for absent in ("half precision", "slimmed", "Licence"):
        assert absent not in plain
    reader.scorer.stored = "float16"
    reader.metrics = {"slimmed_from": 12345}
    reader.notice = "By Ada Brook.\n"
    card = model_card(reader)
    assert "- slimmed: it had 12,345 words with vectors\n" in card
    assert "- weights stored in half precision\n" in card
    assert "\n\n## Licence and data\n\nBy Ada Brook.\n\n## Scores\n" in card


@pytest.mark.parametrize(
    "fault", [FileNotFoundError("git"), subprocess.TimeoutExpired("git", 5), PermissionError()]
)
def test_the_commit_is_unknown_without_git(
    fault: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise fault

    monkeypatch.setattr(subprocess, "run", fail)
    assert room._commit() == "unknown"


def test_a_package_that_is_not_installed() -> None:
    assert room._version("no-such-package-anywhere") == "(not installed)"
