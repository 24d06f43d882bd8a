"""The cores that a process may use."""

import os
from pathlib import Path

import pytest

from readlet import processes
from readlet.processes import usable_cores


def test_limits_of_a_container(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(processes, "_CGROUP", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)), raising=False)
    assert usable_cores() == 16
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert usable_cores() == 16
    (tmp_path / "cpu.max").write_text("250000 100000\n")
    assert usable_cores() == 3


def test_processes_of_one_machine_share_its_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "usable_cores", lambda: 8)
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    assert processes.own_cores() == 8
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "3")
    assert processes.own_cores() == 2
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "16")
    assert processes.own_cores() == 1
