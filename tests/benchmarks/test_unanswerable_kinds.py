"""The table of what a reader refuses by kind."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from readlet.data import write_examples
from readlet.inference.reader import Reader
from readlet.types import Example, Prediction, Span


def lamps() -> list[Example]:
    examples = []
    for who, where, year in (("Ada Brook", "Wick", 1881), ("Tom Hale", "Oslo", 1893)):
        context = f"The first lamp was lit by {who} in {where} and it was the year {year}."
        for number, question in enumerate(
            (f"Who lit a lamp in {where}?", f"Who lit a lamp in {year}?", "What was named?")
        ):
            answers = (Span(context.index(who), who),)
            identity = f"{where}-{number}"
            examples.append(Example(identity, question, context, answers, title="Lamps"))
    return examples


def test_rows_of_all_kinds(
    load_script: Callable[[str], Any],
    random_reader: Callable[..., Reader],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    script = load_script("unanswerable_kinds")
    random_reader(lamps()[0].context, null=True).save(tmp_path / "reader")
    write_examples(tmp_path / "data.json", lamps())
    real = [Example("x", "Who left?", "Ada came.", is_impossible=True), *lamps()[:2]]
    write_examples(tmp_path / "real.json", real)
    words = ["--data", "data.json", "--real", "real.json", "--reader", "reader"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["unanswerable_kinds", *words, "--questions", "2"])
    script.main()
    heading, *rows = capsys.readouterr().out.splitlines()
    assert heading == script.HEADING
    counts = {row[:20].rstrip(" 0123456789"): int(row[18:28]) for row in rows}
    assert counts == {
        "answerable": 2,
        "other paragraph": 2,
        "name": 2,
        "number": 2,
        "opposite": 0,
        "negation": 2,
        "real, answerable": 2,
        "real, unanswerable": 1,
    }


def test_the_area(load_script: Callable[[str], Any]) -> None:
    script = load_script("unanswerable_kinds")

    def predictions(*probabilities: float) -> list[Prediction]:
        return [Prediction.choose((), p, 0.5) for p in probabilities]

    assert script.area(predictions(0.8, 0.9), predictions(0.1, 0.2)) == 100
    assert script.area(predictions(0.1, 0.2), predictions(0.8)) == 0
    assert script.area(predictions(0.5, 0.9), predictions(0.5)) == 75


def test_a_reader_that_never_refuses(
    load_script: Callable[[str], Any],
    random_reader: Callable[..., Reader],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    random_reader("lamp").save(tmp_path / "sure")
    words = ["kinds", "--data", "bundled:dev", "--reader", str(tmp_path / "sure")]
    monkeypatch.setattr("sys.argv", words)
    with pytest.raises(SystemExit) as ending:
        load_script("unanswerable_kinds").main()
    assert ending.value.code == 1
    assert "this reader never abstains" in capsys.readouterr().err
