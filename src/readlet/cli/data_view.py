"""The tables of `readlet data check`.

The summary that `readlet data unanswerable` prints.

The summary that `readlet augment` prints.
"""

from rich.markup import escape
from rich.table import Table

from readlet.augmentation.report import LanguageTally, Tally
from readlet.augmentation.unanswerable_questions import Summary
from readlet.console import FEW, console, harmless, some
from readlet.data.check import CheckReport, FileReport
from readlet.data.faults import Fault
from readlet.data.repair import Changes


def show_report(report: CheckReport, *, list_all: bool) -> None:
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


def show_changes(changes: Changes, out: str, *, list_all: bool) -> None:
    console.print(f"Wrote {escape(out)}: {changes.written} examples.")
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
    for what in file.lengths:
        of = file.quantiles(what)
        lengths = f"median {of['median']:,}, 95% up to {of['p95']:,}, longest {of['longest']:,}"
        table.add_row(f"{what} words", lengths)
    return table


def _languages(file: FileReport) -> str:
    return escape(", ".join(f"{code} {n:,}" for code, n in file.languages.most_common(8)))


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
            # Before columns are measured: a control character has no width, its picture has.
            texts = (escape(harmless(text)) for text in (finding.id, finding.detail))
            table.add_row(*first, *texts)
    return table


def show_summary(summary: Summary, out: str, share: float, *, list_all: bool) -> None:
    console.print(
        f"Wrote {escape(out)}: {summary.questions:,} questions, "
        f"{summary.impossible:,} ({summary.share:.1%}) unanswerable."
    )
    console.print(f"  new: {summary.added:,}, paired with other contexts")
    for reason, ids in summary.left.items():
        console.print(f"  not paired: {len(ids):,} {reason} ({some(ids, list_all=list_all)})")
    if not summary.wanted:
        console.print(
            f"  no question was added: {summary.share:.1%} is the nearest possible to {share:.1%}"
        )
    elif summary.added < summary.wanted:
        console.print(
            f"  {summary.wanted:,} would be needed: no question is paired twice, "
            "so this is the largest share that the data allows"
        )


def show_tally(tally: Tally, out: str) -> None:
    text = f"Wrote {out}: {tally.written:,} questions, {tally.kept:,} of them new."
    console.print(text, markup=False, soft_wrap=True)  # so that the path can be copied
    for reason, count in tally.left.items():
        console.print(f"  not translated: {count:,} {reason}")
    for language, counts in tally.languages.items():
        console.print(_table(tally, language, counts))
        if lost := counts.lost_answers.total():
            console.print(f"  also lost, of questions that are kept: {lost:,} answers")


def _table(tally: Tally, language: str, counts: LanguageTally) -> Table:
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
