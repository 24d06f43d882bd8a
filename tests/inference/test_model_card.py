"""The model card in a reader's folder."""

from collections.abc import Callable

import pytest
import torch
import yaml

from readlet.inference import model_card as room
from readlet.inference.calibration import Calibration
from readlet.inference.model_card import model_card
from readlet.inference.reader import Reader
from readlet.models.recipe_files import recipe_of

Build = Callable[..., Reader]


def test_it_has_data_recipe_scores_versions_seed_and_commit(
    random_reader: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "_commit", lambda: "abc1234")
    reader = random_reader("the lamp at the cape", train=["mine.json", "yours.json"])
    reader.recipe["training"]["seed"] = 41
    reader.calibration = Calibration(
        temperature=1.375, questions=1234, error_before=0.25, error_after=0.125
    )
    reader.metrics = {"dev": {"exact": 61.234, "f1": 70.5}, "dev_source": "dev.json", "steps": 9876}
    card = model_card(reader)
    _, metadata, page = card.split("---\n", 2)
    found = yaml.safe_load(metadata)
    assert (found["library_name"], found["pipeline_tag"]) == ("readlet", "question-answering")
    scores = found["model-index"][0]["results"][0]
    assert scores["dataset"]["name"] == "dev.json"
    assert [one["value"] for one in scores["metrics"]] == [61.23, 70.5]
    assert page.startswith("\n# tiny-random")
    for expected in (
        *("mine.json, yours.json", "9,876 steps", "seed 41", "dev.json", "| f1 | 70.50 |"),
        *("1.375", f"{reader.scorer.parameters:,} trainable", "commit abc1234"),
        f"torch {torch.__version__.split('+')[0]}",
    ):
        assert expected in card
    for section in recipe_of(reader.recipe).sections:
        for field, value in recipe_of(reader.recipe).model_dump()[section].items():
            assert f"| {section}.{field} | {value!r} |" in card
    # Every row of a table has as many cells as its head: one broken row breaks the page.
    assert all(line.count("|") == 3 for line in card.splitlines() if line.startswith("|"))


def test_slimming_and_licence_are_reported_only_where_they_apply(
    random_reader: Build,
) -> None:
    reader = random_reader("the lamp")
    plain = model_card(reader)
    for absent in ("half precision", "slimmed", "Licence"):
        assert absent not in plain
    scorer = reader.scorer
    scorer.settings = scorer.settings.model_copy(update={"stored": "float16"})
    reader.metrics = {"slimmed_from": 12345}
    reader.notice = "By Ada Brook.\n"
    card = model_card(reader)
    assert "- slimmed: it had 12,345 words with vectors\n" in card
    assert "- weights stored in half precision\n" in card
    assert "\n\n## Licence and data\n\nBy Ada Brook.\n\n## Scores\n" in card
