"""A run has a folder of its own, and goes on only with what it began with."""

import hashlib
import json
from pathlib import Path
from typing import Any

from readlet.corpus import Corpus
from readlet.errors import CannotResumeError, bad_input
from readlet.files import atomic_text
from readlet.reader import reader_files
from readlet.recipe import SECTIONS, Recipe, changed_fields
from readlet.training.checkpoint import find_checkpoint
from readlet.training.loop import is_main_process


def claim_folder(recipe: Recipe, folder: Path, *, resume: bool) -> None:
    """A run has a folder of its own, and goes on only with the recipe that it began with."""
    stored = folder / "recipe.json"
    if resume:
        if not stored.is_file():
            raise bad_input(folder, "", "no run to resume", "leave --resume out")
        before = _with_later_fields(_read_stored(stored))
        changed = changed_fields(before, json.loads(recipe.model_dump_json()))
        if changed:
            fault = f"the run began with another {', '.join(changed)}"
            raise bad_input(folder, "", fault, "resume with the same recipe and --set")
        return
    if find_checkpoint(folder) or (folder / "config.json").exists():
        remedy = "go on with --resume, or give another --out"
        raise bad_input(folder, "", "holds a run already", remedy)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "log.jsonl").unlink(missing_ok=True)
    except OSError as error:
        fault = f"cannot be a folder ({error.strerror})"
        raise bad_input(folder, "", fault, "give another --out") from None
    with atomic_text(stored) as stream:
        stream.write(recipe.model_dump_json(indent=1))


def _read_stored(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        told = bad_input(path, "", f"is damaged ({error})", "train anew in another --out")
        raise CannotResumeError(str(told)) from None
    return values if isinstance(values, dict) else {}


def _with_later_fields(stored: dict[str, Any]) -> dict[str, Any]:
    """A run that began before a field existed has the value that changes nothing."""
    usual = json.loads(Recipe().model_dump_json())
    return {section: usual[section] | stored.get(section, {}) for section in SECTIONS}


def check_data(recipe: Recipe, corpus: Corpus, folder: Path, *, resume: bool) -> None:
    """A run goes on only with the data and readers that it began with."""
    stored = folder / "data.json"
    readers = [name for name in (recipe.training.start, recipe.training.teacher) if name]
    now = {"key": corpus.key, "readers": [_digest_of_reader(name) for name in readers]}
    if resume and stored.is_file():
        if _read_stored(stored) != now:
            fault = "the training data, the word vectors or the way to read them have changed"
            if readers:
                fault += ", or a reader to start or to learn from"
            told = bad_input(folder, "", fault, "bring the old ones back, or give another --out")
            raise CannotResumeError(str(told))
    elif is_main_process():
        with atomic_text(stored) as stream:
            json.dump(now, stream)


def _digest_of_reader(name: str) -> str:
    digest = hashlib.sha256()
    for path in reader_files(name):
        with path.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()
