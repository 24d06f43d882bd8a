"""Progress of a task that was begun before."""

import pytest

from readlet.console import track


def test_finished_items_count(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("readlet.console._SECONDS_BETWEEN_LINES", -1.0)
    assert list(track("ab", 9, "reader", done=5)) == ["a", "b"]
    assert capsys.readouterr().err == "reader: 6 of 9\nreader: 7 of 9\n"


def test_finished_items_count_in_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert list(track("ab", 9, "reader", done=7)) == ["a", "b"]


def test_only_the_first_of_several_processes_shows_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("readlet.console._SECONDS_BETWEEN_LINES", -1.0)
    for rank, shown in (("0", "reader: 1 of 1\n"), ("1", "")):
        monkeypatch.setenv("RANK", rank)
        assert list(track("a", 1, "reader")) == ["a"]
        assert capsys.readouterr().err == shown
