"""Which folders a run may be written to, and what of a run is recognised as its own."""

import json
import shutil
from pathlib import Path

import pytest

from readlet.errors import ReadletError
from readlet.inference.reader import Reader
from readlet.models.recipe_files import load_recipe
from readlet.recipe.recipe import Recipe
from readlet.training.run_folder import check_run_folder
from readlet.training.train import train_reader


@pytest.fixture(scope="module")
def recipe(small_training: list[str]) -> Recipe:
    return load_recipe("tiny", [*small_training, "training.epochs=1"])


@pytest.fixture(scope="module")
def finished(recipe: Recipe, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With its last checkpoint, as if it had been killed before that was removed."""
    folder = tmp_path_factory.mktemp("runs") / "finished"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("readlet.training.train.remove_checkpoints", lambda folder: None)
        train_reader(recipe, folder, resume=False)
    return folder


@pytest.fixture
def stopped(finished: Path, tmp_path: Path) -> Path:
    """The same run as if it had been killed before the reader was saved."""
    folder = tmp_path / "stopped"
    shutil.copytree(finished, folder)
    files = Reader.load(folder).scorer.save(tmp_path)
    for name in (*files, "config.json", "calibration.json", "metrics.json", "README.md"):
        (folder / name).unlink()
    return folder


def test_a_killed_run_is_resumed(stopped: Path, finished: Path, recipe: Recipe) -> None:
    draft = stopped / ".checkpoint-00000009"
    draft.mkdir()
    (draft / "state.safetensors").write_bytes(b"half")
    (stopped / ".checkpoint-00000001.old").mkdir()
    (stopped / ".notes.json.ab12cd34.readlet").write_text("{")
    (stopped / ".unfinished").mkdir()
    check_run_folder(recipe, stopped, resume=True)
    with pytest.raises(ReadletError, match="already contains a run; continue with --resume"):
        check_run_folder(recipe, stopped, resume=False)
    train_reader(recipe, stopped, resume=True)
    names = ("model.safetensors", "config.json", "metrics.json")
    assert all((stopped / n).read_bytes() == (finished / n).read_bytes() for n in names)


@pytest.mark.parametrize("resume", [True, False])
def test_a_run_that_was_killed_early(
    finished: Path, recipe: Recipe, tmp_path: Path, resume: bool
) -> None:
    for name in ("recipe.json", "data.json", "notes.json", "log.jsonl"):
        shutil.copy(finished / name, tmp_path)
    check_run_folder(recipe, tmp_path, resume=resume)


@pytest.mark.parametrize("name", ["README.md", "notes.txt", "metrics.json"])
def test_a_file_of_the_user_in_an_unfinished_run(stopped: Path, recipe: Recipe, name: str) -> None:
    """At the end a reader is written: its names are not free to take."""
    (stopped / name).write_text("mine")
    with pytest.raises(ReadletError, match=f"holds {name}, which Readlet did not make; give ano"):
        train_reader(recipe, stopped, resume=True)
    assert (stopped / name).read_text() == "mine"


def test_readers_and_data_of_the_recipe_are_not_written_over(
    finished: Path, recipe: Recipe, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(finished)
    for field in ("start", "teacher"):
        training = recipe.training.model_copy(update={field: str(finished)})
        changed = recipe.model_copy(update={"training": training})
        for folder in (finished, tmp_path / "link"):
            with pytest.raises(ReadletError, match="is also an input; give another --out"):
                check_run_folder(changed, folder, resume=True)
    (data,) = recipe.data.train
    with pytest.raises(ReadletError, match=r"holds an input, train\.json; give another --out"):
        check_run_folder(recipe, Path(data).parent, resume=False)
    assert json.loads((finished / "recipe.json").read_text())["name"] == recipe.name


def test_a_run_that_takes_the_network_of_its_start_is_resumed(
    finished: Path, short_corpus: Path, tmp_path: Path
) -> None:
    """Its stored recipe has the network of the start reader, the given one does not name it."""
    given = f"""
[data]
train = ["{short_corpus}"]
dev = "{short_corpus}"
[training]
start = "{finished}"
epochs = 1
"""
    (tmp_path / "more.toml").write_text(given)
    recipe = load_recipe(str(tmp_path / "more.toml"), [])
    train_reader(recipe, tmp_path / "run", resume=False)
    before = (tmp_path / "run" / "model.safetensors").read_bytes()
    train_reader(recipe, tmp_path / "run", resume=True)
    assert (tmp_path / "run" / "model.safetensors").read_bytes() == before
