"""The two LaTeX tables of a report: the scores, and the differences between rows."""

import re
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence

from readlet.experiments.report import Report
from readlet.experiments.wording import (
    Entry,
    code_parts,
    difference_table,
    footnotes,
    how_compared,
    main_table,
    only_opponent,
)

HEAD = r"% Needs \usepackage{adjustbox,booktabs}; non-Latin letters need XeLaTeX or LuaLaTeX."
# Lines per page; longer tables continue in another table.
_LINES = 40
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
    # At the start of a table line these would be read as arguments of the \\ before them.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    # Two hyphens in a name must not become a dash.
    "-": "-{}",
    "–": r"\textendash{}",
    "−": "$-$",
    "±": r"$\pm$",
    "†": r"$\dagger$",
    "…": r"\ldots{}",
}
_SIGN = re.compile("-(?=-)|" + "|".join(re.escape(sign) for sign in _SIGNS if sign != "-"))


def tex(report: Report) -> str:
    tables = [HEAD, _scores(report)]
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
        caption += " Source: " + _sentence(report.source)
    caption += r" Mean $\pm$ standard deviation over the seeds, in percent; the best in bold."
    notes = [
        *(rf"\textsuperscript{{{n}}} Not run: {_prose(r)}" for r, n in reasons.items()),
        *(_prose(remark) for remark in report.remarks),
    ]
    return _tables(caption, f"tab:{report.name}", ["Row", *headings], values, 1, notes)


def _differences(report: Report) -> str:
    headings, lines = difference_table(report)
    against = only_opponent(report)
    of_what = f"every row against {_escape(against)}" if against else "pairs of rows"
    caption = f"{_prose(report.title)}: {of_what}. {_escape(how_compared(report))}"
    values = [[_escape(text) for text in line] for line in lines]
    words = headings.index("Difference")
    return _tables(caption, f"tab:{report.name}-differences", headings, values, words)


def _entry(entry: Entry) -> str:
    text = _escape(entry.text)
    if entry.is_best:
        text = rf"\textbf{{{text}}}"
    return rf"{text} $\pm$ {_escape(entry.deviation)}" if entry.deviation else text


def _tables(
    caption: str,
    label: str,
    headings: Sequence[str],
    lines: Sequence[Sequence[str]],
    words: int,
    notes: Sequence[str] = (),
) -> str:
    """One table, or several continued ones of at most a page each; notes are under the last."""
    parts = [lines[first : first + _LINES] for first in range(0, len(lines), _LINES)]
    captions = [rf"  \caption{{{caption}}}", rf"  \label{{{label}}}"]
    texts = []
    for number, part in enumerate(parts, start=1):
        below = notes if number == len(parts) else []
        texts.append(_table(captions, _tabular(headings, part, words), below))
        captions = [r"  \addtocounter{table}{-1}", r"  \caption{(continued)}"]
    return "\n\n".join(texts)


def _tabular(headings: Sequence[str], lines: Iterable[Sequence[str]], words: int) -> list[str]:
    """A tabular whose first `words` columns are left-aligned, the others right-aligned."""
    columns = "l" * words + "r" * (len(headings) - words)
    top = map(_heading, headings, columns)
    return [
        r"  \begin{adjustbox}{max width=\linewidth}",  # shrinks only what is too wide for the page
        rf"  \begin{{tabular}}{{{columns}}}",
        r"    \toprule",
        rf"    {' & '.join(top)} \\",
        r"    \midrule",
        *(rf"    {' & '.join(line)} \\" for line in lines),
        r"    \bottomrule",
        r"  \end{tabular}",
        r"  \end{adjustbox}",
    ]


def _heading(text: str, side: str) -> str:
    """Split into several lines: the columns below are narrow."""
    lines = textwrap.wrap(text, 8, break_long_words=False)
    shown = r"\\".join(map(_escape, lines))
    return rf"\shortstack[{side}]{{{shown}}}" if len(lines) > 1 else shown


def _table(captions: Sequence[str], tabular: Sequence[str], notes: Sequence[str]) -> str:
    small = [r"  \par\smallskip\footnotesize", "  " + " \\\\\n  ".join(notes)] if notes else []
    lines = (
        r"\begin{table}",
        r"  \centering",
        r"  \small",
        r"  \setlength{\tabcolsep}{4pt}",
        *captions,
        r"  \par\medskip",  # the standard classes leave no space below a caption
        *tabular,
        *small,
        r"\end{table}",
    )
    return "\n".join(lines)


def _escape(text: str) -> str:
    """Escaped text that TeX prints literally; control characters, which it rejects, are removed."""
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
