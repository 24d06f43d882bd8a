"""Work over many files: in turn and by actors, with the same outputs, whatever dies."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from readlet.cluster.files import Job, jobs_of, missing
from readlet.cluster.map_files import MakeWorker, Summary, map_files
from readlet.errors import InputError, ReadletError

ray = pytest.importorskip("ray", reason="needs the extra `cluster`")

SETTINGS = {"task": "upper"}


def make_upper(log: Path, seconds: float = 0.0) -> MakeWorker:
    """Texts in capitals; a line in the log for each worker that is made and each file begun.

    Nested functions: a worker process cannot import a module of the tests.
    """

    def make() -> Any:
        def note(text: str) -> None:
            with log.open("a") as lines:
                lines.write(f"{text} {os.getpid()}\n")

        note("made")

        def work(source: Path, target: Path) -> Mapping[str, int]:
            note(source.name)
            time.sleep(seconds)
            text = source.read_text("utf-8")
            if "damaged" in text:
                raise ReadletError(f"{source}: is damaged; give another")
            draft = target.with_name(f".{target.name}")
            draft.write_text(text.upper(), "utf-8")
            draft.replace(target)
            return {"letters": len(text)}

        return work

    return make


def write_files(folder: Path, count: int, damaged: tuple[int, ...] = ()) -> None:
    folder.mkdir()
    for n in range(count):
        (folder / f"{n:02d}.csv").write_text("damaged" if n in damaged else f"text {n}")


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(folder.glob("*.jsonl"))}


@pytest.fixture
def two_nodes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A cluster of two nodes with one core each, on this machine."""
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    head = {"num_cpus": 1, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    # Connected before there is a second node, so that the tests are on the first.
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    second = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    try:
        yield cluster, second
    finally:
        ray.shutdown()
        cluster.shutdown()


def begun(log: Path) -> list[str]:
    return [line.split()[0] for line in log.read_text().splitlines() if "made" not in line]


def test_in_turn_one_worker_does_all_and_a_damaged_file_stops_none(tmp_path: Path) -> None:
    write_files(tmp_path / "in", 4, damaged=(1,))
    jobs = jobs_of(str(tmp_path / "in"), str(tmp_path / "out"), ".jsonl")
    log = tmp_path / "log"
    found = map_files(make_upper(log), jobs, settings=SETTINGS)
    assert log.read_text().count("made") == 1
    assert (found.files, found.skipped, found.counts) == (4, 0, {"letters": 18})
    assert list(found.failed) == [str(tmp_path / "in" / "01.csv")]
    assert found.by_reason() == [("is damaged; give another", [str(tmp_path / "in" / "01.csv")])]
    assert contents(tmp_path / "out") == {f"0{n}.jsonl": f"TEXT {n}" for n in (0, 2, 3)}


def test_a_second_call_does_what_is_missing(tmp_path: Path) -> None:
    write_files(tmp_path / "in", 3)
    jobs = jobs_of(str(tmp_path / "in"), str(tmp_path / "out"), ".jsonl")
    log = tmp_path / "log"
    map_files(make_upper(log), jobs, settings=SETTINGS)
    (tmp_path / "out" / "01.jsonl").unlink()
    again = map_files(make_upper(log), jobs, settings=SETTINGS)
    assert again.skipped == 2
    assert begun(log) == ["00.csv", "01.csv", "02.csv", "01.csv"]


def test_outputs_of_other_settings_are_not_mixed(tmp_path: Path) -> None:
    write_files(tmp_path / "in", 1)
    jobs = jobs_of(str(tmp_path / "in"), str(tmp_path / "out"), ".jsonl")
    map_files(make_upper(tmp_path / "log"), jobs, settings=SETTINGS)
    with pytest.raises(InputError) as error:
        map_files(make_upper(tmp_path / "log"), jobs, settings={"task": "lower"})
    assert error.value.source == str(tmp_path / "out")


def test_actors_load_once_and_write_the_same(tmp_path: Path, two_nodes: Any) -> None:
    write_files(tmp_path / "in", 8, damaged=(5,))
    for name, address in (("one", ""), ("many", "auto")):
        jobs = jobs_of(str(tmp_path / "in"), str(tmp_path / name), ".jsonl")
        found = map_files(
            make_upper(tmp_path / f"{name}.log"), jobs, settings=SETTINGS, ray=address
        )
        assert list(found.failed) == [str(tmp_path / "in" / "05.csv")]
    assert contents(tmp_path / "one") == contents(tmp_path / "many")
    lines = (tmp_path / "many.log").read_text().splitlines()
    assert sum("made" in line for line in lines) == len({line.split()[1] for line in lines})


def test_a_killed_node_costs_the_file_in_work(tmp_path: Path, two_nodes: Any) -> None:
    cluster, second = two_nodes
    write_files(tmp_path / "in", 10)
    jobs = jobs_of(str(tmp_path / "in"), str(tmp_path / "out"), ".jsonl")
    log, found = tmp_path / "log", []
    from threading import Thread

    def run() -> None:
        found.append(map_files(make_upper(log, 0.8), jobs, settings=SETTINGS, ray="auto"))

    thread = Thread(target=run)
    thread.start()
    while not log.exists() or len({line.split()[1] for line in log.read_text().splitlines()}) < 2:
        time.sleep(0.1)
    time.sleep(1.0)
    cluster.remove_node(second, allow_graceful=False)
    thread.join(60)
    (summary,) = found
    assert not summary.failed
    assert len(contents(tmp_path / "out")) == 10
    assert len(begun(log)) <= 11  # one file was begun twice, at most


DRIVER = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from test_map_files import SETTINGS, make_upper
from readlet.cluster.files import jobs_of
from readlet.cluster.map_files import map_files
jobs = jobs_of({source!r}, {target!r}, ".jsonl")
map_files(make_upper(Path({log!r}), 0.3), jobs, settings=SETTINGS, ray="local")
"""


def test_a_killed_driver_is_started_again(tmp_path: Path) -> None:
    write_files(tmp_path / "in", 10)
    log = tmp_path / "log"
    code = DRIVER.format(
        tests=str(Path(__file__).parent),
        source=str(tmp_path / "in"),
        target=str(tmp_path / "out"),
        log=str(log),
    )
    first = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    while not (tmp_path / "out").exists() or len(contents(tmp_path / "out")) < 3:
        assert first.poll() is None
        time.sleep(0.05)
    first.send_signal(signal.SIGKILL)
    first.wait()
    subprocess.run([sys.executable, "-c", code], check=True, stderr=subprocess.DEVNULL)
    assert len(contents(tmp_path / "out")) == 10
    assert len(begun(log)) <= 12  # the two in work were begun again


def test_an_address_without_a_cluster_is_one_line(tmp_path: Path) -> None:
    write_files(tmp_path / "in", 1)
    jobs = jobs_of(str(tmp_path / "in"), str(tmp_path / "out"), ".jsonl")
    with pytest.raises(ReadletError) as error:
        map_files(make_upper(tmp_path / "log"), jobs, settings=SETTINGS, ray="auto")
    assert "\n" not in str(error.value)
    assert isinstance(Summary(0, 0).by_reason(), list)
    assert missing([Job("a", str(tmp_path / "b"))])
