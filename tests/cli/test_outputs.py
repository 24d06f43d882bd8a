"""Commands check their output before any work: nothing that they did not make is destroyed."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from readlet.data import write_examples
from readlet.engine.loop import TrainingLoop
from readlet.inference.reader import Reader
from readlet.inference.trained_model import TrainedModel
from readlet.types import Example, Span

Run = Callable[..., Any]

LAMP = "The lamp at Cape Wick was lit by Ada Brook in 1881."
# OUT is the output; the other words in capitals are files of `world`.
FILES = {
    "predict": ("predict READER DATA.jsonl --out OUT", ("DATA.jsonl", "READER/config.json")),
    "augment": ("augment DATA.jsonl --to es --out OUT", ("DATA.jsonl",)),
    "merge": ("vectors merge es=ES.vec en=EN.vec --out OUT", ("ES.vec", "EN.vec")),
}
FOLDERS = {
    "train": "train tiny --out OUT --set training.teacher=READER",
    "slim": "slim READER --out OUT",
    "experiment": "experiment run TABLE.toml --out OUT --set training.teacher=READER",
}


class World(NamedTuple):
    """Inputs of all kinds in one folder."""

    folder: Path
    readlet: Run

    def words(self, line: str, out: Path) -> list[str]:
        """The line with the paths of its files."""
        filled = []
        for word in line.split():
            before, equals, name = word.rpartition("=")
            path = self.folder / name
            is_file = name and name.isascii() and name[0].isupper() and path.exists()
            filled.append(f"{before}{equals}{out if name == 'OUT' else path if is_file else name}")
        return filled

    def state(self) -> dict[str, bytes]:
        paths = sorted(self.folder.rglob("*"))
        return {str(path): path.read_bytes() if path.is_file() else b"" for path in paths}


@pytest.fixture(scope="module")
def inputs(
    tmp_path_factory: pytest.TempPathFactory,
    random_reader: Callable[..., Reader],
    few_questions: Path,
    small_table: str,
) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    answered = Example("1", "Who lit it?", LAMP, (Span(33, "Ada Brook"),))
    write_examples(folder / "DATA.jsonl", [answered])
    (folder / "ES.vec").write_text("faro 1 2\nmar 3 1\n")
    (folder / "EN.vec").write_text("lamp 1 2\nsea 1 3\n")
    random_reader(LAMP).save(folder / "READER")
    table = small_table.replace("seeds = 2", "seeds = 1").replace("epochs = 2", "epochs = 1")
    table = table.replace('"no match" = { model.match_features = false }', "")
    files = f'data.train = ["{few_questions}"]\ndata.dev = "{few_questions}"\ndata.max_context'
    (folder / "TABLE.toml").write_text(table.replace("data.max_context", files))
    return folder


@pytest.fixture
def world(tmp_path: Path, inputs: Path, readlet: Run) -> World:
    return World(shutil.copytree(inputs, tmp_path / "world"), readlet)


@pytest.fixture
def rejected(world: World, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Path], str]:
    """The one line with which a command rejects its output, without any work or change."""

    def worked(self: object, *_: Any, **__: Any) -> None:
        raise AssertionError("data were read, or a reader loaded, before the output was checked")

    def check(line: str, out: Path) -> str:
        before = world.state()
        with monkeypatch.context() as trap:
            trap.setattr(Example, "__init__", worked)
            trap.setattr(TrainedModel, "__post_init__", worked)
            trap.setattr(TrainingLoop, "run", worked)
            done = world.readlet(*world.words(line, out))
        assert (done.code, done.out) == (2, ""), done.err
        (message,) = done.err.splitlines()
        assert world.state() == before
        return str(message)

    return check


Rejected = Callable[[str, Path], str]


@pytest.mark.parametrize("command", FILES)
def test_no_file_is_written_over_an_input(world: World, rejected: Rejected, command: str) -> None:
    line, inputs = FILES[command]
    for name in inputs:
        path = world.folder / name
        assert f"{path}: is also an input" in rejected(f"{line} --overwrite", path)


@pytest.mark.parametrize("command", FILES)
def test_a_file_is_replaced_on_request_only(world: World, rejected: Rejected, command: str) -> None:
    out = world.folder / "notes.jsonl"
    out.write_text("mine")
    message = rejected(FILES[command][0], out)
    assert str(out) in message
    assert "--overwrite" in message


@pytest.mark.parametrize("command", FOLDERS)
def test_a_folder_of_the_user_is_not_written(
    world: World, rejected: Rejected, command: str
) -> None:
    out = world.folder / "out"
    out.mkdir()
    (out / "config.json").write_text('{"model_type": "bert"}')
    assert f"{out}: holds config.json" in rejected(FOLDERS[command], out)
    assert str(world.folder / "READER") in rejected(FOLDERS[command], world.folder / "READER")
