"""Processes of our own run nothing that lies in the current folder, and end when they are told."""

import os
import re
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from readlet.errors import ReadletError
from readlet.inference.document_files import document_text
from readlet.processes import Job, own_command

# As a console script does: the first folder of the path is the script's.
SCRIPT = "from readlet.__main__ import main\nmain()\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of downloads with modules that note when they are run."""
    downloads = tmp_path / "downloads"
    downloads.mkdir()
    note = "import os\nos.close(os.open(__file__ + '.ran', os.O_CREAT))\n"
    for name in ("pypdf", "logging", "readlet", "json"):
        (downloads / f"{name}.py").write_text(note)
    return downloads


@pytest.fixture
def script(tmp_path: Path) -> list[str]:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "readlet").write_text(SCRIPT)
    return [sys.executable, str(tmp_path / "bin" / "readlet")]


def ran(folder: Path) -> list[str]:
    return [path.name for path in folder.glob("*.ran")]


@pytest.fixture(scope="module")
def pdf(made_pdf: Callable[..., bytes]) -> bytes:
    pytest.importorskip("pypdf")
    return made_pdf(b"BT /F1 12 Tf 20 200 Td (The kettle was patented in 1891.) Tj ET")


def test_a_planted_module_would_run(folder: Path) -> None:
    """What the others are protected from."""
    subprocess.run([sys.executable, "-m", "readlet"], cwd=folder, check=True)
    assert ran(folder) == ["readlet.py.ran"]


def test_questions_about_a_pdf_run_nothing_beside_it(
    folder: Path, script: list[str], pdf: bytes
) -> None:
    (folder / "report.pdf").write_bytes(pdf)
    words = ["ask", "When was the kettle patented?", "report.pdf", "--reader", "baseline"]
    done = subprocess.run(
        [*script, *words], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "1891" in done.stdout
    assert ran(folder) == []


def test_predictions_run_nothing_beside_their_file(folder: Path, script: list[str]) -> None:
    (folder / "q.csv").write_text("question,context\nWho lit it?,Ada lit it.\n")
    words = ["predict", "baseline", "q.csv", "--out", "out.jsonl"]
    done = subprocess.run(
        [*script, *words], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert ran(folder) == []


def test_a_server_runs_nothing_where_it_was_started(
    folder: Path, script: list[str], pdf: bytes
) -> None:
    pytest.importorskip("uvicorn")
    command = [*script, "serve", "baseline", "--port", "0"]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            found = re.search(r"http://127\.0\.0\.1:\d+/", line := server.stderr.readline())
            assert found, line
            request = urllib.request.Request(f"{found[0]}text?kind=pdf", pdf)
            request.add_header("Content-Type", "application/pdf")
            with urllib.request.urlopen(request) as response:
                assert b"patented in 1891" in response.read()
        finally:
            server.kill()
    assert ran(folder) == []


@pytest.mark.parametrize("entry", ["", "."])
def test_the_current_folder_is_left_out_of_the_path(
    folder: Path, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    for name in (entry, str(folder), os.path.relpath("/", folder) + str(folder)):
        monkeypatch.syspath_prepend(name)
    with pytest.raises(ReadletError, match="not a PDF"):
        document_text(b"none", "pdf")
    assert ran(folder) == []


def test_the_package_is_found_where_it_was_found_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if that is the current folder, and a library that only our path leads to."""
    package = Path(own_command("x")[2]).parent
    monkeypatch.chdir(package.parent)
    (tmp_path / "pypdf.py").write_text("raise ModuleNotFoundError('pypdf')")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ReadletError, match="needs pypdf"):
        document_text(b"none", "pdf")


def test_a_job_that_is_killed_ends_at_once(pdf: bytes) -> None:
    job = Job()
    threading.Timer(0.03, job.kill).start()  # while the process imports its libraries
    before = time.monotonic()
    with pytest.raises(ReadletError, match="cancelled"):
        document_text(pdf, "pdf", job=job)
    assert time.monotonic() - before < 5
    with pytest.raises(ReadletError, match="cancelled"):  # and begins no more
        document_text(pdf, "pdf", job=job)


def test_a_job_ends_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """No process stays behind, whether it is killed, late or interrupted."""
    started: list[Any] = []

    class Noted(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, _: object, **named: Any) -> None:
            super().__init__(["sleep", "600"], **named)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Noted)
    with pytest.raises(subprocess.TimeoutExpired):
        Job().run("none", data=b"", seconds=0.01)
    job = Job()
    thread = threading.Thread(target=job.run, args=["none"], kwargs={"data": b"", "seconds": 600.0})
    thread.start()
    while len(started) < 2:
        time.sleep(0.001)
    job.kill()
    thread.join(5)
    assert not thread.is_alive()
    assert all(process.returncode for process in started)
