"""Scripts that train encoder readers in several steps, at the smallest possible size."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from readlet.bundled import corpus
from readlet.data import read_examples, write_examples
from readlet.inference.calibration import Calibration
from readlet.inference.reader import Reader
from readlet.inference.trained_model import needs_torch
from readlet.models.encoder.family import EncoderFamily
from readlet.models.encoder.recipe import EncoderRecipe
from readlet.training.train import train_reader

FAST = ["training.epochs=1", "training.warmup_steps=2", "training.batch_size=32"]
SHORT = ["data.max_context=80", "data.overlap=16"]


@pytest.fixture
def squad(tmp_path: Path) -> Path:
    """A folder with files of SQuAD's names: a few bundled questions."""
    folder = tmp_path / "squad"
    folder.mkdir()
    english = [e for e in read_examples(corpus("train")) if e.language == "en"]
    answerable = [e for e in english if e.answers]
    others = [e for e in read_examples(corpus("test")) if e.language == "en"]
    # One article, so that questions can be paired with its other paragraphs.
    write_examples(
        folder / "train-v1.1.json.gz", [replace(e, title="All") for e in answerable[:48:2]]
    )
    write_examples(folder / "dev-v1.1.json.gz", [e for e in others if e.answers][:10])
    write_examples(folder / "rest-dev-v2.0.json.gz", english[-20:])
    write_examples(folder / "cs224n-dev-v2.0.json.gz", others[:8])
    return folder


def test_teachers_that_have_not_seen_the_question(
    load_script: Callable[[str], Any],
    squad: Path,
    tmp_path: Path,
    long_encoder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    small = ["model.width=16", "model.heads=1", "model.head_width=8", "model.blocks=1"]
    small += ["model.character_width=8", "model.character_filters=8", "model.feed_forward=16"]
    found = load_script("encoder_teachers").make(
        squad,
        [],
        tmp_path / "out",
        folds=2,
        share=0.5,
        temperature=1.5,
        epochs=1,
        teacher_changes=[*FAST, *SHORT, f"model.encoder={long_encoder}"],
        student_changes=[*FAST, *SHORT, *small, "words.width=8", "words.min_count=1"],
    )
    assert found.keys() == {"exact", "f1", "teacher_seconds", "student_seconds"}
    recipe = Reader.load(tmp_path / "out" / "student").recipe
    assert [Path(name).name for name in recipe.training.teacher] == ["fold-0", "fold-1"]
    assert "without a teacher" not in capsys.readouterr().out  # each question has one


def train_some(recipe: EncoderRecipe, folder: Path, *, resume: bool) -> None:
    """Train one reader of a kind; the others get an untrained network."""
    if folder.name in ("teacher-1", "taught", "last-1"):
        train_reader(recipe, folder, resume=resume)
        return
    family = EncoderFamily()
    scorer = family.build(recipe, family.fit_encoder(recipe, ()), can_abstain=True)
    Reader(scorer, recipe, Calibration(), {"steps": 1}).save(folder)


def test_the_bundled_reader(
    load_script: Callable[[str], Any],
    squad: Path,
    tmp_path: Path,
    long_encoder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script, out = load_script("bundled_reader"), tmp_path / "out"
    monkeypatch.setattr(script, "FOLDS", 2)
    monkeypatch.setattr(script, "TIMES_OWN", 1)
    monkeypatch.setattr(script, "SEEDS", 2)
    monkeypatch.setattr(script, "train_reader", train_some)
    few = script.calibration_questions
    monkeypatch.setattr(script, "calibration_questions", lambda held: few(held)[:64])
    changes = [*SHORT, f"model.encoder={long_encoder}", "data.share=0.6"]
    shares = {"TAUGHT": 0.6, "SECOND_STAGE": 0.1, "SECOND_OF_TEACHER": 0.1}
    for name, share in shares.items():
        shorter = (*getattr(script, name), "training.epochs=1", f"data.share={share}")
        monkeypatch.setattr(script, name, shorter)
    finished = script.make(squad, out, [*changes, *FAST], teacher=str(long_encoder))
    made = Reader.load(finished, device="cpu")
    assert made.scorer.stored == "int8"
    assert made.calibration.unanswerable_share == 0.1
    assert made.languages == ("en",)
    assert "`readlet evaluate bundled cs224n-dev-v2.0.json.gz --unans" in made.metrics["dev_source"]
    assert "SQuAD" in made.notice
    for name, real in (("twin", ["rest-train"]), ("last", ["rest-train", "rest-held"])):
        recipe = Reader.load(out / f"{name}-1").recipe
        files = {Path(file).name.removesuffix(".json.gz") for file in recipe.data.train}
        assert files == {*real, "own-train"}
        assert (Path(recipe.training.start).name, recipe.training.seed) == ("taught", 1)
        assert [Path(name).name for name in recipe.training.teacher] == ["teacher-0", "teacher-1"]
        assert [Path(name).name for name in recipe.data.replay] == ["made.json.gz"]
    teacher = Reader.load(out / "teacher-1").recipe
    assert (teacher.data.folds, teacher.data.fold) == (2, 1)
    assert Path(teacher.training.start).name == "wide-1"
    assert needs_torch(str(finished), device="cpu")
    assert not needs_torch(str(finished))  # by its ONNX model
    before = (finished / "config.json").read_bytes()
    again = script.make(squad, out, [*changes, *FAST], teacher=str(long_encoder))
    assert again == finished  # nothing is trained again
    assert (finished / "config.json").read_bytes() == before
    heading, *rows = script.lines(finished, squad)
    assert heading.split() == ["EM", "F1", "answerable", "area"]
    assert [row[:16].strip() for row in rows] == ["default", "share 0.5", "always answering"]
