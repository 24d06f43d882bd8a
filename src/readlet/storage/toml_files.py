"""TOML files of the package or the user: recipes and tables."""

import tomllib
from collections.abc import Iterable
from difflib import get_close_matches
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from readlet.errors import bad_input
from readlet.storage.files import text_chunks


def shipped_files(*folder: str) -> dict[str, Traversable]:
    """The TOML files of a folder of the package, by name without suffix."""
    found = {entry.name: entry for entry in files("readlet").joinpath(*folder).iterdir()}
    return {n.removesuffix(".toml"): found[n] for n in sorted(found) if n.endswith(".toml")}


def read_toml(source: str, shipped: dict[str, Traversable], what: str) -> dict[str, Any]:
    """Read a shipped file by its name, or a file of the user by its path."""
    if source in shipped:
        text = shipped[source].read_text("utf-8")
    elif Path(source).is_file():
        text = "".join(text_chunks(Path(source)))
    else:
        remedy = nearest(source, shipped, "give a TOML file or one of")
        raise bad_input(source, "", f"no such {what}", remedy)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise bad_input(source, "", f"not valid TOML ({error})", "fix that line") from None
    except (ValueError, RecursionError):  # a number of too many digits, or nested too deeply
        fault = "not valid TOML (a value is too long or too deep)"
        raise bad_input(source, "", fault, "shorten it") from None


def nearest(wrong: str, known: Iterable[str], which: str) -> str:
    """A remedy for a wrong name: the closest match, or a list of all names."""
    listed = list(known)
    near = get_close_matches(wrong, listed, n=1)
    return f"did you mean {near[0]!r}?" if near else f"{which}: {', '.join(listed)}"
