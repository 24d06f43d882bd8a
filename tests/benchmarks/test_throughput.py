"""The benchmarks of throughput and of costs, at their smallest size and without a GPU."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from readlet.inference.inputs import ALL_ANSWERABLE
from readlet.inference.reader import Reader
from readlet.processes import own_cores

KILN = "The old kiln stands in Hollow Lane. Ada Brook built it in 1881."


def test_the_plain_loop_finds_the_answers_of_the_reader(load_script: Callable[[str], Any]) -> None:
    script = load_script("throughput")
    reader = Reader.load(device="cpu")
    asked = [
        script.Example(str(n), question, KILN)
        for n, question in enumerate(("Who built the kiln?", "When was it built?"))
    ]
    expected = [one.text for one in reader.answer_batch(asked, ALL_ANSWERABLE)]
    assert [*script.plain_loop(reader, asked)] == expected == ["Ada Brook", "1881"]


def test_every_row_is_measured(load_script: Callable[[str], Any], tmp_path: Path) -> None:
    main = load_script("throughput").main
    out = tmp_path / "rows.json"
    words = ["--data", "bundled:test", "--questions", "8", "--processes", "1", "--out", str(out)]
    assert [row.questions for row in main([*words, "--device", "cpu"])] == [8, 8, 8, 8]
    assert [row.questions for row in main([*words, "--host"])] == [8, 8]
    assert [row["questions"] for row in json.loads(out.read_text())] == [8, 8]


def test_predict_has_as_many_processes_as_were_asked_for(
    load_script: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    script, cores = load_script("throughput"), []
    monkeypatch.setattr(script, "predict_file", lambda *_, **__: cores.append(own_cores()))
    monkeypatch.setattr(script, "measured", lambda *row: row[-1]())
    monkeypatch.setattr(script, "Overlapped", lambda count: map)
    reader = Reader.load(device="cpu")
    examples = [script.Example(str(n), "Who built the kiln?", KILN) for n in range(2)]
    list(script.rows_of(reader, examples, 6))
    assert cores == [7]


def test_slow_rows_take_an_even_sample(load_script: Callable[[str], Any]) -> None:
    sample = load_script("throughput").sample
    found = sample(list(range(3200)), 0.1)
    assert len(found) == len(set(found)) == 320
    assert (found[:2], found[-1]) == ([0, 1], 2911)
    assert len(set(sample(list(range(70)), 0.1))) == 64
    assert sample([1, 2], 0.1) == [1, 2]


@pytest.mark.parametrize(
    ("script", "share"), [("", None), ("echo '[N/A]'", None), ("echo $4; echo '[N/A]'", 0.42)]
)
def test_a_gpu_may_say_nothing(
    script: str,
    share: float | None,
    load_script: Callable[[str], Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The stand-in for `nvidia-smi` reports the number of the GPU that it is asked about."""
    stand_in = tmp_path / "nvidia-smi"
    if script:
        stand_in.write_text(f"#!/bin/sh\n{script}\n: > $0.done\nexec /bin/sleep 9\n")
        stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7,42")
    with load_script("throughput").busy_share("cuda:1") as busy:
        while script and not (tmp_path / "nvidia-smi.done").exists():
            time.sleep(0.05)
    assert busy == ([] if share is None else [share])


def test_costs_are_measured_and_extrapolated(
    load_script: Callable[[str], Any], apertium: Any, capsys: Any
) -> None:
    words = ["--data", "bundled:test", "--questions", "4", "--files", "2", "--no-ray"]
    found = load_script("scale").main(words)
    assert all(value > 0 for value in found.values())
    assert "core hours" in capsys.readouterr().out
