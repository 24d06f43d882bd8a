"""What became of the questions, by reason; and a report on it, as JSON and as a page of samples."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from heapq import heappush, heappushpop
from pathlib import Path
from typing import Any

from readlet.augmentation.config import AugmentationConfig, draw
from readlet.augmentation.translated_questions import COPY, Translated
from readlet.storage.files import write_text
from readlet.storage.overwrite import check_file, check_folder, make_folder
from readlet.text.words import words
from readlet.types import Span

OTHER_LANGUAGE = "in another language"
NOT_SAMPLED = "not in the sample"


@dataclass(slots=True)
class LanguageTally:
    """Questions in one of the languages. Copies are no losses: they are not new data."""

    kept: int = 0
    kept_impossible: int = 0
    copies: int = 0
    lost: Counter[str] = field(default_factory=Counter)  # by reason
    # Answers of the questions that are kept: located, by the most certain stage, and lost.
    stages: Counter[str] = field(default_factory=Counter)
    lost_answers: Counter[str] = field(default_factory=Counter)
    lost_plausible: Counter[str] = field(default_factory=Counter)

    @property
    def asked(self) -> int:
        """The questions that were translated."""
        return self.kept + self.copies + self.lost.total()

    @property
    def kept_share(self) -> float:
        """Of all but the copies."""
        return self.kept / max(1, self.kept + self.lost.total())

    def add(self, one: Translated) -> None:
        if one.new is None:
            if one.reason == COPY:
                self.copies += 1
            else:
                self.lost[one.reason] += 1
            return
        self.kept += 1
        self.kept_impossible += one.new.is_impossible
        if one.relocated is not None:
            self.stages.update(str(located.stages[0]) for located in one.relocated.answers)
            self.lost_answers.update(str(lost.reason) for lost in one.relocated.lost)
            self.lost_plausible.update(str(lost.reason) for lost in one.relocated.lost_plausible)


@dataclass(slots=True)
class Tally:
    """The questions of the data, those that were left as they are, and each language."""

    config: AugmentationConfig
    engines: dict[str, str] = field(default_factory=dict)  # of each language pair
    questions: int = 0
    written: int = 0
    left: Counter[str] = field(default_factory=Counter)  # by reason
    languages: dict[str, LanguageTally] = field(default_factory=dict)

    @property
    def kept(self) -> int:
        return sum(counts.kept for counts in self.languages.values())

    def add(self, one: Translated) -> None:
        self.languages.setdefault(one.language, LanguageTally()).add(one)

    def as_json(self) -> dict[str, Any]:
        return {
            "config": asdict(self.config),
            "engines": self.engines,
            "questions": self.questions,
            "left": dict(self.left),
            "written": self.written,
            "languages": {
                language: {
                    "asked": counts.asked,
                    "kept": counts.kept,
                    "kept_share": counts.kept_share,
                    "kept_impossible": counts.kept_impossible,
                    "copies": counts.copies,
                    "lost": dict(counts.lost.most_common()),
                    "stages": dict(counts.stages.most_common()),
                    "lost_answers": dict(counts.lost_answers.most_common()),
                    "lost_plausible": dict(counts.lost_plausible.most_common()),
                }
                for language, counts in self.languages.items()
            },
        }


NEAR = 0.9  # F1 of the words of two texts from which on they are near-duplicates
SAMPLES = 6  # of each kind
_FILES = ("augmentation.json", "augmentation.md")
_AROUND = 240  # characters of a context shown on each side of an answer
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|])")  # they have a meaning in Markdown


@dataclass(slots=True)
class FieldStatistics:
    """How new texts differ from old ones: questions, or distinct contexts."""

    pairs: int = 0
    near_duplicates: int = 0
    total_ratio: float = 0.0

    def add(self, old: str, new: str) -> None:
        self.pairs += 1
        self.total_ratio += len(new) / len(old)
        self.near_duplicates += word_overlap(old, new) >= NEAR

    def as_json(self) -> dict[str, Any]:
        ratio = round(self.total_ratio / max(1, self.pairs), 4)
        counts = {"pairs": self.pairs, "near_duplicates": self.near_duplicates}
        return {**counts, "mean_length_ratio": ratio}


class TextStatistics:
    """Statistics and samples of all questions of a run, in memory of limited size."""

    def __init__(self, config: AugmentationConfig) -> None:
        self.fields = {name: FieldStatistics() for name in config.fields}
        self._seed = config.seed
        self._samples: dict[str, list[tuple[bytes, int, Translated]]] = {}  # heaps, by kind
        self._last_pair: dict[str, tuple[str, str]] = {}
        self._count = 0

    def add(self, one: Translated) -> None:
        if one.new is not None:
            if "question" in self.fields:
                self.fields["question"].add(one.source.question, one.new.question)
            pair = one.source.context, one.new.context
            if "context" in self.fields and self._last_pair.get(one.language) != pair:
                self._last_pair[one.language] = pair
                self.fields["context"].add(*pair)
        if one.reason == COPY:
            return
        # A few of each kind, chosen by their digests: the same in any order.
        digest = draw(one.source, self._seed, "sample", one.language)
        self._count += 1
        entry = bytes(255 - byte for byte in digest), self._count, one
        heap = self._samples.setdefault(_kind(one), [])
        if len(heap) < SAMPLES:
            heappush(heap, entry)
        else:
            heappushpop(heap, entry)  # the heap drops its smallest

    @property
    def samples(self) -> dict[str, list[Translated]]:
        """By kind; those that were kept first."""
        ranked = sorted(self._samples.items(), key=lambda item: (item[1][0][2].new is None, item))
        return {kind: [one for *_, one in sorted(heap)[::-1]] for kind, heap in ranked}


def _kind(one: Translated) -> str:
    """The stage that found the answer, or what else the question is."""
    if one.new is None:
        return f"Lost: {one.reason}"
    if one.relocated is None:
        return "Kept: context unchanged"
    if not one.relocated.answers:
        return "Kept: no answer"
    return f"Kept: {one.relocated.answers[0].stages[0]}"


def word_overlap(first: str, second: str) -> float:
    """F1 of the words of two texts, in any order and case; punctuation marks count as words."""
    one, other = (Counter(map(str.casefold, words(text))) for text in (first, second))
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 1.0


def check_report(folder: Path, inputs: Sequence[Path] = (), *, overwrite: bool = False) -> None:
    """Check that the report may be written."""
    check_folder(folder, None)
    for name in _FILES if folder.exists() else ():
        check_file(folder / name, inputs, overwrite=overwrite)


def write_report(folder: Path, tally: Tally, statistics: TextStatistics, command: str) -> None:
    fields = {name: found.as_json() for name, found in statistics.fields.items()}
    values = json.dumps({**tally.as_json(), "texts": fields}, ensure_ascii=False, indent=1)
    make_folder(folder)
    for name, text in zip(_FILES, (values, markdown(tally, statistics, command)), strict=True):
        write_text(folder / name, text)


def markdown(tally: Tally, statistics: TextStatistics, command: str) -> str:
    """Counts, and samples of each kind with their answers in bold."""
    config = tally.config
    lines = ["# Augmentation by translation", "", f"    {command}", ""]
    lines += [f"- {pair}: {engine}" for pair, engine in tally.engines.items()]
    lines += [f"- answers kept: {config.keep}", f"- questions of the data: {tally.questions:,}"]
    lines += ["", "| language | translated | kept | share | copies |", "|---|---:|---:|---:|---:|"]
    for language, counts in tally.languages.items():
        kept = f"{counts.kept:,} | {counts.kept_share:.1%}"
        lines.append(f"| {language} | {counts.asked:,} | {kept} | {counts.copies:,} |")
    for language, counts in tally.languages.items():
        for title, listed in (("lost", counts.lost), ("answer found by", counts.stages)):
            lines += ["", *(f"- {language}, {title}: {n:,} {what}" for what, n in listed.items())]
    lines += ["", "| texts | pairs | near-duplicates | mean length ratio |", "|---|---:|---:|---:|"]
    for name, found in statistics.fields.items():
        lines.append(f"| {name}s | {' | '.join(map(str, found.as_json().values()))} |")
    for kind, shown in statistics.samples.items():
        lines += ["", f"## {kind}"]
        for one in shown:
            old, new = one.source, one.new
            answers = old.answers or old.plausible_answers
            found_answers = (new.answers or new.plausible_answers) if new is not None else ()
            at = answers[0].start / max(1, len(old.context)) if answers else 0.0
            question = "" if new is None else _escaped(new.question)
            lines += ["", f"`{old.id}` → {one.language}", ""]
            lines += [f"- {_escaped(old.question)}", f"- {question}", ""]
            lines += [f"> {excerpt(old.context, answers, at)}", ""]
            lines += [f"> {excerpt(one.context, found_answers, at)}"]
    return "\n".join([*lines, ""])


def excerpt(text: str, answers: Sequence[Span], at: float) -> str:
    """The text around the first answer, or around a relative place, with the answers in bold."""
    middle = answers[0].start if answers else int(at * len(text))
    last = answers[0].end if answers else middle
    start, end = max(0, middle - _AROUND), min(len(text), last + _AROUND)
    if start > 0:  # begins and ends with whole words
        start = text.find(" ", start, middle) + 1 or start
    if end < len(text):
        end = text.rfind(" ", last, end) if text.rfind(" ", last, end) >= 0 else end
    shown, done = "…" if start > 0 else "", start
    for answer in sorted(set(answers), key=lambda span: (span.start, -span.end)):
        if answer.start < done or answer.end > end:
            continue
        shown += f"{_escaped(text[done : answer.start])}**{_escaped(answer.text)}**"
        done = answer.end
    return shown + _escaped(text[done:end]) + ("…" if end < len(text) else "")


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", re.sub(r"\s", " ", text))
