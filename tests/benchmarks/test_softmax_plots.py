"""The statistics shown in the plot of attention's softmax."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def script(load_script: Callable[[str], Any]) -> Any:
    return load_script("softmax_plots")


@pytest.mark.parametrize("layer", ["", ".encoder.attention", ".blocks.0.attention"])
def test_logs_with_and_without_layers_are_read(script: Any, tmp_path: Path, layer: str) -> None:
    statistics = {f"softmax.07{layer}.variance": 2.0, f"softmax.07{layer}.entropy": 0.5}
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps({"step": 3, "epoch": 1.0, "f1": 9.0} | statistics) + "\n")
    found = script.statistics_of(log)
    assert found == {"variance": {7: [(1.0, 2.0)]}, "entropy": {7: [(1.0, 0.5)]}}
