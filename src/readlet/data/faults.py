"""The kinds of fault, and how they are detected in one example.

Faults of texts with labels: of a row, between rows, and of all labels of a file.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from html import unescape

import regex

from readlet.data.answer_offsets import placement
from readlet.text.labels import ClassBalance, balance_of, same_but_spelling
from readlet.text.words import snap
from readlet.types import NO_OFFSET, Example, Sentence, Span

# Tabs and line ends are allowed; U+FFFD and unpaired surrogates are traces of a failed
# conversion.
CONTROL = regex.compile(r"[\p{Cc}\p{Cs}\uFEFF\uFFFD--[\t\n\r]]", regex.VERSION1)


class Fault(Enum):
    """A kind of fault: its name, and whether it makes the data wrong."""

    MALFORMED = ("malformed row", True)
    UNREADABLE = ("rest is unreadable", True)
    MISPLACED = ("misplaced answer", True)
    NO_OFFSET = ("answer without offset", True)
    NOWHERE = ("answer not in context", True)
    EMPTY = ("empty field", True)
    CONTROL = ("control character", True)
    FLAG = ("contradictory flag", True)
    SAME_ID = ("duplicate id", True)
    SHARED = ("text in two files", True)
    NEAR = ("nearly the same text in two files", True)
    ONE_CLASS = ("only one class", True)
    CUT = ("answer cuts a word", False)  # training uses the whole word
    SPACE = ("space around answer", False)
    REPEATED = ("repeated question", False)
    MOJIBAKE = ("text decoded in a wrong encoding", False)
    ENTITY = ("HTML entity", False)
    ZERO_WIDTH = ("character without width", False)
    UNLABELLED = ("unlabelled question", False)
    REPEATED_TEXT = ("repeated text", False)
    UNLABELLED_TEXT = ("unlabelled text", False)
    TWO_LABELS = ("same text with two labels", False)  # official CoLA has some
    RARE_CLASS = ("class with one row", False)
    SIMILAR_LABELS = ("labels differ only in case", False)

    def __init__(self, label: str, is_wrong: bool) -> None:
        self.label = label
        self.is_wrong = is_wrong


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault, the id of its example (the place of a malformed row) and the details."""

    fault: Fault
    id: str
    detail: str


def context_faults(identity: str, context: str) -> Iterator[Finding]:
    """Faults of a context, reported once for all questions that share it."""
    if not context.strip():
        yield Finding(Fault.EMPTY, identity, "the context has no text")
    yield from text_faults(identity, "context", context)


def example_faults(example: Example, spans: Sequence[tuple[int, int]]) -> Iterator[Finding]:
    """Faults of a question and its answers, given the word spans of its context."""
    if not example.question.strip():
        yield Finding(Fault.EMPTY, example.id, "the question has no text")
    yield from text_faults(example.id, "question", example.question)
    if example.is_impossible and example.answers:
        yield Finding(Fault.FLAG, example.id, "marked impossible but has answers")
    if not example.is_labelled:
        detail = "usable for predictions, not for training"
        yield Finding(Fault.UNLABELLED, example.id, detail)
    elif not example.is_impossible and not example.answers:
        yield Finding(Fault.FLAG, example.id, "has no answer but is not marked impossible")
    for answer in (*example.answers, *example.plausible_answers):
        yield from _answer_faults(example, answer, spans)


def _answer_faults(
    example: Example, answer: Span, spans: Sequence[tuple[int, int]]
) -> Iterator[Finding]:
    shown = f"{answer.text!r:.60}"
    if not answer.text.strip():
        yield Finding(Fault.EMPTY, example.id, "an answer has no text")
    elif not answer.is_in(example.context):
        yield _place_fault(example, answer, spans)
    else:
        if answer.text != answer.text.strip():
            yield Finding(Fault.SPACE, example.id, shown)
        whole = snap(spans, answer.start, answer.end)
        if whole is not None and whole.moved:
            covering = example.context[spans[whole.first][0] : spans[whole.last][1]]
            yield Finding(Fault.CUT, example.id, f"{shown} of {covering!r:.60}")


def _place_fault(example: Example, answer: Span, spans: Sequence[tuple[int, int]]) -> Finding:
    """The fault of an answer that is not at its offset, or has none."""
    has_offset = answer.start != NO_OFFSET
    shown = f"{answer.text!r:.60}"
    shown += f" at {answer.start}" if has_offset else ": no offset given"
    found = placement(example.context, answer, spans)
    if found is None:
        return Finding(Fault.NOWHERE, example.id, shown)
    near = found.place
    several = f", occurs {found.occurring} times" if found.occurring > 1 else ""
    other = "" if near.text == answer.text else f", spelled {near.text!r:.60}"
    if several:
        detail = f"{shown}{several}{other} (--fix takes the first)"
        return Finding(Fault.NO_OFFSET, example.id, detail)
    return Finding(Fault.MISPLACED, example.id, f"{shown}, is at {near.start}{other}")


