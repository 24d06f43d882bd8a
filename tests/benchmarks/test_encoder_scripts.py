"""Scripts that train encoder readers in several steps, at the smallest possible size."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from readlet.bundled import corpus
from readlet.data import read_examples, write_examples
from readlet.inference.calibration import Calibration
from readlet.inference.reader import Reader
from readlet.inference.trained_model import needs_torch
from readlet.models.encoder.recipe import EncoderRecipe
from readlet.models.encoder.scorer import EncoderFamily
from readlet.models.recipe_files import recipe_of
from readlet.training.train import train_reader

FAST = ["training.epochs=1", "training.warmup_steps=2", "training.batch_size=32"]
DIALOGUE = {
    "passage": "The lamp was dark. At nine the keeper lit it. CANNOTANSWER",
    "question": "question1: Who lit the lamp?\n answer : ?\nquestion2: Why?\n answer : ?",
    "answer": "possible answers for question1:\nthe keeper lit it\n",
}
SHORT = ["data.max_context=80", "data.overlap=16"]


@pytest.fixture
def squad(tmp_path: Path) -> Path:
    """A folder with files of SQuAD's names: a few bundled questions."""
    folder = tmp_path / "squad"
    folder.mkdir()
    english = [e for e in read_examples(corpus("train")) if e.language == "en"]
    answerable = [e for e in english if e.answers]
    others = [e for e in read_examples(corpus("test")) if e.language == "en"]
    write_examples(folder / "train-v1.1.json.gz", answerable[:48:2])
    write_examples(folder / "dev-v1.1.json.gz", [e for e in others if e.answers][:10])
    unanswerable = [e for e in english if not e.answers]
    write_examples(folder / "unanswerable-train-v2.0.json.gz", unanswerable[:12])
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
    recipe = recipe_of(Reader.load(tmp_path / "out" / "student").recipe)
    assert [Path(name).name for name in recipe.training.teacher] == ["fold-0", "fold-1"]
    assert "without a teacher" not in capsys.readouterr().out  # each question has one


def train_some(recipe: EncoderRecipe, folder: Path, *, resume: bool) -> None:
    """Train one reader of a kind; the others get an untrained network."""
    if folder.name in ("teacher-1", "student-1-0"):
        train_reader(recipe, folder, resume=resume)
        return
    family = EncoderFamily()
    scorer = family.build(recipe, family.fit_encoder(recipe, ()), can_abstain=True)
    Reader(
        scorer, recipe.model_dump(mode="json"), Calibration(), {"steps": 1, "dev": {"f1": 1.0}}
    ).save(folder)


def test_the_bundled_reader(
    load_script: Callable[[str], Any],
    squad: Path,
    tmp_path: Path,
    long_encoder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    script, out = load_script("bundled_reader"), tmp_path / "out"
    for name, value in {"SEEDS": 2, "TIMES_OWN": 1, "HELD_OUT": 0.5, "LEAST_GAIN": -99}.items():
        monkeypatch.setattr(script, name, value)
    monkeypatch.setattr(script, "train_reader", train_some)
    few = script.calibration_questions
    monkeypatch.setattr(script, "calibration_questions", lambda held: few(held)[:64])
    for name in ("OF_TEACHER", "OF_STUDENT"):
        shorter = (*getattr(script, name), "training.epochs=1", "data.share=0.1")
        monkeypatch.setattr(script, name, shorter)
    quac = tmp_path / "quac.jsonl"
    quac.write_text(json.dumps(DIALOGUE) + "\n")

    def make() -> Path:
        students, changes = [str(long_encoder)] * 2, [*SHORT, *FAST]
        teacher = str(long_encoder)
        finished = script.make(squad, out, changes, teacher=teacher, students=students, quac=quac)
        assert isinstance(finished, Path)
        return finished

    finished = make()
    made = Reader.load(finished, device="cpu")
    assert made.scorer.stored == "int8"
    assert made.calibration.unanswerable_share == 0.15
    assert made.languages == ("en",)
    assert "`readlet evaluate bundled cs224n-dev-v2.0.json.gz --unans" in made.metrics["dev_source"]
    assert "SQuAD" in made.notice
    assert "student-0: held-out F1 1.00 ± 0.00" in capsys.readouterr().out
    recipe = recipe_of(Reader.load(out / "student-1-0").recipe)
    files = [Path(file).name.removesuffix(".json.gz") for file in recipe.data.train]
    assert files == ["squad-train", "rest", "own", "quac"]
    assert [Path(name).name for name in recipe.training.teacher] == ["teacher-0", "teacher-1"]
    held, trained = (
        {e.title for e in read_examples(out / f"squad-{part}.json.gz")}
        for part in ("held", "train")
    )
    assert held
    assert not held & trained
    teacher = recipe_of(Reader.load(out / "teacher-1").recipe)
    assert (teacher.data.folds, teacher.data.fold) == (2, 1)
    assert needs_torch(str(finished), device="cpu")
    assert not needs_torch(str(finished))  # by its ONNX model
    before = (finished / "config.json").read_bytes()
    assert make() == finished  # nothing is trained again
    assert (finished / "config.json").read_bytes() == before
    heading, *rows = script.lines(finished, squad)
    assert heading.split() == ["EM", "F1", "answerable", "area"]
    assert [row[:16].strip() for row in rows] == ["default", "share 0.5", "always answering"]
