"""The statistics that the plot of attention's softmax is drawn from."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPTS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import softmax_plots

    yield softmax_plots
    sys.modules.pop("softmax_plots", None)


@pytest.mark.parametrize("layer", ["", ".encoder.attention", ".blocks.0.attention"])
def test_logs_with_and_without_layers_are_read(script: Any, tmp_path: Path, layer: str) -> None:
    statistics = {f"softmax.07{layer}.variance": 2.0, f"softmax.07{layer}.entropy": 0.5}
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps({"step": 3, "epoch": 1.0, "f1": 9.0} | statistics) + "\n")
    found = script.statistics_of(log)
    assert found == {"variance": {7: [(1.0, 2.0)]}, "entropy": {7: [(1.0, 0.5)]}}
