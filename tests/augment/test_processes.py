"""Several processes and machines: who translates what, and into which cache."""

from pathlib import Path

import pytest

from readlet.augment.processes import Processes
from readlet.augment.shards import Shard


def test_a_process_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    alone = Processes.launched()
    assert alone == Processes()
    assert alone.is_main
    assert alone.own_cache(Path("c.sqlite")) == Path("c.sqlite")
    assert alone.other_caches(Path("c.sqlite")) == []
    alone.wait_for_all()


def test_processes_of_two_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of the last of two times four processes, as torch's launcher sets it."""
    values = {"RANK": 7, "WORLD_SIZE": 8, "GROUP_RANK": 1, "GROUP_WORLD_SIZE": 2}
    for name, value in {**values, "LOCAL_RANK": 3, "LOCAL_WORLD_SIZE": 4}.items():
        monkeypatch.setenv(name, str(value))
    last = Processes.launched()
    assert last.shard == Shard(7, 8)
    assert not last.is_main
    assert (last.number_here, last.count_here) == (3, 4)
    cache = Path("folder", "c.sqlite")
    assert last.own_cache(cache) == Path("folder", "c.sqlite.machine-1")
    assert last.other_caches(cache) == [
        Path("folder", f"c.sqlite.machine-{number}") for number in (0, 1)
    ]
