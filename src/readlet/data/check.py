"""Reads all valid items of a source; malformed rows are collected, not raised.

Checks files of questions or labelled texts: reports what they contain and what is wrong.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from unicodedata import normalize

from readlet.data import read
from readlet.data.columns import PLAIN, DataFormat, NoColumnError
from readlet.data.faults import (
    Fault,
    Finding,
    TextFaults,
    context_faults,
    example_faults,
    text_key,
    whole_text,
)
from readlet.data.rows import Origin
from readlet.errors import EncodingError, InputError
from readlet.text.labels import ClassBalance
from readlet.text.languages import guess_language
from readlet.text.words import word_spans
from readlet.types import Example, Sentence


class ReadableItems:
    """All items that can be read; afterwards, `malformed` and `end` say what could not."""

    def __init__(
        self, source: str, data_format: DataFormat = PLAIN, origin: Origin | None = None
    ) -> None:
        self.malformed: list[InputError] = []
        self.end: InputError | None = None
        """The fault after which nothing can be read, such as truncated JSON."""
        on_fault = self.malformed.append
        self._items = read(source, data_format, on_fault=on_fault, origin=origin)

    def __iter__(self) -> Iterator[Example | Sentence]:
        is_empty = True
        try:
            for item in self._items:
                is_empty = False
                yield item
        except EncodingError:
            raise
        except InputError as error:
            if is_empty and not self.malformed:  # none of it can be read
                raise
            self.end = error
        if is_empty and self.malformed and isinstance(self.malformed[0], NoColumnError):
            raise self.malformed[0]  # one error about all rows


@dataclass
class FileReport:
    """The statistics and findings of one file. Lengths are counted in words."""

    source: str
    questions: int = 0
    contexts: int = 0
    answers: int = 0
    unanswerable: int = 0
    unlabelled: int = 0
    sentences: int = 0
    classes: ClassBalance = field(default_factory=lambda: ClassBalance({}))
    languages: Counter[str] = field(default_factory=Counter)
    lengths: dict[str, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    findings: list[Finding] = field(default_factory=list)

    def quantiles(self, what: str) -> dict[str, int]:
        """The median, the 95th percentile and the largest of the lengths in words."""
        found = sorted(self.lengths[what].elements())
        shares = {"median": 0.5, "p95": 0.95, "longest": 1.0}
        return {name: found[math.ceil(s * len(found)) - 1] for name, s in shares.items()}

    def counts(self) -> dict[Fault, int]:
        return Counter(finding.fault for finding in self.findings)


Seen = dict[int, FileReport]
"""Hash of a context or sentence, and the file in which it was first seen."""


@dataclass
class CheckReport:
    files: list[FileReport]

    @property
    def is_wrong(self) -> bool:
        return any(finding.fault.is_wrong for file in self.files for finding in file.findings)

    def counts(self) -> tuple[int, int]:
        """Errors, and notes on what is allowed."""
        findings = [finding for file in self.files for finding in file.findings]
        errors = sum(finding.fault.is_wrong for finding in findings)
        return errors, len(findings) - errors

    def as_json(self) -> dict[str, Any]:
        return {"wrong": self.is_wrong, "files": [_file_json(file) for file in self.files]}


def check(sources: Sequence[str], data_format: DataFormat = PLAIN) -> CheckReport:
    """Read every source once and compare them with each other."""
    seen: Seen = {}
    files = []
    for source in sources:
        items = ReadableItems(source, data_format)
        file = check_items(source, items, seen)
        unread = [(Fault.MALFORMED, error) for error in items.malformed]
        unread += [] if items.end is None else [(Fault.UNREADABLE, items.end)]
        file.findings[:0] = [
            Finding(fault, error.place, f"{error.fault}; {error.remedy}") for fault, error in unread
        ]
        files.append(file)
    return CheckReport(files)


def check_items(source: str, items: Iterable[Example | Sentence], seen: Seen) -> FileReport:
    """Report on the items of a source; `seen` collects the texts of all sources."""
    report = FileReport(source)
    ids: set[str] = set()
    asked: set[int] = set()
    contexts: set[int] = set()
    context, spans = None, word_spans("")
    texts = TextFaults()
    for item in items:
        if item.id in ids:
            report.findings.append(Finding(Fault.SAME_ID, item.id, "used before in this file"))
        ids.add(item.id)
        if isinstance(item, Sentence):
            _add_sentence(report, item, seen)
            report.findings += texts.of_row(item)
            continue
        if item.context != context:  # consecutive examples mostly share their context
            context, spans = item.context, word_spans(item.context)
        if hash(context) not in contexts:
            contexts.add(hash(context))
            report.contexts += 1
            report.lengths["context"][len(spans)] += 1
            report.findings += context_faults(item.id, item.context)
            what = f"context {item.context.strip()[:40]!r}"
            if not _shared(report, item.id, what, hash(context), seen):
                _shared(report, item.id, what, _letters(context), seen, Fault.NEAR)
            report.languages[item.language or guess_language(item.context)] += 1
        if (key := hash((item.question, context))) in asked:
            report.findings.append(Finding(Fault.REPEATED, item.id, f"{item.question!r:.60}"))
        asked.add(key)
        report.questions += 1
        report.answers += len(item.answers)
        report.unanswerable += item.is_labelled and not item.answers
        report.unlabelled += not item.is_labelled
        report.lengths["question"][len(word_spans(item.question))] += 1
        for answer in item.answers:
            report.lengths["answer"][len(word_spans(answer.text))] += 1
        report.findings += example_faults(item, spans)
    if not ids:
        report.findings.append(Finding(Fault.EMPTY, "", "the file contains no question or text"))
    report.findings += texts.of_labels()
    report.classes = texts.balance
    return report


def _add_sentence(report: FileReport, row: Sentence, seen: Seen) -> None:
    text = whole_text(row)
    report.sentences += 1
    report.unlabelled += row.label is None
    report.languages[guess_language(text)] += 1
    report.lengths["text"][len(word_spans(text))] += 1
    if row.text.strip():
        _shared(report, row.id, f"text {row.text.strip()[:40]!r}", text_key(row), seen)


def _shared(
    report: FileReport,
    identity: str,
    what: str,
    key: Hashable,
    seen: Seen,
    fault: Fault = Fault.SHARED,
) -> bool:
    other = seen.setdefault(hash(key), report)
    if other is not report:  # not by name: the same file may be given twice
        report.findings.append(Finding(fault, identity, f"{what} is also in {other.source}"))
    return other is not report


def _letters(text: str) -> tuple[str, str]:
    """The same for texts that differ only in spaces, case and punctuation."""
    return "letters", "".join(filter(str.isalnum, normalize("NFC", text).casefold()))


def _file_json(file: FileReport) -> dict[str, Any]:
    counted = {
        "questions": file.questions,
        "contexts": file.contexts,
        "answers": file.answers,
        "unanswerable": file.unanswerable,
        "unlabelled": file.unlabelled,
        "share_unanswerable": file.unanswerable / file.questions if file.questions else 0.0,
        "sentences": file.sentences,
        "labels": dict(file.classes.counts),
        "label_shares": file.classes.shares,
    }
    return {
        "file": file.source,
        **counted,
        "languages": dict(file.languages.most_common()),
        "lengths": {what: file.quantiles(what) for what in file.lengths},
        "problems": {fault.label: count for fault, count in file.counts().items()},
        "findings": [
            {"problem": f.fault.label, "wrong": f.fault.is_wrong, "id": f.id, "detail": f.detail}
            for f in file.findings
        ],
    }
