"""The statistics shown in the plot of attention's softmax."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


def test_the_log_of_a_layer_is_read(load_script: Callable[[str], Any], tmp_path: Path) -> None:
    layer = ".encoder.attention"
    statistics = {f"softmax.07{layer}.variance": 2.0, f"softmax.07{layer}.entropy": 0.5}
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps({"step": 3, "epoch": 1.0, "f1": 9.0} | statistics) + "\n")
    found = load_script("softmax_plots").statistics_of(log)
    assert found == {"variance": {7: [(1.0, 2.0)]}, "entropy": {7: [(1.0, 0.5)]}}
