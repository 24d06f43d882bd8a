"""The tables of `readlet data check`."""

from collections.abc import Mapping

from rich.markup import escape
from rich.table import Table

from readlet.cli.console import FEW, console, some
from readlet.data.check import EDGES, CheckReport, FileReport
from readlet.data.faults import Fault
from readlet.data.repair import Changes, Repaired
from readlet.terminal import harmless

_BLOCKS = " ▁▂▃▄▅▆▇█"


def show_report(report: CheckReport, *, list_all: bool) -> None:
    for file in report.files:
        console.print(_overview(file))
        if file.findings:
            console.print(_problems(file, list_all))
        console.print()
    if report.is_wrong:
        console.print("[bold red]Problems found[/bold red]: see the rows marked ✗ above.")
    else:
        console.print("[bold green]No problems found.[/bold green]")


def show_changes(changes: Changes, out: str, *, list_all: bool) -> None:
    console.print(f"Wrote {escape(out)}: {changes.written} examples.")
    _list_changes(changes, list_all=list_all)


def show_repaired(file: Repaired, *, list_all: bool) -> None:
    if file.backup is None:
        console.print(f"{file.source}: nothing to repair", markup=False, soft_wrap=True)
        return
    kept = f"the old file is {file.backup}"
    line = f"Repaired {file.source}: {file.changes.written} examples; {kept}"
    console.print(line, markup=False, soft_wrap=True)  # so that the path can be copied
    _list_changes(file.changes, list_all=list_all)


def _list_changes(changes: Changes, *, list_all: bool) -> None:
    for verb, reasons in (("changed", changes.changed), ("dropped", changes.dropped)):
        for reason, ids in reasons.items():
            console.print(f"  {verb}: {len(ids)} × {reason} ({some(ids, list_all=list_all)})")


def _overview(file: FileReport) -> Table:
    table = Table(title=escape(file.source), title_justify="left", show_header=False, box=None)
    table.add_column(style="dim")
    table.add_column()
    if file.sentences:
        table.add_row("texts", f"{file.sentences:,}")
        if file.classes.counts:
            table.add_row("labels", escape(file.classes.summary()))
        if file.unlabelled:
            note = "usable for predictions, not for training"
            table.add_row("unlabelled", f"{file.unlabelled:,} texts; {note}")
    else:
        share = file.unanswerable / max(file.questions, 1)
        table.add_row("questions", f"{file.questions:,} on {file.contexts:,} contexts")
        table.add_row("answers", f"{file.answers:,}")
        table.add_row("without answer", f"{file.unanswerable:,} ({share:.1%})")
        if file.unlabelled:
            note = "usable for predictions, not for training"
            table.add_row("unlabelled", f"{file.unlabelled:,} questions; {note}")
    table.add_row("languages", _languages(file))
    for what in EDGES:
        if file.lengths[what]:
            table.add_row(f"{what} words", _histogram(file.histogram(what)))
    return table


def _languages(file: FileReport) -> str:
    return escape(", ".join(f"{code} {n:,}" for code, n in file.languages.most_common(8)))


def _histogram(bins: Mapping[str, int]) -> str:
    top = max(bins.values())
    bars = {name: _BLOCKS[-(-8 * count // top)] for name, count in bins.items()}
    # No-break spaces: lines are broken between bins, not inside one.
    shown = (f"{name}\u00a0{bars[name]}\u00a0{count:,}" for name, count in bins.items() if count)
    return "  ".join(shown)


def _problems(file: FileReport, list_all: bool) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("", "problem", "count", "id", "detail"):
        table.add_column(name, justify="right" if name == "count" else "left", overflow="fold")
    counts = file.counts()
    for fault in Fault:
        found = [finding for finding in file.findings if finding.fault is fault]
        mark = "[red]✗[/red]" if fault.is_wrong else "[yellow]•[/yellow]"
        for number, finding in enumerate(found if list_all else found[:FEW]):
            first = (mark, fault.label, f"{counts[fault]:,}") if number == 0 else ("", "", "")
            # Before columns are measured: a control character has no width, its picture has one.
            texts = (escape(harmless(text)) for text in (finding.id, finding.detail))
            table.add_row(*first, *texts)
    return table
