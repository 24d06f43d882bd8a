"""Free cores and memory, and the threads that commands use."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from readlet import machine
from readlet.machine import Usage, free_cores, memory_bytes, usable_cores


def test_cores_that_others_use_are_not_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "usable_cores", lambda: 8)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)

    def after(seconds: float, idle: float | None, own: float) -> int:
        monkeypatch.setattr(Usage, "now", lambda: Usage(100.0 + seconds, idle, own))
        return free_cores(Usage(100.0, None if idle is None else 0.0, 0.0))

    assert after(2.0, 16.0, 0.0) == 8  # all were idle
    assert after(2.0, 14.0, 2.0) == 8  # or busy with this process
    assert after(2.0, 6.0, 2.0) == 4
    assert after(2.0, 0.0, 0.1) == 1
    monkeypatch.setattr(os, "getloadavg", lambda: (5.2, 0.0, 0.0))
    assert after(0.0, 0.0, 0.0) == 3  # too short to measure: the load of the last minute
    assert after(2.0, None, 0.0) == 3
    monkeypatch.setattr(os, "getloadavg", lambda: (50.0, 0.0, 0.0))
    assert after(2.0, None, 0.0) == 1


def test_limits_of_a_container(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(machine, "_CGROUP", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)), raising=False)
    assert usable_cores() == 16
    whole = memory_bytes()
    assert whole is not None
    (tmp_path / "cpu.max").write_text("max 100000\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert (usable_cores(), memory_bytes()) == (16, whole)
    (tmp_path / "cpu.max").write_text("250000 100000\n")
    (tmp_path / "memory.max").write_text("1048576\n")
    assert (usable_cores(), memory_bytes()) == (3, 1 << 20)


@pytest.mark.parametrize(("chosen", "threads"), [("", 1), ("2", 2)])
def test_a_command_uses_free_cores_unless_the_user_chooses(
    tmp_path: Path,
    readlet: Callable[..., Any],
    random_reader: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    chosen: str,
    threads: int,
) -> None:
    (tmp_path / "p.txt").write_text("Ada lit the lamp.")
    random_reader("Ada lit the lamp.").save(tmp_path / "reader")
    monkeypatch.setattr("readlet.cli.threads.free_cores", lambda since: 1)
    monkeypatch.setenv("OMP_NUM_THREADS", chosen)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        assert readlet("ask", "Who?", tmp_path / "p.txt", "--reader", tmp_path / "reader").code == 0
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)


def test_processes_of_one_machine_share_its_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "usable_cores", lambda: 8)
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    assert machine.own_cores() == 8
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "3")
    assert machine.own_cores() == 2
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "16")
    assert machine.own_cores() == 1
