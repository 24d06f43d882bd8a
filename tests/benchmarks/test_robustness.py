"""The table and the plot of robustness, from made-up runs."""

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("matplotlib", reason="plots need matplotlib: pip install readlet[plots]")


@pytest.fixture
def script(load_script: Callable[[str], Any]) -> Any:
    return load_script("robustness")


@pytest.fixture
def curves(script: Any) -> list[Any]:
    """Two seeds of four settings; NormSoftmax is a point better, and 8 heads are better than 1."""
    made = []
    for softmax, better in (("standard", 0.0), ("norm", 1.0)):
        for heads, rate, f1 in ((1, 1e-3, 60.0), (8, 1e-3, 70.0), (8, 3e-4, 66.0), (8, 3e-3, 68.0)):
            for seed in (-1.0, 1.0):
                last = f1 + better + seed
                scores = {1: last - 20, 2: last - 10, 3: last - 5, 4: last}
                made.append(script.Curve(softmax, heads, rate, scores))
    return made


def test_spread_over_settings_not_over_seeds(
    script: Any, curves: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    script.print_spread(curves)
    lines = capsys.readouterr().out.splitlines()
    assert "| heads, rate 0.001 | standard | 65.00 | 7.07 | 60.00 | 70.00 |" in lines
    assert "| rates, 8 heads | norm | 69.00 | 2.00 | 67.00 | 71.00 |" in lines
    assert "| all settings | standard | 66.00 | 4.32 | 60.00 | 70.00 |" in lines
