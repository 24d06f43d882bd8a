"""Many files in turn: local folders and object stores, damaged files, outputs that are there."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from readlet.cluster.actors import Share, share_of
from readlet.cluster.files import Job, jobs_of, names_many
from readlet.cluster.map_files import map_files
from readlet.data import read_examples, write_examples
from readlet.errors import BusyError, InputError
from readlet.types import Example, Span

Run = Callable[..., Any]
Jobs = Callable[..., list[Job]]
SETTINGS = {"task": "upper"}


def begun(log: Path) -> list[str]:
    return [line.split()[0] for line in log.read_text().splitlines() if "made" not in line]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name[0] != "."}


def test_one_worker_does_all_and_a_damaged_file_stops_none(
    tmp_path: Path, jobs: Jobs, upper: Any
) -> None:
    log, damaged = tmp_path / "log", str(tmp_path / "in" / "01.csv")
    found = map_files(upper(log), jobs(4, damaged=1), settings=SETTINGS)
    assert log.read_text().count("made") == 1
    assert (found.files, found.skipped, found.counts) == (4, 0, {"letters": 18})
    assert found.by_reason() == [("is damaged; give another", [damaged])]
    assert contents(tmp_path / "out") == {f"0{n}.jsonl": f"TEXT {n}".encode() for n in (0, 2, 3)}


def test_a_second_call_does_what_is_missing(tmp_path: Path, jobs: Jobs, upper: Any) -> None:
    log = tmp_path / "log"
    map_files(upper(log), jobs(3), settings=SETTINGS)
    (tmp_path / "out" / "01.jsonl").unlink()
    again = map_files(upper(log), jobs(3), settings=SETTINGS)
    assert again.skipped == 2
    assert begun(log) == ["00.csv", "01.csv", "02.csv", "01.csv"]


def test_outputs_of_other_settings_are_not_mixed(tmp_path: Path, jobs: Jobs, upper: Any) -> None:
    run = lambda jobs, task: map_files(upper(tmp_path / "log"), jobs, settings={"task": task})  # noqa: E731
    assert len(run(jobs(1, damaged=0), "upper").failed) == 1
    assert not run(jobs(1), "lower").failed  # there is no output yet
    with pytest.raises(InputError) as error:
        run(jobs(1), "upper")
    assert error.value.source == str(tmp_path / "out")


def test_warnings_are_counted_over_all_files(tmp_path: Path, jobs: Jobs) -> None:
    import warnings

    def make() -> Any:
        def work(source: Path, target: Path) -> dict[str, int]:
            warnings.warn("3 × long question", stacklevel=1)
            warnings.warn(f"{source}: column 'q' is read as 'question'", stacklevel=1)
            return {}

        return work

    found = map_files(make, jobs(2), settings=SETTINGS)
    assert found.warned == {"long question": 6, "column 'q' is read as 'question'": 2}


def test_a_file_that_another_process_writes_is_waited_for(
    tmp_path: Path, jobs: Jobs, upper: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a call that was killed: its actors go on for some seconds."""
    work = upper(tmp_path / "log")()
    tries: list[str] = []

    def make() -> Any:
        def busy(source: Path, target: Path) -> Any:
            tries.append(source.name)
            if source.name == "01.csv":  # the other process finishes it
                target.write_text("other")
            if source.name == "02.csv" or tries.count(source.name) < 3:
                raise BusyError(f"{target}.partial: another process is writing it; wait for it")
            return work(source, target)

        return busy

    monkeypatch.setattr("readlet.cluster.map_files._PAUSE", 0.0)
    monkeypatch.setattr("readlet.cluster.map_files.PATIENCE", 0.1)
    found = map_files(make, jobs(3), settings=SETTINGS)
    assert tries[:4] == ["00.csv", "00.csv", "00.csv", "01.csv"]
    assert (tries.count("01.csv"), found.skipped) == (1, 1)
    assert list(found.failed) == [str(tmp_path / "in" / "02.csv")]
    assert contents(tmp_path / "out") == {"00.jsonl": b"TEXT 0", "01.jsonl": b"other"}


@pytest.mark.parametrize("sources", [["in/*.csv"], ["in/00.csv", "in"], ["in"], ["in/**/*.csv"]])
def test_sources_are_folders_patterns_and_files(
    tmp_path: Path, jobs: Jobs, monkeypatch: pytest.MonkeyPatch, sources: list[str]
) -> None:
    jobs(2)
    (tmp_path / "in" / ".hidden.csv").write_text("")
    (tmp_path / "in" / "notes.txt").write_text("")
    monkeypatch.chdir(tmp_path)
    found = jobs_of(sources, "out/", ".csv")
    assert [job.target for job in found] == ["out/00.csv", "out/01.csv"]
    assert not names_many("in/00.csv")
    assert names_many("in")


