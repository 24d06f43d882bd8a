"""The folder of a run: one process at a time; resumed only with the same recipe and data."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from accelerate import Accelerator

from readlet.errors import CannotResumeError, bad_input
from readlet.reading.reader_names import reader_files
from readlet.recipe.recipe import Recipe
from readlet.recipe.traits import SourceReader, changed_fields, fields_with, names_in
from readlet.recipe.upgrade import upgrade
from readlet.storage.files import atomic_text
from readlet.storage.locks import locked
from readlet.training.checkpoint import find_checkpoint
from readlet.training.processes import in_main, is_main_process

_RECIPE, _LOCK = "recipe.json", ".lock"


@contextmanager
def claimed_folder(
    recipe: Recipe, folder: Path, accelerator: Accelerator, *, resume: bool
) -> Iterator[None]:
    """Claim the folder for a new or resumed run; no other process may train there."""
    if resume:
        _reject_other_recipe(recipe, folder)
    else:
        _reject_used(folder)
    with ExitStack() as held:
        in_main(accelerator, lambda: _take(folder, held))
        if not resume:
            in_main(accelerator, lambda: _begin(folder, recipe))
        yield
        if accelerator.is_main_process:
            (folder / _LOCK).unlink(missing_ok=True)  # not a part of the reader


def _begin(folder: Path, recipe: Recipe) -> None:
    (folder / "log.jsonl").unlink(missing_ok=True)
    with atomic_text(folder / _RECIPE) as stream:
        stream.write(recipe.model_dump_json(indent=1))


def _take(folder: Path, held: ExitStack) -> None:
    try:
        free = held.enter_context(locked(folder / _LOCK))
    except OSError:  # some network disks have no locks: then two processes are not detected
        return
    if not free:
        remedy = "wait for it, or give another --out"
        raise bad_input(folder, "", "another process trains here", remedy)


def _reject_other_recipe(recipe: Recipe, folder: Path) -> None:
    stored = folder / _RECIPE
    if not stored.is_file():
        raise bad_input(folder, "", "no run to resume", "leave --resume out")
    changed = changed_fields(upgrade(_read_stored(stored)), recipe)
    if changed:
        fault = f"the run was started with another {', '.join(changed)}"
        raise bad_input(folder, "", fault, "resume with the same recipe and --set")


def _reject_used(folder: Path) -> None:
    if find_checkpoint(folder) or (folder / "config.json").exists():
        remedy = "continue with --resume, or give another --out"
        raise bad_input(folder, "", "already contains a run", remedy)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fault = f"cannot be created ({error.strerror})"
        raise bad_input(folder, "", fault, "give another --out") from None


def _read_stored(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        damage = bad_input(path, "", f"is damaged ({error})", "train again in another --out")
        raise CannotResumeError(str(damage)) from None
    return values if isinstance(values, dict) else {}


def check_data(recipe: Recipe, key: str, folder: Path, *, resume: bool) -> None:
    """A run is resumed only with the same data and readers; `key` is the digest of the data."""
    stored = folder / "data.json"
    readers = [name for f in fields_with(recipe, SourceReader) for name in names_in(f.value)]
    now = {"key": key, "readers": [_digest_of_reader(name) for name in readers]}
    if resume and stored.is_file():
        if _read_stored(stored) != now:
            fault = "the training data, the word vectors or the code that reads them have changed"
            if readers:
                fault += ", or the start or teacher reader"
            changed = bad_input(folder, "", fault, "restore the old ones, or give another --out")
            raise CannotResumeError(str(changed))
    elif is_main_process():
        with atomic_text(stored) as stream:
            json.dump(now, stream)


def _digest_of_reader(name: str) -> str:
    digest = hashlib.sha256()
    for path in reader_files(name):
        with path.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()
