"""Faults of texts with labels: of a row, between rows, and of all labels of a file."""

from collections import Counter
from collections.abc import Iterator

from readlet.formats.labels import number_in
from readlet.inspection.classes import ClassBalance, balance_of, same_but_spelling
from readlet.inspection.faults import Fault, Finding, control_faults
from readlet.types import Sentence


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
        yield from control_faults(row.id, "text", whole_text(row))

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
            for label in balance.counts:
                if number_in(label) is None:
                    detail = f"label {label!r:.40} among numbers"
                    yield Finding(Fault.NO_NUMBER, self._first_ids[label], detail)
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
