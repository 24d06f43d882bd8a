"""Law 9: every command in the README and in the guide runs, in order, as a user would type it."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from readlet.data import read_examples, write_examples

# The same commands on fewer questions and seeds: the test must be fast.
SMALLER = {
    "convert bundled:train --out mine.csv": "convert some.jsonl --out mine.csv",
    "qacnn-ablation --small": "qacnn-ablation --small --seeds 1 --set data.share=0.1",
    "train tiny": "train tiny --set data.share=0.1",
    "train sst2": "train sst2 --set data.share=0.1",
    "train finetune": "train finetune --set data.share=0.1 --set training.batch_size=4 "
    "--set data.max_context=80 --set data.overlap=16",
    "bundled bundled:test": "bundled few.jsonl",
}
README = Path(__file__).parent.parent / "README.md"
GUIDE = README.parent / "docs" / "your-data.md"


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text("utf-8"), re.DOTALL)


def in_bash(line: str) -> str:
    """The standard output of a line of the page."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-c", line],
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{line}\n{done.stderr}"
    return done.stdout


def words_of(line: str) -> list[str]:
    """The words that the shell passes to `readlet`."""
    return in_bash(f'readlet() {{ printf "%s\\0" "$@"; }}\n{line}').split("\0")[:-1]


@pytest.mark.parametrize(
    ("page", "piped", "written"),
    [
        (README, 1, ["repaired.jsonl", "runs/tiny/config.json"]),
        (GUIDE, 0, ["clean.csv", "after.svg", "runs/mine/config.json", "predictions.csv"]),
    ],
    ids=["README", "guide"],
)
def test_every_command_runs(
    tmp_path: Path,
    readlet: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    page: Path,
    piped: int,
    written: list[str],
) -> None:
    """Pipes run as they are; in other lines only the shell's part, and the command in here."""
    script = "\n".join(blocks(page, "bash"))
    assert script.count("readlet ") >= 10
    for given, smaller in SMALLER.items():
        script = script.replace(given, smaller)
    monkeypatch.chdir(tmp_path)
    write_examples(Path("few.jsonl"), list(read_examples("bundled:test"))[:12])
    write_examples(Path("some.jsonl"), list(read_examples("bundled:dev"))[::3])
    lines = script.replace("\\\n", "").splitlines()
    assert sum("| readlet " in line for line in lines) == piped
    for line in lines:
        if line.startswith("readlet ") and "|" not in line:
            done = readlet(*words_of(line))
            assert done.code == 0, f"{line}\n{done.err}"
        else:
            in_bash(line)
    assert all(Path(name).exists() for name in written)
    (program,) = blocks(page, "python")
    capsys.readouterr()  # discard earlier output
    exec(program, {})
    # at least position, score and no-answer probability
    assert len(capsys.readouterr().out.split()) >= 4


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
