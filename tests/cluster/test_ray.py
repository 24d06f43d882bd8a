"""The same by Ray: the same outputs, whatever dies. One cluster of two nodes for all tests."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from readlet.cluster import run_grid
from readlet.cluster.actors import connected
from readlet.cluster.columns import AnswerColumns
from readlet.cluster.files import Job
from readlet.cluster.map_files import Summary, map_files
from readlet.errors import ReadletError
from readlet.storage.files import cache_folder

ray = pytest.importorskip("ray", reason="needs the extra `cluster`")

Run = Callable[..., Any]
Jobs = Callable[..., list[Job]]
SETTINGS = {"task": "upper"}
ONE_CORE = {"num_cpus": 1, "object_store_memory": 100 << 20}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A cluster of two nodes with one core each, on this machine."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_AUTH_MODE", "disabled")  # a token would have to be there before Ray is
        head = Cluster(
            initialize_head=True, head_node_args={**ONE_CORE, "include_dashboard": False}
        )
        try:
            patch.setenv("RAY_ADDRESS", head.address)
            # Connected before there is a second node, so that the tests are on the first.
            with connected("auto"):
                head.second = head.add_node(**ONE_CORE)
                head.wait_for_nodes()
                yield head
        finally:
            head.shutdown()


def begun(log: Path) -> list[str]:
    return [line.split()[0] for line in log.read_text().splitlines() if "made" not in line]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name[0] != "."}


def wait_until(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("where", "fault"),
    [
        ("auto", ConnectionError("Could not find any running Ray instance.\nStart one.")),
        ("local", OSError(28, "No space left on device")),
        ("nowhere", AssertionError("is not asked")),
        ("127.0.0.1:1", AssertionError("is not asked")),
        (":70000", AssertionError("is not asked")),
    ],
)
def test_ray_that_does_not_start_is_one_line(
    monkeypatch: pytest.MonkeyPatch, where: str, fault: Exception
) -> None:
    def init(**options: Any) -> None:
        raise fault

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", init)
    with pytest.raises(ReadletError) as error, connected(where):
        pass
    assert "\n" not in str(error.value)
    assert f"--ray {where}: " in str(error.value)
    assert "is not asked" not in str(error.value)


def test_workers_import_nothing_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ray puts the folder in which it is connected first on the path of its workers."""
    folders: list[Path] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", lambda **_: folders.append(Path.cwd()))
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    with connected("auto"):
        assert Path.cwd() == tmp_path
    assert folders == [Path(os.__file__).parent]


