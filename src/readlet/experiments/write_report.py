"""Write the files of a report on finished runs, for `readlet experiment report`."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from readlet.errors import ReadletError
from readlet.experiments.analysis import Questions
from readlet.experiments.curves import learning_curves
from readlet.experiments.grid import Grid, Run
from readlet.experiments.keys import run_key, source_names
from readlet.experiments.nearest_run import nothing_found
from readlet.experiments.own_files import check_report
from readlet.experiments.render_html import html
from readlet.experiments.render_markdown import markdown
from readlet.experiments.render_tex import tex
from readlet.experiments.report import Report, build_report
from readlet.experiments.runner import find_finished
from readlet.experiments.store import Result, known_sources, results_in
from readlet.formats import read_questions, source_path
from readlet.metrics.span_task import SPANS
from readlet.recipe.recipe import Recipe
from readlet.storage.files import write_text
from readlet.storage.outputs import make_folder

Renderer = Callable[[Report, str], str]
_RENDERERS: dict[str, Renderer] = {
    "md": markdown,
    "html": html,
    "tex": lambda report, command: tex(report),
    "json": lambda report, command: json.dumps(report.as_json(), ensure_ascii=False, indent=1),
    "svg": lambda report, command: learning_curves(report, standalone=True),
}
_FORMATS = ("md", "html", "tex", "json")


def write_report(
    grid: Grid,
    runs: Path,
    folder: Path,
    formats: Sequence[str],
    *,
    command: str,
    examples_shown: int,
) -> list[Path]:
    """Write the report in every requested format, and return the paths of its files."""
    names = check_report_files(grid.table.name, folder, formats)
    found = find_finished(grid, runs)
    results = list(results_in(runs))
    if not found.runs:
        raise nothing_found(grid, runs, results, found.damaged)
    questions = _questions(
        run for run in grid.runs if run.key in found.runs and found.runs[run.key].task is SPANS
    )
    report = build_report(
        grid, found.runs, questions, pairs_shown=examples_shown, damaged=found.damaged
    )
    more = [*_changed_files(grid, results), *_other_seeds(grid, results)]
    report = replace(report, remarks=[*report.remarks, *more])
    texts = {name: _RENDERERS[name.rpartition(".")[2]](report, command) for name in names}
    make_folder(folder)
    for name, text in texts.items():
        write_text(folder / name, text)
    return [folder / name for name in texts]


def check_report_files(table: str, folder: Path, formats: Sequence[str]) -> list[str]:
    """The names of the files of a report, after checking that they may be written."""
    formats = list(dict.fromkeys(name.strip() for name in formats if name.strip()))
    if not formats:
        raise ReadletError(f"--format: no format given; give {', '.join(_FORMATS)}")
    for name in formats:
        if name not in _FORMATS:
            raise ReadletError(f"--format {name}: no such format; give {', '.join(_FORMATS)}")
    names = [f"{table}.{name}" for name in formats]
    if "md" in formats:
        names.append(f"{table}-curves.svg")
    check_report(folder, names)
    return names


def _questions(runs: Iterable[Run]) -> Questions:
    """The available dev questions; held-out ones, which differ by seed, are not stored."""
    found = {run.recipe.data.dev: run.recipe.data for run in runs}
    return {
        source: read_questions(source, data_format=data.data_format)
        for source, data in found.items()
        if source and source_path(source).is_file()
    }


def _changed_files(grid: Grid, results: Sequence[Result]) -> list[str]:
    """A remark on missing files that had different contents in different runs."""
    contents: defaultdict[str, set[str]] = defaultdict(set)
    for result in results:
        for name, digest in result.sources.items():
            contents[name].add(digest)
    named = {name for run in grid.runs for name in source_names(run.recipe)}
    absent = {Path(name).name for name in named if not source_path(name).exists()}
    changed = {Path(name).name for name, digests in contents.items() if len(digests) > 1}
    names = ", ".join(f"`{name}`" for name in sorted(absent & changed))
    remark = f"Only runs with the newest {names} are shown: earlier runs had other contents."
    return [remark] if names else []


def _other_seeds(grid: Grid, results: Sequence[Result]) -> list[str]:
    """A remark on finished runs of these rows with seeds that were not requested."""
    asked = {run.key for run in grid.runs}
    others = {result.key: result.seed for result in results if result.key not in asked}
    listed = grid.table.seeds
    known = known_sources(results) if others else {}
    found = [
        (seed if isinstance(listed, int) else listed.index(seed))
        + 1  # the value of --seeds that includes it
        for seed in set(others.values())
        if isinstance(listed, int) or seed in listed
        for run in {run.row: run for run in grid.runs}.values()
        if run_key(_with_seed(run.recipe, seed), known) in others
    ]
    if not found:
        return []
    count = f"{len(found)} more finished run{'s' if len(found) > 1 else ''}"
    return [f"Not shown without `--seeds {max(found)}`: {count} of other seeds."]


def _with_seed(recipe: Recipe, seed: int) -> Recipe:
    return recipe.model_copy(update={"training": recipe.training.model_copy(update={"seed": seed})})
