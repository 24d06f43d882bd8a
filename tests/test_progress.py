"""Progress of a task that was begun before."""

import pytest

from readlet.progress import track


def test_finished_items_count(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("readlet.progress._SECONDS_BETWEEN_LINES", -1.0)
    assert list(track("ab", 9, "reader", done=5)) == ["a", "b"]
    assert capsys.readouterr().err == "reader: 6 of 9\nreader: 7 of 9\n"


def test_finished_items_count_in_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert list(track("ab", 9, "reader", done=7)) == ["a", "b"]
