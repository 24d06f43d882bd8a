"""The table of differences between poolers, from made-up runs."""

from collections.abc import Callable
from typing import Any

import pytest

from readlet.experiments.differences import Difference

pytest.importorskip("matplotlib", reason="plots need matplotlib: pip install readlet[plots]")


@pytest.fixture
def script(load_script: Callable[[str], Any]) -> Any:
    return load_script("poolers")


@pytest.fixture
def compared(script: Any) -> Any:
    """Two poolers on one task: one is better than CLS in all four pairs of runs, one is not."""
    published = {
        "CLS / CoLA / batch 16": {"accuracy": 58.9},
        "mean / CoLA / batch 16": {},
        "M-SWAP / CoLA / batch 16": {"accuracy": 59.9},
        "CLS, NormSoftmax / CoLA / batch 16": {},
    }

    def difference(row: str, mean: float) -> Difference:
        against = "CLS / CoLA / batch 16"
        return Difference(row, against, "accuracy", mean, mean - 1, mean + 1, 0.5, 2, None)

    gaps = script.gaps_in(published, [difference(row, 2.0) for row in list(published)[1:]])
    panel = ("CoLA", "accuracy")
    cls = [60.0, 61.0, 62.0, 63.0]
    pairs = {
        ("mean", panel): list(zip([59.0, 62.5, 61.0, 63.5], cls, strict=True)),
        ("M-SWAP", panel): list(zip([62.0, 63.1, 64.0, 64.9], cls, strict=True)),
    }
    return script.Comparison(gaps, script.tested(pairs))


def test_the_table_has_intervals_and_the_difference_of_the_paper(
    script: Any, compared: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    script.print_table(compared)
    script.print_summary(compared)
    out = capsys.readouterr().out
    mean, swap = out.splitlines()[2:4]
    # By hand: differences -1, 1.5, -1, 0.5 have deviation 1.2247, error 0.6124, times 3.1824.
    assert mean.startswith("| CoLA | Accuracy | mean |  | +0.00 | -1.95 to +1.95 | 1.000 |")
    assert swap.startswith("| CoLA | Accuracy | M-SWAP | +1.00 | +2.00 | +1.87 to +2.13 | 0.000 |")
    assert "1 of 2 differences are significant." in out
    assert "Of 1 single rows, 1 have the sign of the paper's difference." in out
