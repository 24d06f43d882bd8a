import sqlite3
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from readlet.augmentation.translation.cache import Cache
from readlet.augmentation.translation.types import LanguagePair, Link, Loss, Translation
from readlet.errors import ReadletError

PAIR = LanguagePair("en", "es")
MADE = [
    Translation("uno"),
    Translation("dos", (Link((0, 3), (0, 3)), Link((4, 70_000), (4, 9)))),
    Translation("", loss=Loss.EMPTY),
    Translation("cuatro ?", ()),
]
SENTENCES = ["one", "two", "three", "four ö"]


def test_what_was_stored_is_found(tmp_path: Path) -> None:
    with Cache(tmp_path / "c.sqlite") as cache:
        cache.put(cache.model("x", "1", PAIR), SENTENCES, MADE)
    with Cache(tmp_path / "c.sqlite") as cache:
        model = cache.model("x", "1", PAIR)
        assert cache.get(model, [*SENTENCES, "five"]) == dict(zip(SENTENCES, MADE, strict=True))
        for other in (("y", "1", PAIR), ("x", "2", PAIR), ("x", "1", LanguagePair("en", "fr"))):
            assert cache.get(cache.model(*other), SENTENCES) == {}


def test_the_first_translation_stays(tmp_path: Path) -> None:
    with Cache(tmp_path / "c.sqlite") as cache, Cache(tmp_path / "c.sqlite") as other:
        model = cache.model("x", "1", PAIR)
        assert other.model("x", "1", PAIR) == model
        cache.put(model, ["one"], [Translation("uno")])
        other.put(model, ["one", "two"], [Translation("un"), Translation("dos")])
        assert cache.get(model, ["one", "two"]) == {
            "one": Translation("uno"),
            "two": Translation("dos"),
        }


_WRITER = """
import sys
from pathlib import Path
from typing import Any
from readlet.augmentation.translation.cache import Cache
from readlet.augmentation.translation.types import LanguagePair, Translation
with Cache(Path(sys.argv[1])) as cache:
    model = cache.model("x", "1", LanguagePair("en", "es"))
    for batch in range(20):
        texts = [f"{sys.argv[2]} {batch} {n}" for n in range(20)]
        cache.put(model, texts, [Translation(text) for text in texts])
    print("stored", flush=True)
    cache.connection.execute("BEGIN IMMEDIATE")
    cache.connection.execute("DELETE FROM translations")
    if sys.argv[3] == "killed":
        import os, signal
        os.kill(os.getpid(), signal.SIGKILL)
    cache.connection.execute("ROLLBACK")
"""


def test_two_processes_at_once_one_of_them_killed(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    commands = [
        [sys.executable, "-c", _WRITER, str(path), name, end]
        for name, end in (("a", "killed"), ("b", "ends"))
    ]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE) for command in commands]
    printed = [process.communicate()[0] for process in running]
    assert printed == [b"stored\n"] * 2
    assert [process.returncode for process in running] == [-9, 0]
    with Cache(path) as cache:
        assert len(cache) == 800


def test_processes_that_open_a_new_cache_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite does not wait for a process that begins the log at the same moment, but refuses."""
    refused: list[sqlite3.OperationalError] = []

    class Busy(sqlite3.Connection):
        def execute(self, command: str, values: Any = (), /) -> sqlite3.Cursor:
            if "journal_mode" in command and len(refused) < 2:
                refused.append(sqlite3.OperationalError("database is locked"))
                refused[-1].sqlite_errorcode = sqlite3.SQLITE_BUSY
                raise refused[-1]
            return super().execute(command, values)

    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Busy))
    with Cache(tmp_path / "c.sqlite") as cache:
        assert len(cache) == 0


def test_files_that_are_no_cache(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    path.write_text("This is a text, not a database, and a long one at that. " * 40)
    with pytest.raises(ReadletError, match=r"c\.sqlite: "):
        Cache(path)
    assert path.read_text().startswith("This is")
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE songs (name)")
    with pytest.raises(ReadletError, match=r"other\.sqlite: "):
        Cache(other)


def test_a_cache_damaged_in_the_middle(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    sentences = [f"sentence {number}" for number in range(2000)]
    with Cache(path) as cache:
        model = cache.model("x", "1", PAIR)
        cache.put(model, sentences, [Translation(text) for text in sentences])
    data = bytearray(path.read_bytes())
    data[8192 : len(data) - 4096] = bytes([255]) * (len(data) - 12288)
    path.write_bytes(data)
    with pytest.raises(ReadletError, match="the cache is damaged"), Cache(path) as cache:
        cache.get(model, sentences)
