"""The made-up language as a fixture: files of tests cannot be imported."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def made() -> Any:
    path = Path(__file__).with_name("made_language.py")
    spec = importlib.util.spec_from_file_location("made_language", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
