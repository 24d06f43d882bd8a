"""Files of a stored model, which is untrusted: which files are opened, and how damage is reported.

All reading from a model's folder goes through `stored_file`: JSON objects, written atomically,
and named tensors in safetensors files. Also TOML files of the package or the user: recipes and
tables.
"""

import json
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError

from readlet.errors import ReadletError, bad_input, is_out_of_memory
from readlet.storage.files import atomic_text, make_readable, text_chunks

if TYPE_CHECKING:  # torch is imported where there are tensors
    import torch
    from torch import Tensor

AGAIN = "copy the folder again"
# Bytes; real ones are a tenth of it or less. Safetensors and ONNX check their headers.
_MOST_OF_TEXT, _MOST_OF_WEIGHTS = 16 << 20, 16 << 30
_MOST = {"tokenizer.json": 256 << 20, "vocabulary.json": 256 << 20}
_TEXTS = (".json", ".md")


def stored_file(path: Path) -> Path:
    """The path of a file that may be opened: a regular one of limited size, inside its folder.

    A link may lead to another file of the folder, or from a snapshot of the hub's cache to the
    blobs of the same model. Devices, pipes and other links are rejected before they are opened.
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
    except Exception as error:  # any value may have any type
        if is_out_of_memory(error):  # the file may be intact
            raise
        fault = " ".join(f"is damaged ({type(error).__name__}: {error})".split())
        raise bad_input(path, "", f"{fault:.200}", AGAIN) from None


def write_json(path: Path, values: Any) -> None:
    with atomic_text(path) as stream:
        json.dump(values, stream, ensure_ascii=False, indent=1)


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object from a model's folder."""
    try:
        values = json.loads(stored_text(path))
    except ReadletError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise bad_input(path, "", f"is damaged ({error})", AGAIN) from None
    if not isinstance(values, dict):
        raise bad_input(path, "", "is not an object", AGAIN)
    return values


def own_json(path: Path) -> dict[str, Any] | None:
    """The object in a file by which the program recognises its own folders; None if it has none.

    The program makes no links, so a link to such a file is not its own.
    """
    try:
        return None if path.is_symlink() else read_json(path)
    except (ReadletError, RecursionError):
        return None


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
    import tomllib  # few commands read any

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


HOW_TO_RESUME = "continue with the same command (`train`: --resume)"


def save_tensors(path: Path, tensors: "dict[str, Tensor]") -> None:
    """Write one file atomically."""
    from safetensors.torch import save_file

    draft = path.with_name(f".{path.name}")
    try:
        save_file(tensors, draft)
        make_readable(draft)  # safetensors creates private files
        draft.replace(path)
    except (OSError, SafetensorError) as error:
        remedy = f"free some space and {HOW_TO_RESUME}"
        raise ReadletError(f"{path}: not written ({error}); {remedy}") from None
    finally:
        draft.unlink(missing_ok=True)


def load_tensors(path: Path) -> "dict[str, Tensor]":
    from safetensors.torch import load_file

    with damage_of(path):
        try:
            tensors: dict[str, Tensor] = load_file(stored_file(path))
        except SafetensorError as error:
            raise ValueError(str(error)) from None
    return tensors


def require_finite(tensors: "dict[str, Tensor]") -> None:
    """Raise a ValueError with the name of the first tensor that has a NaN or infinite value."""
    import torch

    for name, tensor in tensors.items():
        # The extremes are NaN if a value is: one pass without a copy, unlike isfinite.
        if tensor.numel() and tensor.is_floating_point():
            ends = torch.stack(torch.aminmax(tensor.flatten()))  # (2,)
            if not ends.isfinite().all():
                raise ValueError(f"{name}: a value is NaN or infinite")


def detached(tensors: "dict[str, Tensor]") -> "dict[str, Tensor]":
    """Copies on the CPU that later steps cannot change."""
    return {name: t.detach().to("cpu", copy=True).contiguous() for name, t in tensors.items()}


def in_precision(dtype: "torch.dtype", tensors: "dict[str, Tensor]") -> "dict[str, Tensor]":
    """The same tensors, with the floating-point ones cast to `dtype`."""
    return {name: t.to(dtype) if t.is_floating_point() else t for name, t in tensors.items()}
