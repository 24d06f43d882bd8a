"""The cache: never stale, never incomplete, and its failures never stop the work."""

import errno
import gzip
import importlib
import json
import os
import re
import sys
import time
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from readlet.models.qacnn.recipe import QacnnRecipe
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


def test_the_folder_follows_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("READLET_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "readlet"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "readlet"


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


def test_the_key_depends_on_the_code_of_the_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entries may be made by a module outside of `text`, with helpers of its own."""
    monkeypatch.syspath_prepend(tmp_path)
    source = tmp_path / "module_of_a_caller.py"
    keys = set()
    for width in (3, 4):
        source.write_text(f"def make():\n    return helper()\ndef helper():\n    return {width}\n")
        importlib.invalidate_caches()
        sys.modules.pop(source.stem, None)
        keys.add(cache_key([], {}, importlib.import_module(source.stem).make))
    sys.modules.pop(source.stem)
    assert len(keys) == 2


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


def test_a_draft_of_a_killed_process_with_the_same_id_does_no_harm(
    capsys: pytest.CaptureFixture[str],
) -> None:
    (cache_folder() / f".key.{os.getpid()}").mkdir(parents=True)
    build = Build()
    check(cached("key", build))
    check(cached("key", build))
    assert build.calls == 1
    assert capsys.readouterr().err == ""


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


def test_a_short_write_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def short(*_: Any, **__: Any) -> None:
        raise OSError("24 requested and 0 written")  # NumPy's own message; no errno

    monkeypatch.setattr(np, "save", short)
    check(cached("key", Build()))
    assert "24 requested and 0 written" in capsys.readouterr().err


def test_an_entry_appears_only_when_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    existed = []
    save = np.save

    def watched(*given: Any, **options: Any) -> None:
        save(*given, **options)
        existed.append((cache_folder() / "key").exists())

    monkeypatch.setattr(np, "save", watched)
    cached("key", Build())
    assert existed == [False, False]
    assert (cache_folder() / "key").is_dir()


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


def test_squad_is_encoded_and_loaded_in_time(
    real_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against a program that only cuts all texts into words. All times are those of the CPU."""
    squad = real_data / "squad" / "dev-v1.1.json.gz"
    vectors = [tmp_path / f"{width}.txt" for width in (100, 50)]
    for path, width in zip(vectors, (100, 50), strict=True):
        with gzip.open(real_data / "vectors" / f"glove.{width}d.txt.gz", "rt", -1, "utf-8") as all_:
            path.write_text("".join(islice(all_, 20_000)), "utf-8")
    recipe = QacnnRecipe.model_validate(
        {"data": {"train": [str(squad)]}, "words": {"vectors": [str(path) for path in vectors]}}
    )
    start = time.process_time()
    made = training_data.prepare(recipe)
    making = time.process_time() - start
    assert len(made.train.examples) + len(made.held_out.examples) > 10_000
    start = time.process_time()
    with gzip.open(squad) as stream:
        articles = json.load(stream)["data"]
    cut = re.compile(r"\w+|[^\w\s]").findall
    for paragraph in (paragraph for article in articles for paragraph in article["paragraphs"]):
        for question in paragraph["qas"]:
            assert len(cut(paragraph["context"])) > len(cut(question["question"])) / 9
    assert making < 25 * (time.process_time() - start)
    assert made.encoder.vectors.shape[1] == 150

    loading = []

    def timed(key: str, build: Any) -> Stored:
        begin = time.process_time()
        found = cached(key, lambda: pytest.fail("not in the cache"))
        loading.append(time.process_time() - begin)
        return found

    monkeypatch.setattr(training_data, "cached", timed)
    loaded = training_data.prepare(recipe)
    assert len(loading) == 4  # vocabulary, held-out, dev, train
    assert sum(loading) < making / 5
    assert loaded.encoder.vocabulary == made.encoder.vocabulary
    assert loaded.train.rows.notes == made.train.rows.notes
    for name, array in made.train.rows.stored()[0].items():
        np.testing.assert_array_equal(loaded.train.rows.stored()[0][name], array)
