"""Which files of a stored model are opened: it may come from anyone."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from readlet.errors import InputError
from readlet.inference.reader import Reader
from readlet.storage.stored_files import damage_of, stored_file

FILES = ["calibration.json", "config.json", "metrics.json", "model.safetensors", "vocabulary.json"]


def link_to(target: str) -> Callable[[Path], None]:
    return lambda path: path.symlink_to(target)


def larger(path: Path) -> None:
    with path.open("wb") as stream:
        stream.truncate(17 << 30)  # sparse


HOSTILE: dict[str, Callable[[Path], None]] = {
    "device": link_to("/dev/zero"),
    "pipe": os.mkfifo,
    "outside": link_to(__file__),
    "loop": lambda path: path.symlink_to(path.name),
    "large": larger,
    "folder": Path.mkdir,
}


@pytest.fixture(scope="module")
def stored(random_reader: Callable[..., Reader], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reader")
    reader = random_reader("Ada lit the lamp.")
    reader.notice = "By Ada."
    reader.save(folder)
    return folder


@pytest.mark.parametrize("name", [*FILES, "NOTICE.md"])
@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_file_of_a_reader(stored: Path, tmp_path: Path, name: str, kind: str) -> None:
    folder = tmp_path / "reader"
    shutil.copytree(stored, folder)
    (folder / name).unlink()
    HOSTILE[kind](folder / name)
    with pytest.raises(InputError) as caught:
        Reader.load(folder)
    assert caught.value.source == folder / name
    assert "\n" not in str(caught.value)


def test_links_inside_the_folder(stored: Path, tmp_path: Path) -> None:
    folder = tmp_path / "reader"
    shutil.copytree(stored, folder)
    (folder / "model.safetensors").rename(folder / "weights")
    (folder / "model.safetensors").symlink_to("weights")
    Reader.load(folder)


def test_snapshot_of_the_hubs_cache(stored: Path, tmp_path: Path) -> None:
    snapshot, blobs = tmp_path / "snapshots" / "0123", tmp_path / "blobs"
    snapshot.mkdir(parents=True)
    shutil.copytree(stored, blobs)
    for path in blobs.iterdir():
        (snapshot / path.name).symlink_to(Path("..", "..", "blobs", path.name))
    Reader.load(snapshot)
    (snapshot / "metrics.json").unlink()
    (snapshot / "metrics.json").symlink_to("/etc/hostname")
    with pytest.raises(InputError) as caught:
        Reader.load(snapshot)
    assert caught.value.source == snapshot / "metrics.json"


def test_small_regular_file(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text("{}")
    assert stored_file(path) == path


@pytest.mark.parametrize("value", [1e308, None, [], "x", True])
def test_a_number_in_place_of_an_object(stored: Path, tmp_path: Path, value: object) -> None:
    folder = tmp_path / "reader"
    shutil.copytree(stored, folder)
    config = json.loads((folder / "config.json").read_text())
    config |= {"architecture": "onnx", "exported": value}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(InputError) as caught:
        Reader.load(folder)
    assert caught.value.source == folder / "config.json"


@pytest.mark.parametrize("error", [AttributeError, OverflowError, RecursionError, AssertionError])
def test_any_error_is_damage(tmp_path: Path, error: type[Exception]) -> None:
    with pytest.raises(InputError) as caught, damage_of(tmp_path):
        raise error
    assert caught.value.source == tmp_path
