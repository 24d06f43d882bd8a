"""The page of precisions, from a short run on the CPU."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from readlet.models.recipe_files import load_recipe


def test_a_short_run_fills_the_page(
    load_script: Callable[[str], Any], small_training: list[str], tmp_path: Path
) -> None:
    script = load_script("precision")
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
