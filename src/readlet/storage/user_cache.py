"""The folder for what can be made or downloaded again."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """`READLET_CACHE`, or the user's cache folder."""
    given = os.environ.get("READLET_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(given) if given else Path(base) / "readlet"
