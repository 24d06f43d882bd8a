"""The summary that `readlet data unanswerable` prints."""

from collections.abc import Mapping

from rich.markup import escape

from readlet.augmentation.altered_questions import NAME, NEGATION, NUMBER, OPPOSITE
from readlet.augmentation.unanswerable_questions import OTHER_PARAGRAPH, Summary
from readlet.cli.console import console, some

_MADE_BY = {
    NAME: "with another name",
    NUMBER: "with another number",
    OPPOSITE: "with a word replaced by its opposite",
    NEGATION: 'with an added "not"',
    OTHER_PARAGRAPH: "paired with another paragraph of its article",
}


def show_summary(summary: Summary, out: str, share: float, *, list_all: bool) -> None:
    console.print(
        f"Wrote {escape(out)}: {summary.questions:,} questions, "
        f"{summary.impossible:,} ({summary.share:.1%}) unanswerable."
    )
    console.print(f"  new: {summary.added:,}")
    for kind, count in summary.kinds.items():
        console.print(f"    {count:,} {_MADE_BY[kind]}")
    _show_unused("not altered", summary.not_altered, list_all)
    _show_unused("not paired", summary.left, list_all)
    if not summary.wanted:
        console.print(
            f"  no question was added: {summary.share:.1%} is the nearest possible to {share:.1%}"
        )
    elif summary.added < summary.wanted:
        console.print(
            f"  {summary.wanted:,} would be needed: no question is altered or paired twice, "
            "so this is the largest share that the data allows"
        )


def _show_unused(label: str, unused: Mapping[str, list[str]], list_all: bool) -> None:
    for reason, ids in unused.items():
        console.print(f"  {label}: {len(ids):,} {reason} ({some(ids, list_all=list_all)})")
