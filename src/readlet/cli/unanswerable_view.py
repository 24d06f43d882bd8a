"""What `readlet data unanswerable` says about the file it wrote."""

from collections.abc import Mapping

from rich.markup import escape

from readlet.augment.altered_questions import NAME, NEGATION, NUMBER, OPPOSITE
from readlet.augment.unanswerable_file import Summary
from readlet.augment.unanswerable_questions import OTHER_PARAGRAPH
from readlet.cli.console import console, some

_MADE_BY = {
    NAME: "with another name",
    NUMBER: "with another number",
    OPPOSITE: "with a word turned into its opposite",
    NEGATION: 'with a "not"',
    OTHER_PARAGRAPH: "asked of another paragraph of its article",
}


def show_summary(summary: Summary, out: str, share: float, *, list_all: bool) -> None:
    console.print(
        f"Wrote {escape(out)}: {summary.questions:,} questions, "
        f"{summary.impossible:,} ({summary.share:.1%}) without an answer."
    )
    console.print(f"  new: {summary.added:,}")
    for kind, count in summary.kinds.items():
        console.print(f"    {count:,} {_MADE_BY[kind]}")
    _show_left("not altered", summary.not_altered, list_all)
    _show_left("not paired", summary.left, list_all)
    if not summary.wanted:
        console.print(
            f"  none was wanted: {summary.share:.1%} is as near to {share:.1%} as adding gets"
        )
    elif summary.added < summary.wanted:
        console.print(
            f"  {summary.wanted:,} were wanted: no question is altered or paired twice, "
            "so this is the largest share that the data gives"
        )


def _show_left(what: str, left: Mapping[str, list[str]], list_all: bool) -> None:
    for reason, ids in left.items():
        console.print(f"  {what}: {len(ids):,} {reason} ({some(ids, list_all=list_all)})")
