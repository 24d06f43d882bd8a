"""A report as a Markdown page."""

import re
from collections.abc import Iterable, Sequence

from readlet.experiments.curves import curves_caption, drawn_rows
from readlet.experiments.disagreements import Mark
from readlet.experiments.report import Report
from readlet.experiments.wording import (
    Entry,
    answer_text,
    code_parts,
    curve_label,
    dev_name,
    difference_table,
    footnotes,
    group_name,
    how_compared,
    main_table,
    only_opponent,
    pairs_of_rows,
    part_name,
)

_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~$&])")
# Starts a heading, a list or a rule at the beginning of a line.
_SPECIAL_FIRST = re.compile(r"^([#+=-]|\d+(?=[.)]))")
# Plain brackets: marks may overlap, which emphasis cannot.
_BRACKETS = {"gold": "⟦⟧", "row": "⟨⟩", "against": "⟪⟫"}


def markdown(report: Report, command: str) -> str:
    blocks = [f"# {_inline(report.title)}"]
    if report.source:
        blocks.append(f"Source: {_prose(report.source)}")
    if report.note:
        blocks.append(_prose(report.note))
    blocks += ["## Scores", *_scores(report)]
    if report.differences:
        blocks += ["## Differences", *_differences(report)]
    if drawn_rows(report):
        picture = f"![{curve_label(report)} of every row over the epochs]({report.name}-curves.svg)"
        blocks += ["## Learning curves", picture, _prose(curves_caption(report))]
    if report.groups:
        blocks += ["## Groups of questions", *_groups(report)]
    if report.disagreements:
        blocks += ["## Questions on which two rows differ", *_disagreements(report)]
    blocks += ["## How this page was made", *_origin(report, command)]
    return "\n\n".join(blocks) + "\n"


def _scores(report: Report) -> list[str]:
    headings, lines = main_table(report)
    signs = {r: str(number).translate(_SUPERSCRIPT) for r, number in footnotes(report).items()}
    names = [_inline(row.name) + signs.get(row.missing, "") for row in report.rows]
    values = [[name, *map(_entry, line)] for name, line in zip(names, lines, strict=True)]
    blocks = [_table(["Row", *headings], values)]
    about = "Mean ± standard deviation over the seeds, in percent; the best in bold."
    if report.items is not None:
        about += f" {report.items:,} {report.noun}."
    blocks.append(about)
    blocks += [f"{sign} Not run: {_prose(reason)}" for reason, sign in signs.items()]
    if report.remarks:
        blocks.append("\n".join(f"- {_prose(remark)}" for remark in report.remarks))
    return blocks


def _entry(entry: Entry) -> str:
    text = f"**{entry.text}**" if entry.is_best else entry.text
    return f"{text} ± {entry.deviation}" if entry.deviation else text


def _differences(report: Report) -> list[str]:
    headings, lines = difference_table(report)
    against = only_opponent(report)
    words = headings.index("Difference")
    table = _table(headings, [[_inline(text) for text in line] for line in lines], words)
    return [
        *([f"Every row against {_inline(against)}."] if against else []),
        table,
        _prose(how_compared(report)),
    ]


def _groups(report: Report) -> list[str]:
    blocks = ["F1 of every row; the number of questions in brackets."]
    for of_file in report.groups:
        title = dev_name(of_file, report)
        blocks += [f"### {_inline(title)}"] if title else []
        for group, parts in of_file.groups.items():
            headings = ["Row", *(f"{_inline(part_name(p))} ({p.questions:,})" for p in parts)]
            lines = [
                [_inline(row.name), *(f"{part.f1[row.name]:.1f}" for part in parts)]
                for row in report.rows
                if all(row.name in part.f1 for part in parts)
            ]
            mark = "####" if title else "###"
            blocks += [f"{mark} {_inline(group_name(group))}", _table(headings, lines)]
    return blocks


def _disagreements(report: Report) -> list[str]:
    blocks = ["In the passages: ⟦gold answer⟧, ⟨answer of the first row⟩, ⟪answer of the second⟫."]
    for row, against, found in pairs_of_rows(report):
        blocks.append(f"### {_inline(row)} against {_inline(against)}")
        for one in found:
            gold = " / ".join(_inline(text) for text in one.gold) or "no answer"
            blocks += [
                f"**{_inline(one.question)}**",
                f"> {_first(_bracketed(one.excerpt, one.marks))}",
                f"- Gold: {gold}\n"
                f"- {_inline(row)}: {_inline(answer_text(one.answer))} (F1 {one.f1:.0f})\n"
                f"- {_inline(against)}: {_inline(answer_text(one.answer_against))} "
                f"(F1 {one.f1_against:.0f})",
            ]
    return blocks


def _origin(report: Report, command: str) -> list[str]:
    lines = []
    for version, rows in report.code.items():
        made = f": {', '.join(map(_inline, rows))}" if len(report.code) > 1 else ""
        lines.append(f"- {_prose(version)}{made}")
    lines += [f"- Machine: {_inline(machine)}" for machine in report.machines]
    code = " ".join(command.split())
    return ["\n".join(lines), f"    {code}"] if lines else [f"    {code}"]


def _table(headings: Sequence[str], lines: Iterable[Sequence[str]], words: int = 1) -> str:
    """A table whose first `words` columns are left-aligned, the others right-aligned."""
    rule = [":--" if number < words else "--:" for number in range(len(headings))]
    return "\n".join(f"| {' | '.join(line)} |" for line in (headings, rule, *lines))


def _bracketed(excerpt: str, marks: Sequence[Mark]) -> str:
    """The excerpt with a pair of brackets for each mark, the longer ones outside."""
    inner_first = sorted((m for m in marks if m.start < m.end), key=lambda m: m.end - m.start)
    text = ""
    for place in range(len(excerpt) + 1):
        text += "".join(_BRACKETS[m.whose][1] for m in inner_first if m.end == place)
        text += "".join(_BRACKETS[m.whose][0] for m in reversed(inner_first) if m.start == place)
        text += excerpt[place : place + 1]
    return _inline(text)


def _inline(text: str) -> str:
    """Literal text on one line: escaped for use inside a line or a table."""
    return _escaped(" ".join(text.split()))


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


def _first(inline: str) -> str:
    return _SPECIAL_FIRST.sub(_escape_first, inline)


def _escape_first(found: re.Match[str]) -> str:
    sign = found.group()
    return f"{sign}\\" if sign.isdigit() else f"\\{sign}"


def _prose(text: str) -> str:
    """A paragraph, in which `code` stays code."""
    parts = code_parts(text)
    return _first("".join(f"`{part}`" if is_code else _escaped(part) for part, is_code in parts))
