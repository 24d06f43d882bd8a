"""Files of a stored model, which may come from anyone: what is opened, and how damage is reported.

Every reading of a model's folder goes through `stored_file`.
"""

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from readlet.errors import ReadletError, bad_input, is_out_of_memory

AGAIN = "copy the folder again"
# Bytes; real ones are a tenth of it or less. Safetensors and ONNX check what their headers say.
_MOST_OF_TEXT, _MOST_OF_WEIGHTS = 16 << 20, 16 << 30
_MOST = {"tokenizer.json": 256 << 20, "vocabulary.json": 256 << 20}
_TEXTS = (".json", ".md")


def stored_file(path: Path) -> Path:
    """The path of a file that may be opened: a regular one of limited size, inside its folder.

    A link may lead to another file of the folder, or from a snapshot of the hub's cache to the
    blobs of the same model. Devices, pipes and links to elsewhere are refused before any is opened.
    """
    try:
        status, target = path.stat(), path.resolve()
    except FileNotFoundError:
        raise bad_input(path, "", "is missing", "give the folder of a complete model") from None
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, NUL in the name
        reason = getattr(error, "strerror", None) or error
        raise bad_input(path, "", f"cannot be read ({reason})", AGAIN) from None
    if not stat.S_ISREG(status.st_mode):
        raise bad_input(path, "", "is not a regular file", AGAIN)
    if not any(target.is_relative_to(home) for home in _homes_of_models(path.parent.resolve())):
        fault = "is a link that leads out of the model's folder"
        raise bad_input(path, "", fault, "copy the file itself into the folder")
    most = _MOST.get(path.name, _MOST_OF_TEXT if path.suffix in _TEXTS else _MOST_OF_WEIGHTS)
    if status.st_size > most:
        raise bad_input(path, "", f"is larger than {most >> 20} MiB", AGAIN)
    return path


def stored_text(path: Path) -> str:
    """The text of such a file; damage is a ValueError."""
    return stored_file(path).read_text("utf-8")


def _homes_of_models(folder: Path) -> list[Path]:
    """The folders that files of a model lie in: MODEL/snapshots/REVISION links to MODEL/blobs."""
    is_snapshot = folder.parent.name == "snapshots"
    return [folder, folder.parent.parent / "blobs"] if is_snapshot else [folder]


@contextmanager
def damage_of(path: Path) -> Iterator[None]:
    """Any error while a stored file is read is reported as damage of that file."""
    try:
        yield
    except ReadletError:
        raise
    except Exception as error:  # values of any type may stand anywhere
        if is_out_of_memory(error):  # the file may be sound
            raise
        fault = " ".join(f"is damaged ({type(error).__name__}: {error})".split())
        raise bad_input(path, "", f"{fault:.200}", AGAIN) from None
