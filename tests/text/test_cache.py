"""The cache: never stale, never incomplete, and its failures never stop the work."""

import errno
import gzip
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from readlet.storage.files import cache_folder
from readlet.text import rows as cache
from readlet.text.rows import Stored, cache_key, cached
from readlet.training import training_data

ARRAYS = {"a": np.arange(6, dtype=np.int32).reshape(2, 3), "b": np.array([], np.float32)}
META = {"ids": ["1", "río", "half a pair \ud83d"], "n": 3}


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("READLET_CACHE", str(tmp_path / "cache"))


class Build:
    """Builds the same arrays every time and counts the calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> Stored:
        self.calls += 1
        return ARRAYS, META


def check(stored: Stored) -> None:
    arrays, meta = stored
    assert meta == META
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array)


def test_the_second_time_it_is_loaded_from_disk(capsys: pytest.CaptureFixture[str]) -> None:
    build = Build()
    check(cached("key", build))
    check(cached("key", build))
    assert build.calls == 1
    check(cached("other", build))
    assert build.calls == 2
    assert capsys.readouterr().err == ""
    assert sorted(path.name for path in cache_folder().iterdir()) == ["key", "other"]


def test_the_key_depends_on_content_settings_and_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def key_of(paths: list[Path], settings: dict[str, Any]) -> str:
        return cache_key(paths, settings, check)

    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("sea")
    two.write_text("ship")
    settings = {"max_words": 5, "part": "train"}
    key = key_of([one, two], settings)
    assert key == key_of([one, two], dict(reversed(settings.items())))
    one.write_text("sea")  # touched, not changed
    assert key == key_of([one, two], settings)
    one.write_bytes(gzip.compress(b"sea"))  # the same data, compressed
    assert key == key_of([one, two], settings)
    others = [
        key_of([two, one], settings),
        key_of([one], settings),
        key_of([one, two], settings | {"max_words": 6}),
        key_of([one, two], {"max_words": 5}),
    ]
    one.write_text("Sea")
    others.append(key_of([one, two], settings))
    one.write_text("sea")
    others.append(cache_key([one, two], settings, training_data.prepare))
    monkeypatch.setattr(cache, "_code_version", lambda: "another")
    others.append(key_of([one, two], settings))
    assert len({key, *others}) == 1 + len(others)


def test_every_file_of_the_rooms_is_part_of_the_code_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = ("text/words.py", "text/languages.json", "data/rows.py", "types.py")
    for name in ("text/rows.py", *inside):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1")
    monkeypatch.setattr(cache, "__file__", str(tmp_path / "text/rows.py"))
    versions = {cache._code_version()}
    for name in (*inside, "text/new.py"):
        (tmp_path / name).write_text("2")
        versions.add(cache._code_version())
    monkeypatch.setattr(cache.regex, "__version__", "another")
    versions.add(cache._code_version())
    assert len(versions) == 7


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("meta.json", b""),
        ("meta.json", b'{"arrays": ["a"'),
        ("meta.json", b"{}"),
        ("meta.json", b"[]"),
        ("meta.json", b"\xff\xfe"),
        ("meta.json", None),
        ("meta.json", b"[" * 100_000),
        ("digest", b""),
        ("digest", None),
        ("a.npy", b"flip"),
        ("a.npy", b""),
        ("a.npy", b"not an array"),
        ("a.npy", b"half"),
        ("a.npy", None),
    ],
)
def test_a_damaged_entry_is_rebuilt(
    name: str, content: bytes | None, capsys: pytest.CaptureFixture[str]
) -> None:
    build = Build()
    cached("key", build)
    path = cache_folder() / "key" / name
    if content is None:
        path.unlink()
    elif content == b"half":
        path.write_bytes(path.read_bytes()[:-5])
    elif content == b"flip":  # a number that is as valid as the one before
        path.write_bytes(path.read_bytes()[:-4] + b"\x04\0\0\0")
    else:
        path.write_bytes(content)
    check(cached("key", build))
    assert build.calls == 2
    assert "key is damaged" in capsys.readouterr().err
    check(cached("key", build))  # and the new one is complete
    assert build.calls == 2


@pytest.mark.parametrize("place", ["save", "write_text", "rename"])
def test_a_full_disk_stops_nothing_and_leaves_no_files(
    place: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    build = Build()
    with monkeypatch.context() as patch:
        patch.setattr(np if place == "save" else Path, place, full)
        check(cached("key", build))
        assert "No space left" in capsys.readouterr().err
    assert list(cache_folder().iterdir()) == []
    check(cached("key", build))
    check(cached("key", build))
    assert build.calls == 2


def test_the_second_writer_keeps_the_entry_of_the_first() -> None:
    """Two processes make the same entry at the same time."""
    build = Build()

    def slower() -> Stored:
        check(cached("key", build))  # the other process finishes while this one builds
        return build()

    check(cached("key", slower))
    check(cached("key", build))
    assert build.calls == 2
    assert [path.name for path in cache_folder().iterdir()] == ["key"]


def test_the_least_recently_used_entries_are_evicted(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [f"{number:032x}" for number in range(4)]
    build = Build()
    cached(keys[0], build)
    size = sum(path.stat().st_size for path in (cache_folder() / keys[0]).iterdir())
    monkeypatch.setattr(cache, "_MAX_BYTES", 2 * size)

    def age(name: str, hours: float) -> None:
        os.utime(cache_folder() / name, times=(time.time() - hours * 3600,) * 2)

    def left() -> set[str]:
        return {path.name for path in cache_folder().iterdir()}

    cached(keys[1], build)
    dead = f".{keys[3]}.4711"  # a draft of a process that was killed
    mine = {"notes", "a" * 31, "a" * 32, f"{keys[0]}.txt"}  # not files of the cache: never removed
    for name in (dead, *mine):
        (cache_folder() / name).mkdir()
        (cache_folder() / name / "file").write_bytes(bytes(5 * size))
        age(name, 99)
    age(keys[0], 5)
    age(keys[1], 9)
    cached(keys[2], build)
    assert left() == {keys[0], keys[2], *mine}
    # Use keeps an entry: now the other one is older.
    age(keys[2], 7)
    check(cached(keys[0], build))
    cached(keys[1], build)
    assert left() == {keys[0], keys[1], *mine}
    # Entries that another process may be reading stay, whatever the limit.
    cached(keys[2], build)
    assert left() == {*keys[:3], *mine}
    assert build.calls == 5
