"""The scripts of benchmarks/ as modules, with their folder on the path as when they are run."""

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

SCRIPTS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def load_script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Any]]:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    yield importlib.import_module
    for path in SCRIPTS.glob("*.py"):
        sys.modules.pop(path.stem, None)
