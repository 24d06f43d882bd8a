"""The benchmarks of throughput and of costs, at their smallest size and without a GPU."""

from collections.abc import Callable
from typing import Any

from readlet.inference.inputs import ALL_ANSWERABLE
from readlet.inference.reader import Reader

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


def test_every_row_is_measured(load_script: Callable[[str], Any]) -> None:
    main = load_script("throughput").main
    words = ["--data", "bundled:test", "--questions", "8", "--processes", "1"]
    assert [row.questions for row in main([*words, "--device", "cpu"])] == [8, 8, 8, 8]
    assert [row.questions for row in main([*words, "--host"])] == [8, 8]


def test_costs_are_measured_and_extrapolated(
    load_script: Callable[[str], Any], apertium: Any, capsys: Any
) -> None:
    words = ["--data", "bundled:test", "--questions", "4", "--files", "2", "--no-ray"]
    found = load_script("scale").main(words)
    assert all(seconds > 0 for seconds in found.values())
    assert "core hours" in capsys.readouterr().out