def test_outputs_that_would_meet_are_refused(tmp_path: Path, jobs: Jobs) -> None:
    jobs(1)
    (tmp_path / "in" / "00.jsonl").write_text("")
    with pytest.raises(InputError) as error:
        jobs_of([str(tmp_path / "in")], str(tmp_path / "out"), ".jsonl")
    assert "00.csv" in error.value.remedy
    with pytest.raises(InputError) as error:
        jobs_of([str(tmp_path / "in" / "*.csv")], str(tmp_path / "in"), ".jsonl")
    assert error.value.source == str(tmp_path / "in")


@pytest.mark.parametrize(
    ("nodes", "items", "cores", "share"),
    [
        ([(16, 0)], 100, 0, Share(16, 1, 0)),  # an actor for each core
        ([(16, 0)], 4, 0, Share(4, 4, 0)),
        ([(8, 0), (8, 0)], 1, 0, Share(1, 8, 0)),  # no machine has 16
        ([(8, 0), (2, 0)], 3, 0, Share(3, 2, 0)),
        ([(0, 0), (4, 0)], 9, 0, Share(4, 1, 0)),  # the head takes no work
        ([(16, 2), (8, 0)], 100, 0, Share(2, 8, 1)),  # an actor for each GPU
        ([(16, 2)], 1, 0, Share(1, 8, 1)),
        ([(16, 0)], 100, 2, Share(8, 2, 0)),
        ([(1, 0), (1, 0)], 2, 2, Share(2, 1, 0)),
    ],
)
def test_every_actor_fits_on_a_machine(
    nodes: list[tuple[int, int]], items: int, cores: int, share: Share
) -> None:
    assert share_of(nodes, items, cores=cores) == share


def test_actors_leave_gpus_alone_when_the_cpu_is_wanted() -> None:
    assert share_of([(16, 2)], 100, with_gpu=False) == Share(16, 1, 0)


# From here on the commands.


def test_predict_of_a_folder_is_that_of_its_files(
    readlet: Run, tmp_path: Path, question_files: Path
) -> None:
    out = tmp_path / "out"
    done = readlet("predict", "baseline", question_files, "--out", out, "--format", "csv")
    assert done.code == 2  # one is damaged
    assert "damaged.jsonl" in done.err
    for n in range(3):
        one = tmp_path / f"{n}.csv"
        assert readlet("predict", "baseline", question_files / f"{n}.jsonl", "--out", one).code == 0
        assert (out / f"{n}.csv").read_bytes() == one.read_bytes()
    (question_files / "damaged.jsonl").unlink()
    again = readlet("predict", "baseline", question_files, "--out", out, "--format", "csv")
    assert again.code == 0
    assert "3 were done before" in again.out


