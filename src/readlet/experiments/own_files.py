"""What `readlet experiment` itself writes into a folder; everything else there is the user's."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from readlet.experiments.render_tex import HEAD
from readlet.experiments.store import FILES, LOCKS, READER, RESULT, VERSIONS, WORK
from readlet.reading.saving import foreign_to_reader
from readlet.storage.outputs import check_file, check_folder, has_sign, others

SEARCH, BEST, JOURNAL = "search", "best.toml", "search.journal"
BEST_SIGN = "# The best of "
# A text by which reports of all versions are recognised.
_REPORT_SIGNS = {
    "md": "\n## How this page was made\n",
    "html": "<h2>How this page was made</h2>",
    "tex": HEAD,
    "json": '"disagreements": [',
    "svg": 'class="curves"',
}
_RUN = re.compile(r"[0-9a-f]{16}(\.damaged-\d+)?")  # the key of a run
_DAMAGED_WORK = re.compile(rf"{WORK}\.damaged-\d+")


def check_runs(folder: Path, inputs: Iterable[Path] = ()) -> None:
    """Check that runs may be written to a folder: it holds runs, a search and reports only."""
    check_folder(folder, _foreign_to_runs, inputs)


def check_search(folder: Path, inputs: Iterable[Path] = ()) -> None:
    """Check that a search may be written to a folder: it holds trials and a journal only."""
    check_folder(folder, _foreign_to_search, inputs)


def check_report(folder: Path, names: Iterable[str]) -> None:
    """Check that reports may be written: only reports are replaced, other files do not matter."""
    check_folder(folder, None)
    for name in names if folder.exists() else ():
        check_file(folder / name, sign=_sign(name))


def _foreign_to_runs(folder: Path) -> Iterator[Path]:
    for entry in others(folder, {LOCKS}):
        if _RUN.fullmatch(entry.name):
            yield from _foreign_in_run(entry)
        elif entry.name == SEARCH and entry.is_dir():
            yield from _foreign_to_search(entry)
        elif not (_sign(entry.name) and has_sign(entry, _sign(entry.name))):
            yield entry


def _foreign_to_search(folder: Path) -> Iterator[Path]:
    for entry in others(folder, {LOCKS, BEST} if has_sign(folder / BEST, BEST_SIGN) else {LOCKS}):
        if _RUN.fullmatch(entry.name):
            yield from _foreign_in_run(entry)
        elif not entry.name.startswith(JOURNAL):  # Optuna adds locks
            yield entry


def _foreign_in_run(folder: Path) -> Iterator[Path]:
    """Nothing is written to a finished run, and a damaged one is moved aside as it is."""
    work = folder / WORK
    if work.is_dir():
        from readlet.fitting.run_folder import foreign_to_run  # slow import

        yield from foreign_to_run(work, {VERSIONS})
        if not (folder / RESULT).exists():
            kept = others(folder, {*FILES, RESULT, WORK, READER})
            yield from (entry for entry in kept if not _DAMAGED_WORK.fullmatch(entry.name))
            if (folder / READER).is_dir():
                yield from foreign_to_reader(folder / READER)


def _sign(name: str) -> str:
    return _REPORT_SIGNS.get(name.rpartition(".")[2], "")
