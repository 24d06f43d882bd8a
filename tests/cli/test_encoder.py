"""The commands with encoder readers."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from readlet.data import read_examples
from readlet.inference.reader import Reader

Run = Callable[..., Any]
Trained = Callable[..., tuple[Path, Reader]]


def changes_of(recipe: Any) -> list[str]:
    """`--set` for every field of the recipe that a test changes."""
    fields = {
        "data": ("train", "dev", "calibration", "max_context", "overlap", "max_question"),
        "model": ("encoder", "mix"),
        "training": (
            *("epochs", "batch_size", "learning_rate", "warmup_steps", "log_every"),
            *("checkpoint_every", "evaluate_every"),
        ),
    }
    values = recipe.model_dump(mode="json")
    given = [
        f"{section}.{name}={json.dumps(values[section][name])}"
        for section, names in fields.items()
        for name in names
    ]
    return [word for change in given for word in ("--set", change)]


def test_ask_evaluate_and_predict(
    readlet: Run, encoder_reader: Trained, few_questions: Path, tmp_path: Path
) -> None:
    folder, reader = encoder_reader("roberta", "model.mix=dot")
    text = tmp_path / "text.txt"
    text.write_text("  The kettle was patented in 1891 by Ada Brook. " * 40, "utf-8")
    asked = readlet("ask", "When?", text, "--reader", folder, "--json", "--always-answer")
    assert asked.code == 0, asked.err
    evaluated = readlet("evaluate", folder, few_questions, "--json")
    assert evaluated.code == 0, evaluated.err
    assert evaluated.json()["f1"] == pytest.approx(reader.metrics["dev"]["f1"])
    out = tmp_path / "predictions.json"
    predicted = readlet("predict", folder, few_questions, "--out", out)
    assert predicted.code == 0, predicted.err
    examples = list(read_examples(few_questions))
    pairs = [(example.question, example.context) for example in examples]
    texts = {e.id: p.text for e, p in zip(examples, reader.answer_batch(pairs), strict=True)}
    assert json.loads(out.read_text("utf-8")) == texts


def test_an_encoder_reader_is_a_start_and_a_teacher(
    readlet: Run,
    encoder_recipe: Callable[..., Any],
    encoder_reader: Trained,
    small_training: list[str],
    few_questions: Path,
    tmp_path: Path,
) -> None:
    folder, start = encoder_reader("albert")
    changes = [*changes_of(encoder_recipe("albert")), "--set", f"training.start={folder}"]
    tuned = readlet("train", "encoder", *changes, "--out", tmp_path / "tuned")
    assert tuned.code == 0, tuned.err
    made = Reader.load(tmp_path / "tuned")
    assert made.metrics["start"]["f1"] == pytest.approx(start.metrics["dev"]["f1"])
    assert made.recipe.model.encoder == start.recipe.model.encoder
    data = [f'data.train=["{few_questions}"]', f"data.dev={few_questions}", "data.held_out=0.2"]
    taught = [*small_training, *data, f"training.teacher={folder}", "training.epochs=1"]
    words = [word for change in taught for word in ("--set", change)]
    done = readlet("train", "tiny", *words, "--out", tmp_path / "taught")
    assert done.code == 0, done.err
    assert Reader.load(tmp_path / "taught").recipe.training.teacher == (str(folder),)
