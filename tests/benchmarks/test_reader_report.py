"""The results page of made-up runs: an untrained reader and an invented log."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from readlet.data import write_examples
from readlet.types import Example, Span

pytest.importorskip("matplotlib", reason="plots need matplotlib: pip install readlet[plots]")

MILL = (
    "The mill at Ost was built by Rosa Lind in 1788. It ground rye for 14 villages until the great "
    "flood of 1820 carried the wheel away. Her grandson Jan Lind built a second mill of stone."
)


@pytest.fixture
def report(load_script: Callable[[str], Any]) -> Any:
    return load_script("reader_report")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    asked = {
        "Who built the mill?": "Rosa Lind",
        "When was it built?": "1788",
        "How many villages used it?": "14 villages",
        "What carried the wheel away?": "the great flood of 1820",
        "What was the second mill made of?": "stone",
    }
    examples = [
        Example(f"mill_{number}", question, MILL, (Span(MILL.index(gold), gold),))
        for number, (question, gold) in enumerate(asked.items())
    ]
    write_examples(tmp_path / "dev.json", examples)
    return tmp_path / "dev.json"


@pytest.fixture
def run(tmp_path: Path, random_reader: Callable[..., Any]) -> Callable[..., Path]:
    """A finished folder of `readlet train`."""

    def make(name: str, f1: list[float], seed: int) -> Path:
        folder = tmp_path / name
        random_reader(MILL, seed=seed).save(folder)
        lines = []
        for epoch, score in enumerate(f1, 1):
            position = {"step": 10 * epoch, "epoch": float(epoch), "seconds": 90.0 * epoch}
            lines.append(position | {"loss": 9.0 / epoch, "examples_per_second": 50.0})
            lines.append(position | {"exact": score - 9, "f1": score})
        (folder / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        return folder

    return make


def test_page_of_two_runs(report: Any, run: Callable[..., Path], data: Path) -> None:
    first, second = run("a", [60.0, 71.5, 82.4], 0), run("b", [64.0, 77.0], 1)
    out = data.parent / "results" / "mill"
    words = ["--runs", f"wide={first}", f"thin={second}", "--data", str(data), "--out", str(out)]
    report.main([*words, "--machine", "an abacus", "--source", "our own mill"])
    page = out.with_name("mill.md").read_text("utf-8")

    # Reached at once, skipped over, and never.
    assert "| F1 | wide: epoch | minutes | thin: epoch | minutes |" in page
    assert "| 70 | 2.0 | 3.0 | 2.0 | 3.0 |" in page
    assert "| 75 | 3.0 | 4.5 | 2.0 | 3.0 |" in page
    assert "| 82 | 3.0 | 4.5 | – | – |" in page
    assert "Machine: an abacus." in page
    assert "thin against wide: EM" in page
    assert "| how many | 1 |" in page
    assert "## By length of answer" in page
    assert "## By length of context" in page
    assert "our own mill" in page
    assert "reader_report.py --runs" in page
    for plot in ("mill-learning-curve.png", "mill-f1-over-time.png"):
        assert f"]({plot})" in page
        image = out.with_name(plot).read_bytes()
        assert image.startswith(b"\x89PNG")
        assert len(image) < 150_000
