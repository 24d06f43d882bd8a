"""How to install what is missing: the remedy depends on how Readlet itself was installed."""

import json
import shlex
import shutil
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import unquote, urlsplit

_HERE = Path(__file__).parent


def install_extra(extra: str) -> str:
    """The command that adds the libraries of an extra to this installation."""
    beside = shutil.which("pip")
    is_ours = beside is not None and Path(beside).parent == Path(sys.executable).parent
    pip = "pip" if is_ours else f"{shlex.quote(sys.executable)} -m pip"
    return f"{pip} install {_requirement(extra)}"


def _requirement(extra: str) -> str:
    source = _source()
    if source.startswith("file://"):
        path = Path(unquote(urlsplit(source).path))
        here = path.resolve() == Path.cwd()
        limits = path / "constraints.txt"
        pinned = f"-c {shlex.quote('constraints.txt' if here else str(limits))} "
        return (pinned if limits.is_file() else "") + _quoted(f"{'.' if here else path}[{extra}]")
    return _quoted(f"readlet[{extra}] @ {source}" if source else f"readlet[{extra}]")


def _source() -> str:
    """The clone, file or repository that Readlet was installed from; empty for an index."""
    clone = _HERE.parent.parent
    if _HERE.parent.name == "src" and (clone / "pyproject.toml").is_file():  # not installed
        return clone.as_uri()
    try:
        # Written by pip for everything that does not come from an index (PEP 610).
        stored = json.loads(distribution("readlet").read_text("direct_url.json") or "{}")
        url = str(stored.get("url", ""))
    except (PackageNotFoundError, ValueError, AttributeError):
        return ""
    if url.startswith("file://"):  # a clone that is gone is no help
        return url if Path(unquote(urlsplit(url).path)).exists() else ""
    return f"{stored['vcs_info']['vcs']}+{url}" if "vcs_info" in stored else url


def _quoted(requirement: str) -> str:
    return "'" + requirement.replace("'", "'\\''") + "'"
