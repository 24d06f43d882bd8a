"""Keys of runs."""

import gzip
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from readlet.data import source_path
from readlet.errors import ReadletError
from readlet.experiments.grid import expand, plan, resolve_files, run_key, source_digests
from readlet.experiments.spec import load_table
from readlet.inference.model_folder import reader_folder
from readlet.models.qacnn.recipe import QacnnRecipe
from readlet.models.recipe_files import load_recipe
from readlet.recipe.recipe import SpanData, fields_of, fields_with
from readlet.storage.sections import SourceFile, SourceReader

Write = Callable[..., str]
GOLDEN = "bc71f4163642e642"
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


def test_the_key_does_not_depend_on_compression(tmp_path: Path) -> None:
    plain = source_path("bundled:train").read_bytes()
    for level in (1, 9):
        (tmp_path / f"{level}.json.gz").write_bytes(gzip.compress(plain, level))
    recipes = [
        load_recipe("tiny", [f"data.train=['{path}']"])
        for path in (source_path("bundled:train"), *tmp_path.iterdir())
    ]
    assert len({run_key(recipe) for recipe in recipes}) == 1
    (tmp_path / "9.json.gz").write_bytes(gzip.compress(plain)[:-20])
    with pytest.raises(ReadletError, match="damaged or ends early"):
        run_key(load_recipe("tiny", [f"data.train=['{tmp_path / '9.json.gz'}']"]))


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


def test_the_name_does_not_count() -> None:
    assert run_key(load_recipe("tiny", ["name=other"])) == run_key(load_recipe("tiny"))


@pytest.mark.parametrize("field", ["start", "teacher"])
@pytest.mark.parametrize(
    "name", ["config.json", "calibration.json", "model.safetensors", "tokenizer.json"]
)
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


def test_data_folders_come_before_the_folder_of_the_table_and_the_current_one(
    write_table: Write, table_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = write_table(("data.max_context", 'data.dev = "mine.json"\ndata.max_context'))
    places = [tmp_path / "data", tmp_path / "more data", table_folder, tmp_path / "here"]
    for place in places:
        place.mkdir(exist_ok=True)
        shutil.copy(source_path("bundled:dev"), place / "mine.json")
    monkeypatch.chdir(tmp_path / "here")

    def found() -> Path:
        grid, _ = plan(table, small=False, out=None, folders=places[:2])
        return Path(grid.runs[0].recipe.data.dev)

    for place in places[:3]:
        assert found() == place / "mine.json"
        (place / "mine.json").unlink()
    assert found() == Path("mine.json")


def test_files_with_the_same_name_are_identified_by_their_folders(tmp_path: Path) -> None:
    """A run has the same key with and without the files."""
    place = tmp_path / "there"
    for folder, split in (("one", "train"), ("two", "dev")):
        (place / folder).mkdir(parents=True)
        shutil.copy(source_path(f"bundled:{split}"), place / folder / "data.json")
    named = ["data.train=['one/data.json', 'two/data.json']", "data.dev=one/data.json"]
    recipe = load_recipe("tiny", named)
    there = resolve_files(recipe, [place])
    key, known = run_key(there), source_digests(there)
    shutil.rmtree(place)
    assert run_key(recipe, known) == key
    with pytest.raises(ReadletError, match=r"data.json: no such file; give its folder"):
        run_key(load_recipe("tiny", ["data.dev=data.json"]), known)  # ambiguous


def test_two_readers_are_identified_without_their_files(tmp_path: Path) -> None:
    for name in ("old", "wise"):
        shutil.copytree(reader_folder("bundled"), tmp_path / name)
    with (tmp_path / "wise" / "config.json").open("a") as stream:
        stream.write(" ")
    named = [f"training.start={tmp_path / 'old'}", f"training.teacher={tmp_path / 'wise'}"]
    recipe = load_recipe("tiny", named)
    key, known = run_key(recipe), source_digests(recipe)
    shutil.rmtree(tmp_path / "old")
    shutil.rmtree(tmp_path / "wise")
    assert run_key(recipe, known) == key


def test_columns_and_encoding_change_the_key(tmp_path: Path) -> None:
    changes = ["data.columns=context=passage", "data.encoding=cp1252"]
    keys = {run_key(load_recipe("tiny", list(some))) for some in ([], changes[:1], changes[1:])}
    assert len(keys) == 3


def test_an_encoder_counts_by_its_content(
    tiny_encoder: Callable[..., Path], tmp_path: Path
) -> None:
    """One that is not on this machine is known from stored runs; a start reader brings its own."""
    there = shutil.copytree(tiny_encoder(), tmp_path / "copy")
    recipe = load_recipe("encoder", [f"model.encoder={there}"])
    key, known = run_key(recipe), source_digests(recipe)
    assert key == run_key(load_recipe("encoder", [f"model.encoder={tiny_encoder()}"]))
    config = (there / "config.json").read_text("utf-8")
    (there / "config.json").write_text(config + "\n")
    assert run_key(recipe) != key
    shutil.rmtree(there)
    assert run_key(recipe, known) == key
    with pytest.raises(ReadletError, match="no such folder"):
        run_key(recipe)
    started = load_recipe("encoder", [f"model.encoder={there}", "training.start=bundled"])
    assert run_key(started)