# UTF-8 that was read as Windows-1252 or Latin-1: "Ã©" for "é", "â€™" for an apostrophe.
_TWICE = "\u0080-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ"
_MOJIBAKE = regex.compile(rf"[Â-ß][{_TWICE}]|[à-ï][{_TWICE}]{{2}}|[ð-ô][{_TWICE}]{{3}}")
_ENTITY = regex.compile(r"&(?:[A-Za-z]{2,8}|#\d{2,6}|#[xX][0-9A-Fa-f]{2,5});")
# Joiners are letters in some scripts; these are only traces of web pages and hyphenation.
_ZERO_WIDTH = regex.compile(r"[\u00ad\u200b\u2060]")


def text_faults(identity: str, field: str, text: str) -> Iterator[Finding]:
    """Traces of a conversion that failed, each kind once."""
    if match := CONTROL.search(text):
        name = unicodedata.name(match[0], f"U+{ord(match[0]):04X}")
        yield Finding(Fault.CONTROL, identity, f"{name} at {match.start()} of the {field}")
    if match := next(filter(_is_mojibake, _MOJIBAKE.finditer(text)), None):
        meant = _bytes_of(match[0]).decode()
        detail = f"{match[0]!r} at {match.start()} of the {field}, perhaps {meant!r}"
        yield Finding(Fault.MOJIBAKE, identity, detail)
    found = (match for match in _ENTITY.finditer(text) if unescape(match[0]) != match[0])
    if match := next(found, None):
        detail = f"{match[0]!r} at {match.start()} of the {field}"
        yield Finding(Fault.ENTITY, identity, detail)
    if match := _ZERO_WIDTH.search(text):
        name = unicodedata.name(match[0])
        yield Finding(Fault.ZERO_WIDTH, identity, f"{name} at {match.start()} of the {field}")


def _is_mojibake(match: "regex.Match[str]") -> bool:
    try:
        return len(_bytes_of(match[0]).decode()) == 1
    except UnicodeError:
        return False


def _bytes_of(text: str) -> bytes:
    """Windows-1252, and Latin-1 for the five bytes that Windows-1252 leaves undefined."""
    return b"".join(
        c.encode("latin-1") if "\u0080" <= c <= "\u00ff" else c.encode("cp1252") for c in text
    )


class TextFaults:
    """Finds the faults of the texts of one file, row by row; `labels` are counted."""

    def __init__(self) -> None:
        self.labels: Counter[str | None] = Counter()
        self._first_ids: dict[str, str] = {}  # by label
        self._label_of: dict[int, tuple[str, str | None]] = {}  # first id and label, by text
        self._is_pair: bool | None = None

    def of_row(self, row: Sentence) -> Iterator[Finding]:
        self.labels[row.label] += 1
        if row.label is None:
            detail = "usable for predictions, not for training"
            yield Finding(Fault.UNLABELLED_TEXT, row.id, detail)
        else:
            self._first_ids.setdefault(row.label, row.id)
        if self._is_pair is None:
            self._is_pair = row.second is not None
        if self._is_pair != (row.second is not None):
            number = "no" if self._is_pair else "a"
            yield Finding(Fault.EMPTY, row.id, f"{number} second text, unlike the first row")
        if not row.text.strip() or (row.second is not None and not row.second.strip()):
            yield Finding(Fault.EMPTY, row.id, "a text is empty")
        else:
            yield from self._repeated(row)
        yield from text_faults(row.id, "text", whole_text(row))

    def _repeated(self, row: Sentence) -> Iterator[Finding]:
        key = text_key(row)
        first = self._label_of.get(key)
        if first is None:
            self._label_of[key] = (row.id, row.label)
        elif None not in (row.label, first[1]) and row.label != first[1]:
            detail = f"{row.text!r:.60}: {row.label!r:.30}, but {first[1]!r:.30} in {first[0]!r}"
            yield Finding(Fault.TWO_LABELS, row.id, detail)
        else:
            yield Finding(Fault.REPEATED_TEXT, row.id, f"{row.text!r:.60}, as {first[0]!r}")

    def of_labels(self) -> Iterator[Finding]:
        """Faults of the labels of all rows; call it after the last one."""
        balance = balance_of(self.labels)
        if len(balance.counts) == 1 and balance.total > 1:
            detail = f"all {balance.total:,} labels are {balance.largest!r:.40}"
            yield Finding(Fault.ONE_CLASS, "", detail)
            return
        if balance.is_scale:
            return
        for label in balance.single:
            yield Finding(Fault.RARE_CLASS, self._first_ids[label], f"class {label!r:.40}")
        for names in same_but_spelling(balance.counts):
            detail = ", ".join(f"{name!r:.40}" for name in names)
            yield Finding(Fault.SIMILAR_LABELS, self._first_ids[names[1]], detail)

    @property
    def balance(self) -> ClassBalance:
        return balance_of(self.labels)


def whole_text(row: Sentence) -> str:
    return row.text if row.second is None else f"{row.text}\t{row.second}"


def text_key(row: Sentence) -> int:
    """Equal for texts that differ in white space only; a hash needs less memory than the text."""
    second = None if row.second is None else " ".join(row.second.split())
    return hash((" ".join(row.text.split()), second))
