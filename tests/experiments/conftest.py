"""A small table over a network that trains in seconds."""

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("READLET_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture
def write_table(tmp_path: Path, small_table: str) -> Callable[..., str]:
    """Write the small table, with some of its text replaced, and give its path."""

    def write(*replacements: tuple[str, str], more: str = "") -> str:
        text = small_table + more
        for old, new in replacements:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / "table.toml"
        path.write_text(text)
        return str(path)

    return write
