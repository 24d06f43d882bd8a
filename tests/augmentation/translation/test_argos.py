import json
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from readlet.augmentation.translation import argos, engines
from readlet.augmentation.translation.argos import Argos, installed, opened, unpack, version_key
from readlet.augmentation.translation.engines import engine_named, translator_for
from readlet.augmentation.translation.types import LanguagePair
from readlet.errors import ReadletError

Make = Callable[[str, str], Path]


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Argos' folder and the cache, both empty; no Apertium."""
    monkeypatch.setenv("ARGOS_PACKAGES_DIR", str(tmp_path / "packages"))
    monkeypatch.setenv("READLET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("APERTIUM_DATADIR", str(tmp_path / "apertium"))
    return tmp_path / "packages"


def test_installed_packages_of_which_the_newest_counts(argos_package: Make, folders: Path) -> None:
    file = argos_package("en", "es")
    for version in ("1.9", "1.10", "1.2"):
        package = unpack(file, folders / f"translate-en_es-{version.replace('.', '_')}")
        metadata = package.folder / "metadata.json"
        stored = json.loads(metadata.read_text("utf-8"))
        metadata.write_text(json.dumps(stored | {"package_version": version}))
    (folders / "unfinished").mkdir()
    (folders / "unfinished" / "metadata.json").write_text("{")
    with pytest.warns(UserWarning, match="not used: .*unfinished"):
        assert len(list(installed())) == 3
    (folders / "unfinished" / "metadata.json").unlink()
    assert Argos().version(LanguagePair("en", "es")).startswith("1.10 ")
    assert version_key("1.10") > version_key("1.9")


def test_pivots_and_missing_pairs(argos_package: Make, folders: Path) -> None:
    for source, target in (("de", "en"), ("en", "es")):
        unpack(argos_package(source, target), folders / f"{source}_{target}")
    assert translator_for(LanguagePair("de", "es")).name == "argos"
    with pytest.raises(ReadletError) as failure:
        translator_for(LanguagePair("es", "de"))
    assert "argos has de-en en-es" in str(failure.value)


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


def _zip(path: Path, entries: dict[str, bytes], link: str = "") -> Path:
    with zipfile.ZipFile(path, "w") as package:
        for name, content in entries.items():
            package.writestr(name, content)
        if link:
            entry = zipfile.ZipInfo(link)
            entry.external_attr = (stat.S_IFLNK | 0o777) << 16
            package.writestr(entry, "/etc")
    return path


def test_a_package_that_would_fill_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(argos, "_MOST_BYTES", 1000)
    file = _zip(tmp_path / "x.argosmodel", {"a/metadata.json": b" " * 1001})
    with pytest.raises(ReadletError, match="would unpack to more than"):
        opened(file)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"no zip", "x.argosmodel"),
        ({"a/model/model.bin": b""}, "metadata.json"),
        ({"a/metadata.json": b"[1]"}, "metadata.json"),
    ],
)
def test_what_is_no_package(tmp_path: Path, content: Any, fault: str) -> None:
    file = tmp_path / "x.argosmodel"
    if isinstance(content, bytes):
        file.write_bytes(content)
    else:
        _zip(file, content)
    with pytest.raises(ReadletError, match=fault):
        opened(file)


def test_a_damaged_package_leaves_nothing(argos_package: Make, tmp_path: Path) -> None:
    file = tmp_path / "x.argosmodel"
    data = bytearray(argos_package("en", "es").read_bytes())
    data[3000] ^= 255
    file.write_bytes(data)
    with pytest.raises(ReadletError, match="download it again"):
        opened(file)
    assert list((tmp_path / "cache" / "packages").iterdir()) == []
