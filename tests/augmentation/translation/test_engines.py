"""Where neural models come from: Argos packages, converted models, the hub."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from readlet.augmentation.translation import engines
from readlet.augmentation.translation.engines import argos, engine_named, translator_for
from readlet.augmentation.translation.types import LanguagePair
from readlet.errors import InputError, ReadletError

Make = Callable[[str, str], Path]


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache, and no Apertium."""
    monkeypatch.setenv("READLET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("APERTIUM_DATADIR", str(tmp_path / "apertium"))


def test_a_package_is_unpacked_once(argos_package: Make, tmp_path: Path) -> None:
    pair, file = LanguagePair("en", "es"), argos_package("en", "es")
    version = argos([file]).version(pair)
    assert version.startswith("1.9 ")
    [folder] = (tmp_path / "cache" / "packages").iterdir()
    assert engine_named(str(folder)).version(pair) == version
    metadata = folder / "metadata.json"
    stored = json.loads(metadata.read_text("utf-8"))
    metadata.write_text(json.dumps(stored | {"package_version": "2.0"}))
    assert argos([file]).version(pair).startswith("2.0 ")


def test_pivots_and_missing_pairs(argos_package: Make) -> None:
    both = argos([argos_package(*pair) for pair in (("de", "en"), ("en", "es"))])
    assert set(both.pairs()) == {("de", "en"), ("en", "es")}
    for engine in (None, str(argos_package("en", "es"))):
        with pytest.raises(ReadletError, match="no engine translates es-de: "):
            translator_for(LanguagePair("es", "de"), engine)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the hub gives for `someone/opus-mt-en-es-ctranslate2`; it has nothing else."""

    def download(name: str, **_: Any) -> str:
        if name != "someone/opus-mt-en-es-ctranslate2":
            raise OSError("not there\nat all")
        return str(tmp_path / "snapshot")

    (tmp_path / "snapshot").mkdir()
    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    engines._engine_from_hub.cache_clear()
    return tmp_path / "snapshot"


def test_a_name_on_the_hub(hub: Path, argos_package: Make) -> None:
    """Of a converted model, whose languages its name tells, or of Argos packages."""
    name = "someone/opus-mt-en-es-ctranslate2"
    for file in ("model.bin", "source.spm", "target.spm"):
        (hub / file).write_bytes(b"x")
    assert list(engine_named(name).pairs()) == [("en", "es")]
    assert engine_named(name).name == "ctranslate2"
    engines._engine_from_hub.cache_clear()
    for pair in (("en", "es"), ("es", "en")):
        package = argos_package(*pair)
        (hub / package.name).write_bytes(package.read_bytes())
    assert set(engine_named(name).pairs()) == {("en", "es"), ("es", "en")}
    with pytest.raises(ReadletError, match=r"someone/else: .*\(not there\)"):
        engine_named("someone/else")


def _zip(path: Path, entries: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as package:
        for name, content in entries.items():
            package.writestr(name, content)
    return path


def test_a_package_that_would_fill_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "_MOST_BYTES", 1000)
    file = _zip(tmp_path / "x.argosmodel", {"a/metadata.json": b" " * 1001})
    with pytest.raises(InputError) as error:
        argos([file])
    assert error.value.source == file
    assert list((tmp_path / "cache" / "packages").iterdir()) == []


@pytest.mark.parametrize("content", [b"no zip", {"a/model/model.bin": b""}, {"a/x.json": b"[1]"}])
def test_what_is_no_package(tmp_path: Path, content: Any) -> None:
    file = tmp_path / "x.argosmodel"
    if isinstance(content, bytes):
        file.write_bytes(content)
    else:
        _zip(file, content)
    with pytest.raises(InputError) as error:
        argos([file])
    assert error.value.source == file


def test_a_damaged_package_leaves_nothing(argos_package: Make, tmp_path: Path) -> None:
    file = tmp_path / "x.argosmodel"
    data = bytearray(argos_package("en", "es").read_bytes())
    data[3000] ^= 255
    file.write_bytes(data)
    with pytest.raises(InputError):
        argos([file])
    assert list((tmp_path / "cache" / "packages").iterdir()) == []
