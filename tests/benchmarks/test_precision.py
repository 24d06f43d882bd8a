"""The table of precisions, from made-up logs and a short run; masks on the CPU."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from readlet.models.recipe_files import load_recipe


@pytest.fixture
def script(load_script: Callable[[str], Any]) -> Any:
    return load_script("precision")


def log_of(speed: float, f1: float, **scaling: float) -> list[dict[str, Any]]:
    check = {"epoch": 0.5, "memory_mib": 900.0, **scaling}
    return [
        {"step": 100, "loss": 6.0, "examples_per_second": speed / 2, **check},
        {"step": 200, "rollback": True, "loss": None, "mean_loss": 6.0, "epoch": 0.6, **scaling},
        {"step": 300, "loss": 4.0, "examples_per_second": speed, **check, "memory_mib": 1000.0},
        {"step": 400, "loss": 3.5, "examples_per_second": speed * 2, **check},
        {"step": 400, "exact": f1 - 10, "f1": f1, "epoch": 1.0},
    ]


def test_figures_of_a_log(script: Any) -> None:
    plain = script.figures_of(log_of(5000.0, 70.0))
    assert plain == (5000.0, 1000.0, 60.0, 70.0, 3.5, 400, 1, None, None)
    scaled = script.figures_of(log_of(5000.0, 70.0, skipped_steps=2, scale=4096.0))
    assert (scaled.skipped, scaled.scale) == (8, 4096.0)


def test_a_log_without_scores_is_refused(script: Any) -> None:
    with pytest.raises(script.ReadletError, match="no evaluation; train longer"):
        script.figures_of(log_of(1.0, 1.0)[:-1])


def test_the_table(script: Any) -> None:
    made = {
        "float32": [script.figures_of(log_of(3000.0, f1)) for f1 in (70.0, 71.0)],
        "float16": [script.figures_of(log_of(4000.0, 70.5, skipped_steps=1, scale=2048.0))],
    }
    lines = script.precision_table(made)
    assert len(lines) == 4
    assert lines[2] == (
        "| float32 | 2 | 3,000 | 1,000 | 60.50 ± 0.71 | 70.50 ± 0.71 | 3.500 | 400 | 1, 1 | - | - |"
    )
    assert lines[3] == (
        "| float16 | 1 | 4,000 | 1,000 | 60.50 | 70.50 | 3.500 | 400 | 1 | 4 | 2^11 |"
    )
    assert len({line.count("|") for line in lines}) == 1


def test_masks(script: Any) -> None:
    found = {}
    for line in script.mask_table(torch.device("cpu"))[2:]:
        name, *cells = [cell.strip() for cell in line.strip("|").split("|")]
        found[name] = cells
    infinity, large, lowest, ours = found.values()
    assert infinity == ["NaN", "NaN", "NaN"]
    assert large == lowest == ["0.25", "0.25", "NaN"]  # in float16 both numbers become infinite
    assert ours == ["0", "0", "0"]


def test_a_short_run_fills_the_page(script: Any, small_training: list[str], tmp_path: Path) -> None:
    short = ["training.epochs=1", "training.batch_size=16", "training.evaluate_every=1"]
    recent = script.SameData()
    runs = [
        script.measure(load_recipe("tiny", [*small_training, *short, f"training.seed={s}"]), recent)
        for s in range(2)
    ]
    assert runs[0] != runs[1]
    script.write_page(tmp_path / "page.md", {"float32": runs}, torch.device("cpu"), "python x")
    text = (tmp_path / "page.md").read_text()
    assert "\n    python x\n" in text
    assert "| float32 | 2 |" in text
    assert "masked_softmax(scores, keep)` | 0 | 0 | 0 |" in text