def test_outputs_in_parquet_have_all_fields(
    readlet: Run, tmp_path: Path, question_files: Path
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra `parquet`")
    (question_files / "damaged.jsonl").unlink()
    for kind in ("jsonl", "parquet"):
        words = ("--out", tmp_path / kind, "--format", kind, "--n-best", 2)
        assert readlet("predict", "baseline", question_files, *words).code == 0
    rows = parquet.read_table(tmp_path / "parquet" / "0.parquet").to_pylist()
    lines = (tmp_path / "jsonl" / "0.jsonl").read_text().splitlines()
    assert rows == [json.loads(line) for line in lines]


def test_object_stores_are_read_and_written(
    readlet: Run, tmp_path: Path, question_files: Path
) -> None:
    fsspec = pytest.importorskip("fsspec", reason="needs the extra `cluster`")
    memory = fsspec.filesystem("memory")
    memory.put(str(question_files), "/store/in", recursive=True)
    words = ("memory://store/in", "--out", "memory://store/out")
    done = readlet("predict", "baseline", *words)
    assert done.code == 2
    assert "memory://store/in/damaged.jsonl" in done.err.replace(":///", "://")
    readlet("predict", "baseline", question_files, "--out", tmp_path / "out")
    stored = {f"{n}.jsonl": memory.cat_file(f"/store/out/{n}.jsonl") for n in range(3)}
    assert stored == contents(tmp_path / "out")


class Bucket:
    """A store whose paths begin with a bucket: it makes one if asked for a folder."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    def makedirs(self, path: str, exist_ok: bool) -> None:
        raise AssertionError(path)

    def exists(self, path: str) -> bool:
        return path == "bucket/out" or path in self.files

    def ls(self, path: str, **options: Any) -> list[str]:
        return [name for name in self.files if name.startswith(f"{path}/")]

    def put_file(self, source: str, path: str) -> None:
        if not path.startswith("bucket/"):
            raise RuntimeError("NoSuchBucket:\nnone")
        self.files[path] = Path(source).read_bytes()

    def mv(self, source: str, path: str) -> None:
        self.files[path] = self.files.pop(source)


def test_no_bucket_is_made_and_copies_of_a_killed_call_are_replaced(
    jobs: Jobs, upper: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Bucket()
    monkeypatch.setattr("readlet.cluster.files.file_system", lambda url: (store, url[4:]))
    store.files = {"bucket/out/00.jsonl": b"done", "bucket/out/01.jsonl.readlet-copy": b"do"}
    to = lambda out: [Job(job.source, f"{out}/{Path(job.target).name}") for job in jobs(2)]  # noqa: E731
    assert map_files(upper(tmp_path / "log"), to("x://bucket/out"), settings=SETTINGS).skipped == 1
    names = (".readlet-job.json", "00.jsonl", "01.jsonl")
    assert sorted(store.files) == [f"bucket/out/{name}" for name in names]
    with pytest.raises(InputError, match="x://none/out") as error:
        map_files(upper(tmp_path / "log"), to("x://none/out"), settings=SETTINGS)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("memory://none", "--out", "OUT"), "memory://none: "),
        (("nothing", "--out", "OUT"), "nothing: "),
        (("questions", "--out", "OUT", "--format", "xml"), "--format xml: "),
        (("questions", "--out", "OUT.jsonl"), "--out OUT.jsonl: "),
        (("questions/0.jsonl", "--out", "OUT.jsonl", "--ray", "local"), "--out OUT.jsonl: "),
        (("questions", "--out", "OUT", "--na-probs", "OUT.json"), "--na-probs: "),
    ],
)
def test_faults_name_what_the_user_gave(
    readlet: Run,
    tmp_path: Path,
    question_files: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    named: str,
) -> None:
    pytest.importorskip("fsspec", reason="needs the extra `cluster`")
    monkeypatch.chdir(tmp_path)
    done = readlet("predict", "baseline", *words)
    assert done.code == 2
    assert done.err.startswith(f"readlet: {named}")
    assert [path.name for path in tmp_path.iterdir()] == ["questions"]


def test_classify_of_many_files(readlet: Run, tmp_path: Path, random_classifier: Path) -> None:
    (tmp_path / "in").mkdir()
    for n in range(2):
        (tmp_path / "in" / f"{n}.csv").write_text(f"id,text\n1,A good day {n}!\n")
    done = readlet("classify", random_classifier, tmp_path / "in", "--out", tmp_path / "out")
    assert (done.code, done.err) == (0, "")
    assert sorted(contents(tmp_path / "out")) == ["0.jsonl", "1.jsonl"]
    one = tmp_path / "one.jsonl"
    readlet("classify", random_classifier, tmp_path / "in" / "1.csv", "--out", one)
    assert (tmp_path / "out" / "1.jsonl").read_bytes() == one.read_bytes()


# A wall of 1881 in every file; the translation of the models below swaps the case of letters.
def write_wall(path: Path, *ids: str) -> None:
    context = "Ada Brook built the wall in 1881."
    answer = (Span(context.index("1881"), "1881"),)
    write_examples(path, [Example(i, f"When, {path.stem}?", context, answer) for i in ids])


def test_augment_of_many_files_is_that_of_each(
    readlet: Run, tmp_path: Path, argos_package: Callable[[str, str], Path]
) -> None:
    pytest.importorskip("ctranslate2", reason="needs the extra `translate`")
    (tmp_path / "in").mkdir()
    for name in ("a", "b"):
        write_wall(tmp_path / "in" / f"{name}.jsonl", f"{name}1", f"{name}2")
    words = ("--to", "es", "--keep", "all", "--engine", argos_package("en", "es"))
    done = readlet("augment", tmp_path / "in", *words, "--out", tmp_path / "out")
    assert (done.code, done.err) == (0, "")
    for name in ("a", "b"):
        one = tmp_path / "one" / f"{name}.jsonl"
        one.parent.mkdir(exist_ok=True)
        assert readlet("augment", tmp_path / "in" / one.name, *words, "--out", one).code == 0
    assert contents(tmp_path / "out") == contents(tmp_path / "one")


def test_augment_of_many_files_keeps_new_ids_unique(
    readlet: Run, tmp_path: Path, argos_package: Callable[[str, str], Path]
) -> None:
    pytest.importorskip("ctranslate2", reason="needs the extra `translate`")
    (tmp_path / "in").mkdir()
    for name in ("a", "b"):
        write_wall(tmp_path / "in" / f"{name}.jsonl", f"{name}1", f"{name}2")
    words = ("augment", tmp_path / "in", "--to", "es", "--keep", "all")
    words += ("--engine", argos_package("en", "es"), "--out", tmp_path / "out")
    done = readlet(*words)
    assert (done.code, done.err) == (0, "")
    made = [e.id for n in "ab" for e in read_examples(tmp_path / "out" / f"{n}.jsonl")]
    assert sorted(made) == ["a1", "a1-es", "a2", "a2-es", "b1", "b1-es", "b2", "b2-es"]
    # An old id that is the new one of another file.
    write_wall(tmp_path / "in" / "c.jsonl", "a1-es")
    done = readlet(*words)
    assert done.code == 2
    assert "a.jsonl" in done.err
    assert "c.jsonl" in done.err
    assert not (tmp_path / "out" / "c.jsonl").exists()
    assert len(np.load(tmp_path / "out" / ".readlet-ids" / "a.npy")) == 4
