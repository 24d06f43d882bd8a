"""The benchmarks of throughput and of costs, at their smallest size and without a GPU."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


def test_every_row_is_measured(load_script: Callable[[str], Any], tmp_path: Path) -> None:
    main = load_script("throughput").main
    out = tmp_path / "rows.json"
    words = ["--data", "bundled:test", "--questions", "8", "--processes", "1", "--out", str(out)]
    assert [row.questions for row in main([*words, "--device", "cpu"])] == [8, 8, 8, 8]
    assert [row.questions for row in main([*words, "--host"])] == [8, 8]
    assert [row["questions"] for row in json.loads(out.read_text())] == [8, 8]


def test_costs_are_measured_and_extrapolated(
    load_script: Callable[[str], Any], apertium: Any, capsys: Any
) -> None:
    words = ["--data", "bundled:test", "--questions", "4", "--files", "2", "--no-ray"]
    found = load_script("scale").main(words)
    assert all(value > 0 for value in found.values())
    assert "core hours" in capsys.readouterr().out
