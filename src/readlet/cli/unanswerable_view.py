"""The summary that `readlet data unanswerable` prints."""

from collections.abc import Mapping

from rich.markup import escape

from readlet.augment.altered_questions import NAME, NEGATION, NUMBER, OPPOSITE
from readlet.augment.unanswerable_file import Summary
from readlet.augment.unanswerable_questions import OTHER_PARAGRAPH, Hardness
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
    if summary.hardness is not None:
        _show_hardness(summary.hardness, summary.added, list_all)
    _show_unused("not altered", summary.not_altered, list_all)
    _show_unused("not paired", summary.left, list_all)
    if not summary.wanted:
        console.print(
            f"  no question was added: {summary.share:.1%} is the nearest possible to {share:.1%}"
        )
    elif summary.added < summary.wanted:
        console.print(
            f"  {summary.wanted:,} would be needed: {_limit(summary)}, "
            "so this is the largest share that the data allows"
        )


def _limit(summary: Summary) -> str:
    if summary.hardness is None:
        return "no question is altered or paired twice"
    return "there are no more candidates (a larger --pool may help)"


def _show_hardness(hardness: Hardness, added: int, list_all: bool) -> None:
    console.print(f"  candidates: {_answered(hardness.answered_candidates, hardness.candidates)}")
    console.print(f"  kept: {_answered(hardness.answered, added)}")
    _show_unused("candidates that may have an answer", hardness.doubtful, list_all)


def _answered(answered: int, total: int) -> str:
    share = f" ({answered / total:.1%})" if total else ""
    return f"{total:,}, of which the reader answers {answered:,}{share}"


def _show_unused(label: str, unused: Mapping[str, list[str]], list_all: bool) -> None:
    for reason, ids in unused.items():
        console.print(f"  {label}: {len(ids):,} {reason} ({some(ids, list_all=list_all)})")
