"""The command that installs an extra."""

import shlex
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from readlet import installing
from readlet.installing import install_extra


@pytest.fixture(autouse=True)
def _without_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: str(Path(sys.executable).with_name(name)))


def installed_from(monkeypatch: pytest.MonkeyPatch, direct_url: str | None) -> None:
    monkeypatch.setattr(installing, "_HERE", Path("/usr/lib/python3/site-packages/readlet"))
    found = SimpleNamespace(read_text=lambda name: direct_url)
    monkeypatch.setattr(installing, "distribution", lambda name: found)


@pytest.mark.parametrize(
    ("direct_url", "command"),
    [
        (None, "pip install 'readlet[hub]'"),
        ("{", "pip install 'readlet[hub]'"),
        ('{"url": "file:///gone/clone", "dir_info": {}}', "pip install 'readlet[hub]'"),
        (
            '{"url": "https://host/r.git", "vcs_info": {"vcs": "git", "commit_id": "1"}}',
            "pip install 'readlet[hub] @ git+https://host/r.git'",
        ),
    ],
)
def test_without_a_clone(
    monkeypatch: pytest.MonkeyPatch, direct_url: str | None, command: str
) -> None:
    installed_from(monkeypatch, direct_url)
    assert install_extra("hub") == command


def test_from_a_clone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    clone = tmp_path / "my clone"
    (clone / "src" / "readlet").mkdir(parents=True)
    installed_from(monkeypatch, f'{{"url": "{clone.as_uri()}", "dir_info": {{}}}}')
    assert install_extra("hub") == f"pip install '{clone}[hub]'"
    (clone / "constraints.txt").touch()
    pinned = f"pip install -c '{clone}/constraints.txt' '{clone}[hub]'"
    assert install_extra("hub") == pinned
    monkeypatch.chdir(clone)
    assert install_extra("hub") == "pip install -c constraints.txt '.[hub]'"
    monkeypatch.setattr("shutil.which", lambda name: "/usr/bin/pip")  # of another Python
    python = shlex.quote(sys.executable)
    assert install_extra("hub").startswith(f"{python} -m pip install -c constraints.txt")
    # Not installed at all: run from its sources.
    (clone / "pyproject.toml").touch()
    installed_from(monkeypatch, None)
    monkeypatch.setattr(installing, "_HERE", clone / "src" / "readlet")
    assert "'.[hub]'" in install_extra("hub")
