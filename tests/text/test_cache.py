"""The cache: never stale, never incomplete, and its failures never stop the work."""

import errno
import gzip
import io
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
    assert sorted(path.name for path in cache_folder().iterdir()) == ["key.npz", "other.npz"]


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


def test_a_damaged_entry_is_rebuilt(capsys: pytest.CaptureFixture[str]) -> None:
    """Cut, replaced, or with any bit flipped, also in a number that stays valid."""
    cached("key", Build())
    path = cache_folder() / "key.npz"
    whole = path.read_bytes()
    pickled = io.BytesIO()
    np.savez(pickled, a=np.array([{}], dtype=object), allow_pickle=True)
    damaged = [b"", b"not an archive", whole[:-5], whole[: len(whole) // 2], pickled.getvalue()]
    places = (whole.index(ARRAYS["a"].tobytes()), whole.index(b"half a pair"))
    damaged += [whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in places]
    for content in damaged:
        path.write_bytes(content)
        build = Build()
        check(cached("key", build))
        assert build.calls == 1
        assert "key is damaged" in capsys.readouterr().err
        check(cached("key", build))  # and the new one is complete
        assert build.calls == 1


def test_no_flipped_bit_goes_unnoticed() -> None:
    cached("key", Build())
    path = cache_folder() / "key.npz"
    whole = path.read_bytes()
    for at in range(0, len(whole), 3):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        check(cached("key", Build()))


@pytest.mark.parametrize(("room", "name"), [(np, "savez"), (Path, "mkdir"), (os, "replace")])
def test_a_full_disk_stops_nothing_and_leaves_no_files(
    room: Any, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    cache_folder().mkdir()
    build = Build()
    with monkeypatch.context() as patch:
        patch.setattr(room, name, full)
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
    assert [path.name for path in cache_folder().iterdir()] == ["key.npz"]


def test_the_least_recently_used_entries_are_evicted(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [f"{number:032x}" for number in range(3)]
    entries = [f"{key}.npz" for key in keys]
    build = Build()
    cached(keys[0], build)
    size = (cache_folder() / entries[0]).stat().st_size
    monkeypatch.setattr(cache, "_MAX_BYTES", 2 * size)

    def age(name: str, hours: float) -> None:
        os.utime(cache_folder() / name, times=(time.time() - hours * 3600,) * 2)

    def left() -> set[str]:
        return {path.name for path in cache_folder().iterdir()}

    cached(keys[1], build)
    mine = {"notes.npz", f"{entries[0]}.txt"}  # not files of the cache: never removed
    for name in mine:
        (cache_folder() / name).write_bytes(bytes(5 * size))
        age(name, 99)
    age(entries[0], 5)
    age(entries[1], 9)
    cached(keys[2], build)
    assert left() == {entries[0], entries[2], *mine}
    # Use keeps an entry: now the other one is older.
    age(entries[2], 7)
    check(cached(keys[0], build))
    cached(keys[1], build)
    assert left() == {entries[0], entries[1], *mine}
    assert build.calls == 4
