"""The summary that `readlet augment` prints."""

from rich.markup import escape
from rich.table import Table

from readlet.augmentation.report import LanguageTally, Tally
from readlet.cli.console import console


def show_tally(tally: Tally, out: str) -> None:
    text = f"Wrote {out}: {tally.written:,} questions, {tally.kept:,} of them new."
    console.print(text, markup=False, soft_wrap=True)  # so that the path can be copied
    for reason, count in tally.left.items():
        console.print(f"  not translated: {count:,} {reason}")
    for language, counts in tally.languages.items():
        console.print(_table(tally, language, counts))
        for what, lost in (
            ("answers", counts.lost_answers),
            ("plausible answers", counts.lost_plausible),
        ):
            if lost:
                console.print(f"  also lost, of questions that are kept: {lost.total():,} {what}")


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
    table.add_row("copies of the source, dropped", f"{counts.copies:,}", "")
    return table


def _share(count: int, total: int) -> str:
    return f"{count / total:.2%}" if total else ""
