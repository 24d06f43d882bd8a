"""A report's two tables for a paper: the scores, and the differences between rows."""

import re
import unicodedata
from collections.abc import Iterable, Sequence

from readlet.experiments.report import Report
from readlet.experiments.wording import (
    HOW_COMPARED,
    Entry,
    code_parts,
    difference_table,
    footnotes,
    main_table,
    only_opponent,
)

_HEAD = r"""% Needs \usepackage{booktabs}; letters that are not Latin need XeLaTeX or LuaLaTeX."""
_SIGNS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    # At the start of a line of a table these would belong to the \\ before them.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    # No dash is made of two hyphens that stand in a name.
    "-": "-{}",
    "–": r"\textendash{}",
    "−": "$-$",
    "±": r"$\pm$",
    "†": r"$\dagger$",
    "…": r"\ldots{}",
}
_SIGN = re.compile("-(?=-)|" + "|".join(re.escape(sign) for sign in _SIGNS if sign != "-"))


def tex(report: Report) -> str:
    tables = [_HEAD, _scores(report)]
    if report.differences:
        tables.append(_differences(report))
    return "\n\n".join(tables) + "\n"


def _scores(report: Report) -> str:
    headings, lines = main_table(report)
    reasons = footnotes(report)
    names = [
        _escape(row.name) + (rf"\textsuperscript{{{reasons[row.missing]}}}" if row.missing else "")
        for row in report.rows
    ]
    values = [[name, *map(_entry, line)] for name, line in zip(names, lines, strict=True)]
    caption = _sentence(report.title)
    if report.source:
        caption += " After " + _sentence(report.source)
    caption += r" Mean $\pm$ deviation over the seeds, in percent; the best in bold."
    notes = [
        *(rf"\textsuperscript{{{n}}} Not run: {_prose(r)}" for r, n in reasons.items()),
        *(_prose(remark) for remark in report.remarks),
    ]
    tabular = _tabular(["Row", *map(_escape, headings)], values, words=1)
    return _table(caption, f"tab:{report.name}", tabular, notes)


def _differences(report: Report) -> str:
    headings, lines = difference_table(report)
    against = only_opponent(report)
    of_what = f"every row against {_escape(against)}" if against else "pairs of rows"
    caption = f"{_prose(report.title)}: {of_what}. {_escape(HOW_COMPARED)}"
    values = [[_escape(text) for text in line] for line in lines]
    words = headings.index("Difference")
    tabular = _tabular([*map(_escape, headings)], values, words)
    return _table(caption, f"tab:{report.name}-differences", tabular, [])


def _entry(entry: Entry) -> str:
    text = _escape(entry.text)
    if entry.is_best:
        text = rf"\textbf{{{text}}}"
    return rf"{text} $\pm$ {_escape(entry.deviation)}" if entry.deviation else text


def _tabular(headings: Sequence[str], lines: Iterable[Sequence[str]], words: int) -> list[str]:
    """A tabular whose first `words` columns are flush left, the others flush right."""
    columns = "l" * words + "r" * (len(headings) - words)
    return [
        rf"  \begin{{tabular}}{{{columns}}}",
        r"    \toprule",
        rf"    {' & '.join(headings)} \\",
        r"    \midrule",
        *(rf"    {' & '.join(line)} \\" for line in lines),
        r"    \bottomrule",
        r"  \end{tabular}",
    ]


def _table(caption: str, label: str, tabular: Sequence[str], notes: Sequence[str]) -> str:
    small = [r"  \par\smallskip\footnotesize", "  " + " \\\\\n  ".join(notes)] if notes else []
    lines = (
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{caption}}}",
        rf"  \label{{{label}}}",
        r"  \par\medskip",  # the standard classes leave no room below a caption
        *tabular,
        *small,
        r"\end{table}",
    )
    return "\n".join(lines)


def _escape(text: str) -> str:
    """Text that TeX prints as it is; control characters, which it refuses, are left out."""
    shown = "".join(c for c in text if c.isspace() or unicodedata.category(c) != "Cc")
    one_line = re.sub(r"\s+", " ", shown)
    return _SIGN.sub(lambda found: _SIGNS[found.group()], one_line)


def _sentence(text: str) -> str:
    return _prose(text.rstrip().rstrip(".")) + "."


def _prose(text: str) -> str:
    """A sentence, in which `code` is set as code."""
    parts = code_parts(text)
    return "".join(
        rf"\texttt{{{_escape(part)}}}" if is_code else _escape(part) for part, is_code in parts
    )
