"""Readers are saved whole, and only over earlier readers."""

import errno
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from readlet.errors import ReadletError
from readlet.inference.reader import Reader
from readlet.inference.saving import foreign_to_reader, own_files
from readlet.inference.trained_model import reader_folder

Build = Callable[..., Reader]
FROZEN = Path(__file__).parents[1] / "fixtures" / "models"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def reader(random_reader: Build) -> Reader:
    return random_reader("the new words")


@pytest.mark.parametrize("name", ["qacnn", "encoder", "exported", "bundled"])
def test_stored_readers_may_be_replaced(reader: Reader, tmp_path: Path, name: str) -> None:
    out = tmp_path / "out"
    shutil.copytree(FROZEN / name if name != "bundled" else reader_folder(name), out)
    reader.save(out)
    reader.save(tmp_path / "new")
    assert contents(out) == contents(tmp_path / "new")  # no NOTICE.md of the earlier one


@pytest.mark.parametrize("name", ["notes.json", "recipe.json", "data.json", "notes.txt", ".env"])
def test_a_file_that_the_user_added_is_kept(reader: Reader, tmp_path: Path, name: str) -> None:
    reader.save(tmp_path)
    (tmp_path / name).write_text("{}")
    before = contents(tmp_path)
    with pytest.raises(ReadletError, match=f"holds {name}, which Readlet did not make; give ano"):
        reader.save(tmp_path)
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    "files",
    [
        {"README.md": "mine"},
        {"config.json": '{"model_type": "bert"}', "model.safetensors": "x", "README.md": "x"},
        {"config.json": '{"format": 1, "files": ["../../mine.txt"]}'},
        {"config.json": '{"format": 1, "architecture": "qacnn", "recipe": {}, "files": ["/etc"]}'},
        {"model.safetensors": "x", "vocabulary.json": "{}"},  # a reader without its config.json
        {"config.json": "[" * 100_000},
    ],
)
def test_what_only_looks_like_a_reader_is_refused(
    reader: Reader, tmp_path: Path, files: dict[str, str]
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    before = contents(tmp_path)
    with pytest.raises(ReadletError, match=f"holds {min(files)}, which Readlet did not make"):
        reader.save(tmp_path)
    assert contents(tmp_path) == before


def moves(reader: Reader, folder: Path, monkeypatch: pytest.MonkeyPatch, stop: int) -> bool:
    """Save, but stop at the given replacement, removal or new folder. Whether it was stopped."""
    count = 0

    def stopping(function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **options: Any) -> Any:
            nonlocal count
            count += 1
            if count == stop:
                os._exit(9)
            return function(*args, **options)

        return counted

    pid = os.fork()
    if not pid:  # killed, not interrupted: nothing may be tidied up
        for name in ("replace", "unlink", "mkdir", "rmdir"):
            monkeypatch.setattr(os, name, stopping(getattr(os, name)))
        try:
            reader.save(folder)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9


def test_a_killed_save_can_be_repeated(
    random_reader: Build, reader: Reader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed at every step: the folder has the old reader, the new one or none, and is ours."""
    monkeypatch.setattr("readlet.inference.model_card._commit", lambda: "abc1234")  # git is slow
    old = replace(random_reader("the old words"), notice="By Ada Brook.")
    old.save(tmp_path / "old")
    reader.save(tmp_path / "new")
    before, after = contents(tmp_path / "old"), contents(tmp_path / "new")
    stop, stopped, states = 0, True, set()
    while stopped:
        stop += 1
        out = tmp_path / str(stop)
        shutil.copytree(tmp_path / "old", out)
        stopped = moves(reader, out, monkeypatch, stop)
        whole = {n: b for n, b in contents_of_files(out).items() if not n.startswith(".")}
        state = "old" if whole == before else "new" if whole == after else "none"
        states.add(state)
        assert state != "none" or not (out / "config.json").exists()
        assert list(foreign_to_reader(out)) == []
        (out / "mine.txt").write_text("mine")
        with pytest.raises(ReadletError, match=r"holds mine\.txt, which Readlet did not make"):
            reader.save(out)
        (out / "mine.txt").unlink()
        moves(reader, out, monkeypatch, stop)  # killed again, at the same step
        reader.save(out)
        assert contents(out) == after
    assert stop > 15
    assert states == {"old", "new", "none"}


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../a"])
def test_a_file_of_a_reader_lies_in_its_folder(tmp_path: Path, name: str) -> None:
    """Files that a reader lists may be removed, so other names make it no reader."""
    config = {"format": 1, "architecture": "qacnn", "recipe": {}}
    (tmp_path / "config.json").write_text(json.dumps(config | {"files": ["model.safetensors"]}))
    assert "model.safetensors" in own_files(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(config | {"files": [name]}))
    assert own_files(tmp_path) == set()


def contents_of_files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_a_full_disk_leaves_the_earlier_reader(
    random_reader: Build, reader: Reader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random_reader("the old words").save(tmp_path)
    before = contents(tmp_path)

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ReadletError, match="No space left on device"):
        reader.save(tmp_path)
    assert contents(tmp_path) == before


def test_a_file_that_came_during_training_is_renamed(reader: Reader, tmp_path: Path) -> None:
    """`write` is called hours after the folder was checked: neither file may be lost."""
    (tmp_path / "README.md").write_text("mine")
    (tmp_path / "config.json").write_text("mine too")
    with pytest.warns(UserWarning, match="not a part of the reader; it is now"):
        reader.write(tmp_path)
    assert (tmp_path / "README.md.1").read_text() == "mine"
    assert (tmp_path / "config.json.1").read_text() == "mine too"
    assert Reader.load(tmp_path).name == reader.name
