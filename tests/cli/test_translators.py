"""`readlet translators list`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from readlet.augmentation.translation.argos import unpack


def test_the_engines_of_this_machine(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    argos_package: Callable[[str, str], Path],
    readlet: Callable[..., Any],
) -> None:
    monkeypatch.setenv("ARGOS_PACKAGES_DIR", str(tmp_path / "packages"))
    monkeypatch.setenv("APERTIUM_DATADIR", str(tmp_path / "apertium"))
    assert "no translation engine is installed" in readlet("translators", "list").out
    unpack(argos_package("en", "es"), tmp_path / "packages" / "en_es")
    assert readlet("translators", "list").out.startswith("argos      en-es    1.9 ")
