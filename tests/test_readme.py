"""Law 9: every command in the README and in the guide runs, in order, as a user would type it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

# The same commands on fewer questions and seeds: the test must be fast.
SMALLER = {
    "convert bundled:train --out mine.csv": "convert bundled:dev --out mine.csv",
    "qacnn-ablation --small": "qacnn-ablation --small --seeds 1",
}
README = Path(__file__).parent.parent / "README.md"
GUIDE = README.parent / "docs" / "your-data.md"


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text("utf-8"), re.DOTALL)


@pytest.mark.parametrize(
    ("page", "written"),
    [
        (README, ["repaired.jsonl", "runs/tiny/config.json"]),
        (GUIDE, ["clean.csv", "after.svg", "runs/mine/config.json", "predictions.csv"]),
    ],
    ids=["README", "guide"],
)
def test_every_command_runs(tmp_path: Path, page: Path, written: list[str]) -> None:
    script = "\n".join(blocks(page, "bash"))
    assert script.count("readlet ") >= 10
    for given, smaller in SMALLER.items():
        script = script.replace(given, smaller)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert all((tmp_path / name).exists() for name in written)
    (program,) = blocks(page, "python")
    answered = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert answered.returncode == 0, answered.stderr
    assert len(answered.stdout.split()) >= 4  # at least position, score and no-answer probability


def test_the_two_commands_come_first() -> None:
    lines = README.read_text("utf-8").splitlines()
    commands = [line.split()[1] for line in lines if line.startswith("    make ")]
    assert commands == ["demo", "test"]


def test_the_source_archive_has_what_the_commands_need() -> None:
    sdist = pytest.importorskip("hatchling.builders.sdist")
    files = sdist.SdistBuilder(str(README.parent)).recurse_included_files()
    needed = {"Makefile", "constraints.txt", "README.md", "CONTRIBUTING.md", "docs/design.md"}
    assert needed <= {file.distribution_path for file in files}


def test_links_and_pictures_exist() -> None:
    """Those with a relative path, in every page."""
    root = README.parent
    pages = [*root.glob("*.md"), *root.glob("docs/**/*.md")]
    links = [
        (page.name, link)
        for page in pages
        for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text("utf-8"))
        if not link.startswith("http") and not (page.parent / link).exists()
    ]
    assert len(pages) > 5
    assert links == []
