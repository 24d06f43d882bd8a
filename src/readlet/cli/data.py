"""`readlet data`: check, inspect, repair, convert, split and augment data before training."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from readlet.cli.options import ColumnPairs, Encoding, Overwrite
from readlet.console import FEW, console, harmless, highlighted, print_json, some
from readlet.types import Example, Sentence

if TYPE_CHECKING:
    from readlet.augmentation.tally import LanguageTally, Tally
    from readlet.augmentation.unanswerable_questions import Summary
    from readlet.data.check import CheckReport, FileReport
    from readlet.data.repair import Changes

app = typer.Typer(help="Check, show, repair, convert and split data.", no_args_is_help=True)

Files = Annotated[
    list[str], typer.Argument(metavar="FILE", help="Data files, hub:NAME@SPLIT or bundled:SPLIT.")
]
Source = Annotated[
    str, typer.Argument(metavar="FILE", help="A data file, hub:NAME@SPLIT or bundled:SPLIT.")
]
OUTPUT = "(.json, .jsonl, .csv, .tsv, also .gz; .parquet)"


@app.command()
def check(
    files: Files,
    fix: Annotated[
        Path | None,
        typer.Option(metavar="OUT", help=f"Write repaired data here {OUTPUT}."),
    ] = None,
    overwrite: Overwrite = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    list_all: Annotated[bool, typer.Option("--list", help="List all findings by id.")] = False,
    column: ColumnPairs = [],  # noqa: B006  typer copies it
    encoding: Encoding = "",
) -> None:
    """Report what the files contain and what is wrong with them.

    Exit code 1: problems were found (when repairing: examples had to be dropped).
    Exit code 2: a file cannot be read.
    """
    from readlet.data.check import check as check_files
    from readlet.data.columns import DataFormat
    from readlet.data.repair import check_repairable, repair_file
    from readlet.data.writing import check_target
    from readlet.errors import ReadletError

    data_format = DataFormat.parse(column, encoding)
    if fix is not None:
        if len(files) != 1:
            raise ReadletError("--fix repairs one file at a time; give one file, or omit --fix")
        check_target(fix, files, overwrite=overwrite)
        check_repairable(files[0], data_format)
    report = check_files(files, data_format)
    changes = None if fix is None else repair_file(files[0], fix, data_format)
    if as_json:
        fixed = {} if changes is None else {"fixed": changes.as_json()}
        print_json(report.as_json() | fixed, indent=1)
    else:
        show_report(report, list_all=list_all)
        if changes is not None:
            show_changes(changes, str(fix), list_all=list_all)
    raise typer.Exit(int(report.is_wrong if changes is None else bool(changes.dropped)))


@app.command()
def show(
    file: Source,
    n: Annotated[int, typer.Option("--n", min=1, help="Number of examples to show.")] = 3,
    identity: Annotated[
        list[str], typer.Option("--id", help="Show the question with this id instead; repeatable.")
    ] = [],  # noqa: B006
    column: ColumnPairs = [],  # noqa: B006
    encoding: Encoding = "",
) -> None:
    """Print examples with their answers highlighted in the passage."""
    from itertools import islice

    from readlet.data import read
    from readlet.data.columns import DataFormat
    from readlet.errors import bad_input

    items = read(file, DataFormat.parse(column, encoding))
    first = islice(items, min(n, sys.maxsize))
    chosen = (item for item in items if item.id in identity) if identity else first
    shown = set()
    for item in chosen:
        _show_item(item)
        shown.add(item.id)
    absent = [wanted for wanted in dict.fromkeys(identity) if wanted not in shown]
    if absent:
        fault = f"no id {', '.join(map(repr, absent))}"
        raise bad_input(file, "", fault, "check the ids given with --id")
    if not shown:
        raise bad_input(file, "", "nothing to show", "check how the file was created")


def _show_item(item: Example | Sentence) -> None:
    console.rule(escape(item.id), style="dim", align="left")
    if isinstance(item, Sentence):
        pair = f"\n   {item.second}" if item.second else ""
        label = "unlabelled" if item.label is None else item.label
        console.print(f"{label}  {item.text}{pair}", markup=False)
        return
    if item.title or item.language:
        heading = " · ".join(filter(None, (item.title, item.language)))
        console.print(heading, style="dim", markup=False)
    places = [(a.start, a.end) for a in item.answers if a.is_in(item.context)]
    console.print(highlighted(item.context, places))
    console.print(f"\n[bold]Q[/bold] {escape(item.question)}")
    golds = dict.fromkeys(answer.text for answer in item.answers)
    no_gold = "no answer in this passage" if item.is_labelled else "unlabelled"
    shown_golds = escape(" | ".join(golds)) or no_gold
    console.print(f"[bold]A[/bold] {shown_golds}\n")


@app.command()
def convert(
    files: Files,
    out: Annotated[Path, typer.Option(metavar="OUT", help=f"The file to write {OUTPUT}.")],
    overwrite: Overwrite = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    column: ColumnPairs = [],  # noqa: B006
    encoding: Encoding = "",
) -> None:
    """Write the questions, or the texts with labels, of all files to one file of another format.

    Nothing is repaired or left out. CSV has all answers of a question as JSON in the column
    `answers`, with their offsets. SQuAD JSON (.json) groups the questions by context.
    Texts have the columns `id`, `text`, `second` and `label`; .json is a list of records.
    """
    from readlet.data.columns import DataFormat
    from readlet.data.writing import convert as convert_files

    data_format = DataFormat.parse(column, encoding)
    done = convert_files(files, out, data_format, overwrite=overwrite)
    if as_json:
        print_json(done, indent=1)
        return
    for content, count in done.items():
        console.print(f"Wrote {out}: {count:,} {content}.", markup=False, soft_wrap=True)


@app.command()
def split(
    file: Source,
    out: Annotated[
        Path,
        typer.Option(
            metavar="OUT",
            help="The folder for the parts: train.csv and so on.",
        ),
    ],
    parts: Annotated[
        str, typer.Option(metavar="NAME=SHARE,...", help="Names and shares of the parts.")
    ] = "train=0.8,dev=0.1,test=0.1",
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    column: ColumnPairs = [],  # noqa: B006
    encoding: Encoding = "",
) -> None:
    """Split the questions, or the texts with labels, of a file into parts, without leaks.

    A context stays in one part, and so does an article, if there are titles. The same text stays in
    one part, whatever its label. Contexts and texts that differ only in white space or case count
    as the same.
    """
    from readlet.data.columns import DataFormat
    from readlet.data.split import parse_parts
    from readlet.data.split import split as split_file

    data_format = DataFormat.parse(column, encoding)
    done = split_file(file, out, parse_parts(parts), seed, data_format)
    if as_json:
        print_json({"parts": [part.as_json() for part in done]}, indent=1)
        return
    for part in done:
        counts = f"{part.rows:,} {part.content} ({part.share:.1%})"
        if part.content == "questions":
            counts += f" on {_contexts(part.contexts)}"
        console.print(f"Wrote {part.path}: {counts}.", markup=False, soft_wrap=True)


@app.command()
def cut(
    file: Source,
    rows: Annotated[int, typer.Option(metavar="N", min=1, help="Rows of each part, at most.")],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The folder for the parts: new, or empty.",
            show_default="the name of the file with -parts",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    column: ColumnPairs = [],  # noqa: B006
    encoding: Encoding = "",
) -> None:
    """Cut a file into parts of N rows, in its order and its format: work for many machines.

    An article stays in one part, unless it has more rows; a context always does.
    """
    from readlet.data.columns import DataFormat
    from readlet.data.split import cut as cut_file

    paths = cut_file(file, out, rows, DataFormat.parse(column, encoding))
    if as_json:
        print_json({"parts": list(map(str, paths))}, indent=1)
        return
    text = f"Wrote {len(paths):,} parts: {paths[0]} to {paths[-1].name}."
    console.print(text, markup=False, soft_wrap=True)


@app.command()
def unanswerable(
    files: Files,
    out: Annotated[Path, typer.Option(metavar="OUT", help=f"The file to write {OUTPUT}.")],
    share: Annotated[
        float, typer.Option(help="Fraction of unanswerable questions in OUT, between 0 and 1.")
    ] = 0.33,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    overwrite: Overwrite = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    list_all: Annotated[
        bool, typer.Option("--list", help="List all questions that could not be used, by id.")
    ] = False,
    column: ColumnPairs = [],  # noqa: B006
    encoding: Encoding = "",
) -> None:
    """Add unanswerable questions to the data.

    Some questions are paired with another paragraph of their article, or, where there are no
    titles, with a context like theirs that does not have their answer.
    """
    from readlet.augmentation.unanswerable_questions import add_unanswerable
    from readlet.data.columns import DataFormat

    data_format = DataFormat.parse(column, encoding)
    summary = add_unanswerable(files, out, share, seed, data_format, overwrite=overwrite)
    if as_json:
        print_json(summary.as_json(), indent=1)
    else:
        show_summary(summary, str(out), list_all=list_all)


def show_report(report: "CheckReport", *, list_all: bool) -> None:
    for file in report.files:
        console.print(_overview(file))
        if file.findings:
            console.print(_problems(file, list_all))
        console.print()
    errors, notes = report.counts()
    shown = "[bold green]No errors found.[/bold green]"
    if errors:
        ones = "1 error" if errors == 1 else f"{errors:,} errors"
        shown = f"[bold red]{ones} found[/bold red]: see the rows marked ✗ above."
    if notes:
        ones = "1 note" if notes == 1 else f"{notes:,} notes"
        shown += f" {ones}: see the rows marked • above."
    console.print(shown)


def show_changes(changes: "Changes", out: str, *, list_all: bool) -> None:
    console.print(f"Wrote {escape(out)}: {changes.written} examples.")
    for verb, reasons in (("changed", changes.changed), ("dropped", changes.dropped)):
        for reason, ids in reasons.items():
            console.print(f"  {verb}: {len(ids)} × {reason} ({some(ids, list_all=list_all)})")


def _overview(file: "FileReport") -> Table:
    table = Table(title=escape(file.source), title_justify="left", show_header=False, box=None)
    table.add_column(style="dim")
    table.add_column()
    if file.sentences:
        table.add_row("texts", f"{file.sentences:,}")
        if file.classes.counts:
            table.add_row("labels", escape(file.classes.summary()))
    else:
        share = file.unanswerable / max(file.questions, 1)
        table.add_row("questions", f"{file.questions:,} on {_contexts(file.contexts)}")
        table.add_row("answers", f"{file.answers:,}")
        table.add_row("without answer", f"{file.unanswerable:,} ({share:.1%})")
    if file.unlabelled:
        note = "usable for predictions, not for training"
        table.add_row("unlabelled", f"{file.unlabelled:,}; {note}")
    languages = ", ".join(f"{code} {n:,}" for code, n in file.languages.most_common(8))
    table.add_row("languages", escape(languages))
    for what in file.lengths:
        of = file.quantiles(what)
        lengths = f"median {of['median']:,}, 95% up to {of['p95']:,}, longest {of['longest']:,}"
        table.add_row(f"{what} words", lengths)
    return table


def _problems(file: "FileReport", list_all: bool) -> Table:
    from readlet.data.faults import Fault

    table = Table(box=None, pad_edge=False)
    for name in ("", "problem", "count", "id", "detail"):
        table.add_column(name, justify="right" if name == "count" else "left", overflow="fold")
    counts = file.counts()
    for fault in Fault:
        found = [finding for finding in file.findings if finding.fault is fault]
        mark = "[red]✗[/red]" if fault.is_wrong else "[yellow]•[/yellow]"
        for number, finding in enumerate(found if list_all else found[:FEW]):
            first = (mark, fault.label, f"{counts[fault]:,}") if number == 0 else ("", "", "")
            # Before columns are measured: a control character has no width, its picture has.
            texts = (escape(harmless(text)) for text in (finding.id, finding.detail))
            table.add_row(*first, *texts)
    return table


def show_summary(summary: "Summary", out: str, *, list_all: bool) -> None:
    console.print(
        f"Wrote {escape(out)}: {summary.questions:,} questions, "
        f"{summary.impossible:,} ({summary.share:.1%}) unanswerable."
    )
    console.print(f"  new: {summary.added:,}, paired with other contexts")
    for reason, ids in summary.left.items():
        console.print(f"  not paired: {len(ids):,} {reason} ({some(ids, list_all=list_all)})")
    if summary.added < summary.wanted:
        console.print(
            f"  {summary.wanted:,} would be needed: no question is paired twice, "
            "so this is the largest share that the data allows"
        )


def show_tally(tally: "Tally", out: str) -> None:
    text = f"Wrote {out}: {tally.written:,} questions, {tally.kept:,} of them new."
    console.print(text, markup=False, soft_wrap=True)  # so that the path can be copied
    for reason, count in tally.left.items():
        console.print(f"  not translated: {count:,} {reason}")
    for language, counts in tally.languages.items():
        console.print(_table(tally, language, counts))
        if lost := counts.lost_answers.total():
            console.print(f"  also lost, of questions that are kept: {lost:,} answers")


def _table(tally: "Tally", language: str, counts: "LanguageTally") -> Table:
    config = tally.config
    way = f"{config.source} → {language}" + (f" → {config.source}" if config.back else "")
    table = Table(title=f"{way}, {config.keep}", title_justify="left", title_style="bold", box=None)
    table.add_column()
    table.add_column(justify="right")
    table.add_column(justify="right")
    found = counts.kept + counts.lost.total()
    table.add_row("kept", f"{counts.kept:,}", _share(counts.kept, found))
    for stage, count in counts.stages.most_common():
        table.add_row(
            f"  answer found by: {stage}", f"{count:,}", _share(count, counts.stages.total())
        )
    if counts.kept_impossible:
        table.add_row("  without an answer", f"{counts.kept_impossible:,}", "")
    for reason, count in counts.lost.most_common():
        table.add_row(f"lost: {escape(reason)}", f"{count:,}", _share(count, found))
    if quality := counts.quality():
        table.add_row("question quality, median", f"{quality.pop('median'):.2f}", "")
        for what, share in quality.items():
            table.add_row(f"  {what}", "", f"{share:.2%}")
    table.add_row("copies of the source, dropped", f"{counts.copies:,}", "")
    return table


def _share(count: int, total: int) -> str:
    return f"{count / total:.2%}" if total else ""


def _contexts(count: int) -> str:
    return f"{count:,} context{'s' * (count != 1)}"
