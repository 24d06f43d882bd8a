"""The results page of made-up runs: an untrained reader and an invented log."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from readlet.data import write_examples
from readlet.errors import ReadletError
from readlet.types import Example, Span

pytest.importorskip("matplotlib", reason="plots need matplotlib: pip install readlet[plots]")

MILL = (
    "The mill at Ost was built by Rosa Lind in 1788. It ground rye for 14 villages until the great "
    "flood of 1820 carried the wheel away. Her grandson Jan Lind built a second mill of stone."
)


@pytest.fixture
def report(load_script: Callable[[str], Any]) -> Any:
    return load_script("reader_report")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    asked = {
        "Who built the mill?": "Rosa Lind",
        "When was it built?": "1788",
        "How many villages used it?": "14 villages",
        "What carried the wheel away?": "the great flood of 1820",
        "What was the second mill made of?": "stone",
        "Why | did *it* end?": "the great flood",
    }
    examples = [
        Example(f"mill_{number}", question, MILL, (Span(MILL.index(gold), gold),))
        for number, (question, gold) in enumerate(asked.items())
    ]
    write_examples(tmp_path / "dev.json", examples)
    return tmp_path / "dev.json"


@pytest.fixture
def run(tmp_path: Path, random_reader: Callable[..., Any]) -> Callable[..., Path]:
    """A finished folder of `readlet train`."""

    def make(name: str, f1: list[float], *, timed: bool = True, seed: int = 0) -> Path:
        folder = tmp_path / name
        random_reader(MILL, seed=seed).save(folder)
        lines = []
        for epoch, score in enumerate(f1, 1):
            position = {"step": 10 * epoch, "epoch": float(epoch)}
            position |= {"seconds": 90.0 * epoch} if timed else {}
            lines.append(position | {"loss": 9.0 / epoch, "examples_per_second": 50.0})
            lines.append(position | {"exact": score - 9, "f1": score})
        (folder / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        return folder

    return make


def test_page_of_two_runs(report: Any, run: Callable[..., Path], data: Path) -> None:
    first, second = run("a", [60.0, 71.5, 82.4]), run("b", [64.0, 77.0], seed=1)
    out = data.parent / "results" / "mill"
    words = ["--runs", f"wide={first}", f"thin={second}", "--data", str(data), "--out", str(out)]
    report.main([*words, "--machine", "an abacus", "--source", "our own mill"])
    page = out.with_name("mill.md").read_text("utf-8")

    # Reached at once, skipped over, and never.
    assert "| F1 | wide: epoch | minutes | thin: epoch | minutes |" in page
    assert "| 70 | 2.0 | 3.0 | 2.0 | 3.0 |" in page
    assert "| 75 | 3.0 | 4.5 | 2.0 | 3.0 |" in page
    assert "| 82 | 3.0 | 4.5 | – | – |" in page
    assert "Machine: an abacus." in page
    assert "thin against wide: EM" in page
    assert "| how many | 1 |" in page
    assert "## By length of answer" in page
    assert "## By length of context" in page
    assert "our own mill" in page
    assert "reader_report.py --runs" in page
    for plot in ("mill-learning-curve.png", "mill-f1-over-time.png"):
        assert f"]({plot})" in page
        image = out.with_name(plot).read_bytes()
        assert image.startswith(b"\x89PNG")
        assert len(image) < 150_000


def test_neither_questions_nor_sentences_are_quoted(
    report: Any, run: Callable[..., Path], data: Path
) -> None:
    out = data.parent / "mill"
    words = ["--runs", f"a={run('a', [60.0])}", "--data", str(data), "--out", str(out)]
    report.main(words)
    page = out.with_name("mill.md").read_text("utf-8")
    listed = page[page.index("### Wrong answers") : page.index("Source of the ids")]
    rows = [line for line in listed.splitlines() if "mill\\_" in line]
    assert rows  # an untrained reader is wrong
    for row in rows:
        _, predicted = row.strip("| ").split(" | ")[2:4]
        assert len(predicted) <= 60
    assert "?" not in listed
    assert "CC BY-SA 4.0" in page


def test_without_times_there_are_no_minutes(
    report: Any, run: Callable[..., Path], data: Path
) -> None:
    out = data.parent / "mill"
    folder = run("a", [60.0, 70.0], timed=False)
    report.main(["--runs", f"a={folder}", "--data", str(data), "--out", str(out)])
    page = out.with_name("mill.md").read_text("utf-8")
    assert "| F1 | a: epoch |\n" in page
    assert "inutes" not in page
    assert not out.with_name("mill-f1-over-time.png").exists()


def test_the_same_runs_give_the_same_files(
    report: Any, run: Callable[..., Path], data: Path
) -> None:
    out = data.parent / "mill"
    words = ["--runs", f"a={run('a', [60.0, 70.0])}", "--data", str(data), "--out", str(out)]
    made = []
    for _ in range(2):
        report.main(words)
        made.append({path.name: path.read_bytes() for path in data.parent.glob("mill*")})
    assert len(made[0]) == 3
    assert made[0] == made[1]


def test_errors_are_reported_before_anything_is_written(
    report: Any, run: Callable[..., Path], data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = data.parent / "mill"
    rest = ["--data", str(data), "--out", str(out)]
    with pytest.raises(ReadletError, match=r"nowhere/log\.jsonl: no such file"):
        report.main(["--runs", f"a={data.parent}/nowhere", *rest])
    with pytest.raises(SystemExit):
        report.main(["--runs", "a=x", "a=y", *rest])
    assert "a unique name" in capsys.readouterr().err
    unfinished = run("a", [60.0])
    lines = (unfinished / "log.jsonl").read_text().splitlines(keepends=True)
    (unfinished / "log.jsonl").write_text(lines[0])
    with pytest.raises(ReadletError, match="has no evaluation"):
        report.main(["--runs", f"a={unfinished}", *rest])
    assert not list(data.parent.glob("mill*"))


def test_markdown_in_texts_is_escaped(report: Any) -> None:
    from report_page import cell, shortened

    assert cell("a|b *c* _d_ `e` <f>") == r"a\|b \*c\* \_d\_ \`e\` \<f\>"
    assert shortened("one\n two") == "one two"
    assert shortened("x" * 60) == "x" * 60
    assert shortened("x" * 61) == "x" * 59 + "…"


def test_notes_stay_at_the_end(report: Any, run: Callable[..., Path], data: Path) -> None:
    notes = data.parent / "notes.md"
    notes.write_text("## Written by hand\n\nOne seed.\n")
    words = ["--runs", f"a={run('a', [60.0, 70.0])}", "--data", str(data), "--notes", str(notes)]
    report.main([*words, "--out", str(data.parent / "mill")])
    assert (data.parent / "mill.md").read_text().endswith("\n\n## Written by hand\n\nOne seed.\n")


def test_the_training_command_makes_the_same_recipe(report: Any) -> None:
    import shlex

    from report_page import training_command

    from readlet.models.recipe_files import load_recipe

    changes = [
        *('data.train=["folder/train.json.gz"]', "training.teacher=here/first"),
        *("training.epochs=3", "model.dropout=0.2", "attention.softmax=norm"),
    ]
    command = shlex.split(training_command("second", load_recipe("qacnn", changes)))
    assert command[:3] == ["readlet", "train", "qacnn"]
    assert command[3:-2:2] == ["--set"] * 5
    assert command[-2:] == ["--out", "runs/second"]
    again = load_recipe(command[2], command[4:-2:2])
    moved = ['data.train=["train.json.gz"]', "training.teacher=runs/first", *changes[2:]]
    assert again == load_recipe("qacnn", moved)
