"""The versions of the program that made a run."""

import hashlib
import platform
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Versions of the program and its dependencies; `code` is a digest of its source files."""
    package = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode() + path.read_bytes())
    return {
        "readlet": version("readlet"),
        "code": digest.hexdigest()[:12],
        "torch": version("torch"),
        "python": platform.python_version(),
    }
