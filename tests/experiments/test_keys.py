"""Keys of runs."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from readlet.data import source_path
from readlet.errors import ReadletError
from readlet.experiments.grid import expand, run_key
from readlet.experiments.spec import load_table
from readlet.inference.trained_model import reader_folder
from readlet.models.qacnn.recipe import QacnnRecipe
from readlet.models.recipe_files import load_recipe
from readlet.recipe.recipe import SpanData, fields_of, fields_with
from readlet.storage.sections import SourceFile, SourceReader

Write = Callable[..., str]
GOLDEN = "0bae1c63f66713c0"
OTHERS = {"standard": "norm", "sqrt(d)": 2.0, "infinity": 2.0}
OTHERS |= {"cosine": "linear", "float32": "bfloat16"}


def test_the_key_depends_on_content_not_on_paths(tmp_path: Path) -> None:
    here, there = tmp_path / "a.json", tmp_path / "elsewhere" / "b.json"
    there.parent.mkdir()
    shutil.copy(source_path("bundled:train"), here)
    shutil.copy(source_path("bundled:train"), there)
    keys = {run_key(load_recipe("tiny", [f"data.train=['{path}']"])) for path in (here, there)}
    assert keys == {run_key(load_recipe("tiny"))}
    here.write_text(here.read_text().replace("a", "b", 1))
    assert run_key(load_recipe("tiny", [f"data.train=['{here}']"])) not in keys


def fields() -> list[tuple[str, str]]:
    """All fields except those that name files, which count by their content."""
    files = fields_with(QacnnRecipe, SourceFile, SourceReader)
    kind = ("model", "kind")  # it has only one value here
    listed = [(f.section, f.name) for f in fields_of(QacnnRecipe) if f not in files]
    return [field for field in listed if field != kind]


@pytest.mark.parametrize(("section", "field"), fields())
def test_every_field_counts(section: str, field: str) -> None:
    recipe = load_recipe("tiny")
    part = getattr(recipe, section)
    value = getattr(part, field)
    other: object = OTHERS.get(value) if isinstance(value, str) else value * 2
    if value in (0, 1):
        other = not value
    if value == ():
        other = ("context=passage",)
    changed = recipe.model_copy(update={section: part.model_copy(update={field: other})})
    assert run_key(changed) != run_key(recipe)


@pytest.mark.parametrize("field", ["start", "teacher"])
@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_reader_counts_with_all_its_files(field: str, name: str, tmp_path: Path) -> None:
    bundled = run_key(load_recipe("tiny", [f"training.{field}=bundled"]))
    copy = tmp_path / "copy"
    shutil.copytree(reader_folder("bundled"), copy)
    change = [f"training.{field}={copy}"]
    assert run_key(load_recipe("tiny", change)) == bundled != run_key(load_recipe("tiny"))
    with (copy / name).open("ab") as stream:
        stream.write(b" ")
    assert run_key(load_recipe("tiny", change)) != bundled


def test_keys_are_stable(tmp_path: Path) -> None:
    """Finished runs are found again; a new field of recipes changes the keys."""
    (tmp_path / "data.jsonl").write_text("the same for ever")
    data = SpanData(train=(str(tmp_path / "data.jsonl"),), dev="")
    recipe = QacnnRecipe(data=data)
    assert run_key(recipe) == GOLDEN


def test_data_files_are_looked_up_in_folders(write_table: Write, tmp_path: Path) -> None:
    path = write_table(("data.max_context", 'data.dev = "mine.json"\ndata.max_context'))
    with pytest.raises(ReadletError, match=r"mine.json: no such file; give its folder with --data"):
        expand(load_table(path))
    (tmp_path / "data").mkdir()
    shutil.copy(source_path("bundled:dev"), tmp_path / "data" / "mine.json")
    grid = expand(load_table(path), folders=[tmp_path, tmp_path / "data"])
    assert grid.runs[0].recipe.data.dev == str(tmp_path / "data" / "mine.json")


def test_an_encoder_counts_by_its_content(
    tiny_encoder: Callable[..., Path], tmp_path: Path
) -> None:
    """A start reader brings its own."""
    there = shutil.copytree(tiny_encoder(), tmp_path / "copy")
    recipe = load_recipe("encoder", [f"model.encoder={there}"])
    key = run_key(recipe)
    assert key == run_key(load_recipe("encoder", [f"model.encoder={tiny_encoder()}"]))
    config = (there / "config.json").read_text("utf-8")
    (there / "config.json").write_text(config + "\n")
    assert run_key(recipe) != key
    shutil.rmtree(there)
    with pytest.raises(ReadletError, match="no such folder"):
        run_key(recipe)
    started = load_recipe("encoder", [f"model.encoder={there}", "training.start=bundled"])
    assert run_key(started)