def test_predictions_are_the_same_and_a_damaged_file_stops_none(
    readlet: Run, tmp_path: Path, question_files: Path, cluster: Any
) -> None:
    by_ray = readlet("predict", "bundled", question_files, "--out", tmp_path / "a", "--ray", "auto")
    in_turn = readlet("predict", "bundled", question_files, "--out", tmp_path / "b")
    assert (by_ray.code, in_turn.code) == (2, 2)
    assert by_ray.out.replace("/a:", "/b:") == in_turn.out
    assert "damaged.jsonl" in by_ray.err
    assert len(contents(tmp_path / "a")) == 3
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_workers_run_nothing_where_they_were_started(
    tmp_path: Path, question_files: Path, cluster: Any
) -> None:
    """Modules in a folder of downloads, on a real cluster."""
    downloads = tmp_path / "downloads"
    downloads.mkdir()
    for name in ("pypdf", "logging", "readlet", "json", "numpy"):
        (downloads / f"{name}.py").write_text("open(__file__ + '.ran', 'w').close()\n")
    (tmp_path / "script.py").write_text("from readlet.__main__ import main\nmain()\n")
    command = [sys.executable, tmp_path / "script.py", "predict", "baseline"]
    command += [question_files / "0.jsonl", question_files / "1.jsonl", "--out", tmp_path / "out"]
    done = subprocess.run(
        [*command, "--ray", cluster.address], cwd=downloads, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert len(contents(tmp_path / "out")) == 2
    assert not list(downloads.glob("*.ran"))


def test_a_model_that_is_not_there_is_one_error(jobs: Jobs, cluster: Any) -> None:
    def make() -> Any:
        raise ReadletError("no model there; give another")

    with pytest.raises(ReadletError, match="no model there"):
        map_files(make, jobs(2), settings=SETTINGS, ray="auto")


def test_a_file_whose_process_dies_each_time_fails(
    tmp_path: Path, jobs: Jobs, cluster: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    def make() -> Any:
        def work(source: Path, target: Path) -> dict[str, int]:
            if source.name == "00.csv":
                os.kill(os.getpid(), signal.SIGKILL)
            target.write_text("done")
            return {"files": 1}

        return work

    found = map_files(make, jobs(3), settings=SETTINGS, ray="auto")
    assert found.counts == {"files": 2}
    assert list(found.failed) == [str(tmp_path / "in" / "00.csv")]
    assert capsys.readouterr().out == ""  # Ray would print ten lines about each


DRIVER = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from conftest import make_upper
from readlet.cluster.files import jobs_of
from readlet.cluster.map_files import map_files
jobs = jobs_of([{source!r}], {target!r}, ".jsonl")
map_files(make_upper(Path({log!r}), 0.3), jobs, settings={{}}, ray="auto")
"""


def test_a_killed_driver_is_started_again(tmp_path: Path, jobs: Jobs, cluster: Any) -> None:
    jobs(8)
    log, out = tmp_path / "log", tmp_path / "out"
    code = DRIVER.format(
        tests=str(Path(__file__).parent),
        source=str(tmp_path / "in"),
        target=str(out),
        log=str(log),
    )
    first = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    wait_until(lambda: first.poll() is not None or (out.exists() and len(contents(out)) > 1))
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert len(contents(out)) < 8
    subprocess.run([sys.executable, "-c", code], check=True, stderr=subprocess.DEVNULL)
    assert len(contents(out)) == 8
    assert len(begun(log)) <= 10  # the two in work were begun again


@pytest.fixture
def table(tmp_path: Path, small_table: str) -> Path:
    """Two rows with one seed, and three short epochs."""
    text = small_table.replace("seeds = 2", "seeds = 1").replace("epochs = 2", "epochs = 3")
    text = text.replace("batch_size = 64", "batch_size = 16\ndata.share = 0.25")
    path = tmp_path / "quick.toml"
    path.write_text(text.replace('"no match" = { model.match_features = false }', ""))
    return path


def run_files(out: Path) -> dict[str, bytes]:
    """What the finished runs of a folder have in common with those of any other machine."""
    return {
        f"{result.parent.name}/{name}": (result.parent / name).read_bytes()
        for result in out.glob("*/result.json")
        for name in ("scores.safetensors", "answers.json.gz")
    }


def test_a_killed_worker_resumes_its_run(
    readlet: Run, tmp_path: Path, table: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is killed as soon as there is a checkpoint; the run is the same to the byte."""
    marker = tmp_path / "killed"
    make = run_grid._runner

    def killing(current: str, keep_readers: bool) -> Any:
        work = make(current, keep_readers)

        def once(run: Any) -> Any:
            def kill() -> None:
                folder = cache_folder() / "runs" / run.key
                while not any(folder.glob("work/**/*.safetensors")):
                    time.sleep(0.01)
                if not marker.exists():
                    marker.write_text(run.key)
                    os.kill(os.getpid(), signal.SIGKILL)

            Thread(target=kill, daemon=True).start()
            return work(run)

        return once

    monkeypatch.setattr(run_grid, "_runner", killing)
    words = ("experiment", "run", table, "--out")
    done = readlet(*words, tmp_path / "a", "--ray", "auto")
    assert done.code == 0, done.err
    assert "2 of 2 done" in done.err
    assert marker.exists()
    assert readlet(*words, tmp_path / "b").code == 0
    assert run_files(tmp_path / "a") == run_files(tmp_path / "b")
    again = readlet(*words, tmp_path / "a", "--ray", "auto")
    assert "2 of 2 done" in again.err


def test_a_killed_driver_of_a_grid_is_started_again(
    readlet: Run, forked: Any, tmp_path: Path, table: Path, cluster: Any
) -> None:
    """Finished runs are whole, and not trained again."""
    out = tmp_path / "out"
    words = ["experiment", "run", table, "--out", out, "--seeds", "2", "--ray", "auto"]
    environment = {name: os.environ[name] for name in ("RAY_ADDRESS", "RAY_AUTH_MODE")}
    with forked.forked_readlet(*words, environment=environment) as driver:
        wait_until(lambda: not driver.is_alive() or any(out.glob("*/result.json")))
    finished = {path: path.read_bytes() for path in out.glob("*/result.json")}
    assert 0 < len(finished) < 4
    done = readlet(*words)
    assert done.code == 0, done.err
    assert "4 of 4 done" in done.err
    assert len(run_files(out)) == 8
    assert all(path.read_bytes() == before for path, before in finished.items())


def test_ray_data_maps_batches_of_columns(cluster: Any) -> None:
    pytest.importorskip("pyarrow", reason="needs the extra `parquet`")
    pytest.importorskip("pandas")
    import ray.data

    ray.data.DataContext.get_current().enable_progress_bars = False
    kiln = "The old kiln stands in Hollow Lane. Ada Brook built it in 1881."
    rows = [{"question": q, "context": kiln} for q in ("Who built the kiln?", "When was it built?")]
    found = ray.data.from_items(rows).map_batches(AnswerColumns("bundled"), batch_size=8)
    answers = {row["question"]: row["answer"] for row in found.take_all()}
    assert answers == {"Who built the kiln?": "Ada Brook", "When was it built?": "1881"}


def test_a_killed_node_costs_the_file_in_work(
    tmp_path: Path, jobs: Jobs, upper: Any, cluster: Any
) -> None:
    """The last test: the cluster has one node from here on."""
    log = tmp_path / "log"
    found: list[Summary] = []

    def run() -> None:
        found.append(map_files(upper(log, 0.4), jobs(8), settings=SETTINGS, ray="auto"))

    thread = Thread(target=run)
    thread.start()
    pids = lambda: {line.split()[1] for line in log.read_text().splitlines()}  # noqa: E731
    wait_until(lambda: log.exists() and len(pids()) == 2 and len(begun(log)) > 2)
    cluster.remove_node(cluster.second, allow_graceful=False)
    thread.join(60)
    (summary,) = found
    assert not summary.failed
    assert len(contents(tmp_path / "out")) == 8
    assert len(begun(log)) <= 9  # one file was begun twice, at most
