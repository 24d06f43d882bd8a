"""Shared fixtures: the same start for every test, and ways to run `readlet`."""

import functools
import gc
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# Shared machines may be slow: no deadline, since tests of speed measure it themselves, and fewer
# examples than the usual hundred, since there are some seventy property tests.
settings.register_profile("patient", deadline=None, max_examples=40)
settings.load_profile("patient")

# Some virtual machines advertise AMX but kill a process that uses it, as bfloat16 matrix products
# do. oneDNN reads this limit at its first product, after all conftests are loaded.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")

# Tests run in parallel processes: more threads would only slow them down.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Output is wrapped for this width, whatever terminal the tests are started from.
os.environ["COLUMNS"] = "80"

# Tests compare results bitwise, which is only reliable on the CPU.
os.environ.setdefault("ACCELERATE_USE_CPU", "true")


def _module_beside(name: str) -> Any:
    path = Path(__file__).with_name(name)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("dist", "no") != "no":
        return  # the process that starts the others runs no test: it needs no fixtures, nor torch
    names = ["data_fixtures"]
    if importlib.util.find_spec("torch"):  # not so for `make test-light`
        names.append("model_fixtures")
    for name in names:
        config.pluginmanager.register(_module_beside(f"{name}.py"), name)


# The longest ones, of many seconds each: at the end one process would wait for the other.
LONGEST = ("test_every_command_runs", "test_demo", "test_the_bundled_reader")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.name.startswith(LONGEST))


def pytest_collection_finish() -> None:
    """The modules of all tests stay: the garbage collector need not visit them each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def _faster() -> Iterator[None]:
    """Calibrations read 20 long documents instead of 200; no test waits for the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("readlet.inference.fit_calibration._DOCUMENTS", 20)
        patch.setattr("os.fsync", lambda _: None)
        yield


@dataclass(frozen=True)
class Outcome:
    """The exit code and output of a command."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture(scope="session")
def _get_command() -> Callable[..., Any]:
    import typer.main

    return functools.cache(typer.main.get_command)


@pytest.fixture
def readlet(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    _get_command: Callable[..., Any],
) -> Callable[..., Outcome]:
    """Run `readlet WORDS...` in this process, through the entry point of the command."""
    from readlet.cli import main

    # Typer would put all commands together again in every call.
    monkeypatch.setattr("typer.main.get_command", _get_command)

    def run(*words: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["readlet", *map(str, words)])
        capsys.readouterr()  # discard earlier output
        with pytest.raises(SystemExit) as ending:
            main()
        printed = capsys.readouterr()
        return Outcome(int(ending.value.code or 0), printed.out, printed.err)

    return run


@pytest.fixture(scope="session")
def readlet_process() -> Callable[..., Outcome]:
    """Run `readlet WORDS...` in its own process: slower, but exactly what a user gets."""

    def run(*words: object, **options: Any) -> Outcome:
        command = [sys.executable, "-m", "readlet", *map(str, words)]
        done = subprocess.run(
            command, capture_output=True, text=True, encoding="utf-8", check=False, **options
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep the tests, and processes that they start, away from the user's cache."""
    os.environ["READLET_CACHE"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def encoder_folders() -> Any:
    """The module that writes tiny encoders of transformers."""
    return _module_beside("encoder_folders.py")


@pytest.fixture(scope="session")
def forked() -> Any:
    """The module that starts processes of `readlet` with torch imported."""
    return _module_beside("forked.py")


@pytest.fixture(scope="session")
def translation_models() -> Any:
    """The module that writes small CTranslate2 models: they swap the case of every letter."""
    return _module_beside("translation_models.py")


@pytest.fixture(scope="session")
def argos_package(
    translation_models: Any, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, str], Path]:
    """An `.argosmodel` file of a pair; each is written once."""
    files: dict[tuple[str, str], Path] = {}

    def make(source: str, target: str) -> Path:
        if (source, target) not in files:
            folder = tmp_path_factory.mktemp("argos")
            files[source, target] = translation_models.write_argos(folder, source, target)
        return files[source, target]

    return make


@pytest.fixture(scope="session")
def apertium() -> Any:
    """Apertium with English, Spanish and French."""
    from readlet.augmentation.translation.apertium import Apertium
    from readlet.augmentation.translation.types import LanguagePair

    engine = Apertium()
    if not {LanguagePair("en", "es"), LanguagePair("es", "fr")} <= set(engine.pairs()):
        pytest.skip("Apertium is not installed with apertium-eng-spa and apertium-fr-es")
    return engine
