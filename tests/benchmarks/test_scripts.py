"""Scripts that measure or train readers, at the smallest possible size."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from readlet.models.qacnn.scorer import QacnnScorer
from readlet.models.recipe_files import load_recipe
from readlet.recipe.recipe import Recipe
from readlet.training.training_data import prepare
from readlet.types import Example

SCRIPTS = Path(__file__).parents[2] / "benchmarks"
NEED_MATPLOTLIB = {"report_plots", "reader_report", "softmax_plots"}


@pytest.mark.parametrize("name", sorted(path.stem for path in SCRIPTS.glob("*.py")))
def test_every_script_can_be_imported(name: str, load_script: Callable[[str], Any]) -> None:
    if name in NEED_MATPLOTLIB:
        pytest.importorskip(
            "matplotlib", reason="plots need matplotlib: pip install readlet[plots]"
        )
    assert load_script(name).__doc__


def test_latency_is_measured_with_a_reader_of_full_size(load_script: Callable[[str], Any]) -> None:
    script = load_script("cpu_latency")
    examples = [Example(str(n), "Who lit it?", "Ada lit the lamp.") for n in range(3)]
    reader = script.untrained(examples)
    assert isinstance(reader.scorer, QacnnScorer)
    assert reader.scorer.can_abstain
    assert reader.scorer.encoder.vectors.shape[1] == script.VECTOR_WIDTH
    assert 0.5e6 < reader.scorer.parameters < 2.0e6  # as many as with vectors from files
    assert script.rates({"a": reader}, examples)["a"] > 0
    assert script.seconds_for_one({"a": reader}, examples[:1])["a"] > 0


@pytest.mark.parametrize("plain", [False, True])
def test_training_speed_is_measured(
    plain: bool,
    load_script: Callable[[str], Any],
    small_training: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script = load_script("train_speed")

    def small_recipe(_: str, changes: Sequence[str]) -> Recipe:
        return load_recipe("tiny", [*small_training, *changes, "training.precision=float32"])

    monkeypatch.setattr(script, "load_recipe", small_recipe)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)  # the test runs on a CPU
    data = prepare(small_recipe("tiny", []))
    shapes = set()

    class Watched(script.TrainingLoop):  # type: ignore[misc, name-defined]
        def advance(self) -> tuple[torch.Tensor, int]:
            shapes.update(shape for shape, _ in self.batches.epoch(0))
            return super().advance()

    monkeypatch.setattr(script, "TrainingLoop", Watched)
    rate, warm_up = script.examples_per_second(data, 2, plain=plain, compiled=False, steps=1)
    assert rate > 0
    assert warm_up >= 0
    # The plain loop pads to the longest context plus the null position; ours to the next shape.
    assert shapes == ({(81, 24)} if plain else {(64, 32)})


def test_other_outputs_are_noticed(
    load_script: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = load_script("goldens")
    question = "ask 'Who built the kiln?' passage.txt --json"
    monkeypatch.setattr(script, "STEPS", [("ask", question, "-"), ("fail", "ask", "-")])
    found = script.run_steps(Path(sys.executable), tmp_path, "bundled:test", [])
    common, places = script.differences(found, found)
    assert common > 3
    assert places == []
    changed = {**found, "fail: -": "another fault", "ask: -": {**found["ask: -"], "score": -1.0}}
    places = script.differences(found, changed)[1]
    assert [place.partition(": ")[0] for place in places] == [".ask", ".fail"]
