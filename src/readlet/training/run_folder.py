"""The folder of a run: one process at a time; resumed only with the same recipe and data."""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from accelerate import Accelerator

from readlet.data import source_path
from readlet.engine.checkpoint import checkpoints_in, drafts_in, find_checkpoint
from readlet.engine.loop import BEST, LOG
from readlet.engine.processes import in_main, is_main_process
from readlet.engine.tracking import EVENTS
from readlet.errors import CannotResumeError, bad_input
from readlet.inference.saving import CONFIG, own_files
from readlet.inference.trained_model import BUNDLED, reader_files, reader_folder
from readlet.recipe.recipe import Recipe, changed_fields, fields_with, names_in
from readlet.storage.files import atomic_text, locked_folder
from readlet.storage.overwrite import check_folder, make_folder, others
from readlet.storage.sections import SourceFile, SourceReader
from readlet.storage.stored_files import own_json

_RECIPE, DATA, NOTES = "recipe.json", "data.json", "notes.json"
PART = "part"
"""The folder of the current reader of a cross-validation."""
_ANOTHER = "give another --out"


@contextmanager
def claimed_folder(
    recipe: Recipe, folder: Path, accelerator: Accelerator, *, resume: bool
) -> Iterator[None]:
    """Claim the folder for a new or resumed run; no other process may train there."""
    if resume:
        _reject_other_recipe(recipe, folder)
    else:
        _reject_used(folder)
        make_folder(folder, remedy=_ANOTHER)
    with ExitStack() as held:
        in_main(accelerator, lambda: _take(folder, held))
        if not resume:
            in_main(accelerator, lambda: _begin(folder, recipe))
        yield


def _begin(folder: Path, recipe: Recipe) -> None:
    (folder / LOG).unlink(missing_ok=True)
    with atomic_text(folder / _RECIPE) as stream:
        stream.write(recipe.model_dump_json(indent=1))


def _take(folder: Path, held: ExitStack) -> None:
    try:
        free = held.enter_context(locked_folder(folder))
    except OSError:  # without locks, as on some network disks, two processes are not detected
        return
    if not free:
        remedy = "wait for it, or give another --out"
        raise bad_input(folder, "", "another process is training here", remedy)


def _reject_other_recipe(recipe: Recipe, folder: Path) -> None:
    _require_run(folder)
    changed = changed_fields(own_json(folder / _RECIPE) or {}, recipe)
    if changed:
        fault = f"the run was started with another {', '.join(changed)}"
        raise bad_input(folder, "", fault, "resume with the same recipe and --set")


def _require_run(folder: Path) -> None:
    if not (folder / _RECIPE).is_file():
        raise bad_input(folder, "", "no run to resume", "leave --resume out")


def check_run_folder(recipe: Recipe, folder: Path, *, resume: bool) -> None:
    """Check that a run may be written there; call it before any data is read."""
    check_folder(folder, None, inputs_of(recipe), remedy=_ANOTHER)
    if resume:
        _require_run(folder)
    else:
        _reject_used(folder)
    check_folder(folder, foreign_to_run, remedy=_ANOTHER)


def inputs_of(recipe: Recipe) -> list[Path]:
    """The files and the readers' folders that a recipe names."""
    fields = fields_with(recipe, SourceFile, SourceReader)
    names = [name for field in fields for name in names_in(field.value)]
    return [reader_folder(name) if name == BUNDLED else source_path(name) for name in names]


def foreign_to_run(folder: Path) -> Iterator[Path]:
    """Entries of the folder that belong neither to a run, interrupted or not, nor to its reader."""
    own = own_files(folder)
    if is_run(folder):
        own |= {_RECIPE, DATA, NOTES, LOG, BEST, PART, EVENTS}
        own |= {path.name for path in (*checkpoints_in(folder), *drafts_in(folder))}
    return others(folder, own, {_RECIPE})


def is_run(folder: Path) -> bool:
    """Whether a run was begun in this folder."""
    stored = own_json(folder / _RECIPE) or {}
    return all(isinstance(stored.get(part), dict) for part in ("data", "model", "training"))


def is_finished(folder: Path, recipe: Callable[[], Recipe]) -> bool:
    """Whether this run has ended: its model is there, and its checkpoints are gone."""
    if not (is_run(folder) and CONFIG in own_files(folder) and find_checkpoint(folder) is None):
        return False
    _reject_other_recipe(recipe(), folder)
    return True


def _reject_used(folder: Path) -> None:
    is_trained = is_run(folder) and find_checkpoint(folder)
    if is_trained or CONFIG in own_files(folder):
        remedy = f"continue with --resume, or {_ANOTHER}"
        raise bad_input(folder, "", "already contains a run", remedy)


def check_data(recipe: Recipe, key: str, folder: Path, *, resume: bool) -> None:
    """A run is resumed only with the same data and readers; `key` is the digest of the data."""
    stored = folder / DATA
    readers = [name for f in fields_with(recipe, SourceReader) for name in names_in(f.value)]
    now = {"key": key, "readers": [digest_of_reader(name) for name in readers]}
    if resume and stored.is_file():
        if own_json(stored) != now:
            fault = "the training data, the encoder, the word vectors or the code have changed"
            if readers:
                fault += ", or the start or teacher reader"
            changed = bad_input(folder, "", fault, "restore the old ones, or give another --out")
            raise CannotResumeError(str(changed))
    elif is_main_process():
        with atomic_text(stored) as stream:
            json.dump(now, stream)


def digest_of_reader(name: str) -> str:
    digest = hashlib.sha256()
    for path in reader_files(name):
        with path.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()
