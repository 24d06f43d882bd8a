"""Counts of kept and lost questions, by reason; a report as JSON and as a page of samples."""

import json
import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from readlet.augmentation.config import AugmentationConfig
from readlet.augmentation.translated_questions import COPY, Translated
from readlet.storage.files import write_text
from readlet.storage.overwrite import check_file, check_folder, make_folder
from readlet.types import Span


@dataclass(slots=True)
class LanguageTally:
    """Counts of one language. Copies of the source are dropped, but do not count as lost."""

    kept: int = 0
    kept_impossible: int = 0
    copies: int = 0
    lost: Counter[str] = field(default_factory=Counter)  # by reason
    # Answers of the questions that are kept: located, by the most certain stage, and lost.
    stages: Counter[str] = field(default_factory=Counter)
    lost_answers: Counter[str] = field(default_factory=Counter)
    # Of back-translated questions that are not copies, in percent.
    qualities: Counter[int] = field(default_factory=Counter)

    @property
    def asked(self) -> int:
        """The questions that were translated."""
        return self.kept + self.copies + self.lost.total()

    @property
    def kept_share(self) -> float:
        """Of all except the copies."""
        return self.kept / max(1, self.kept + self.lost.total())

    def quality(self) -> dict[str, float]:
        """The median of the qualities, and the share below each tenth; empty if there are none."""
        listed = sorted(self.qualities.elements())
        if not listed:
            return {}
        below = {
            f"below {t / 10}": sum(q < 10 * t for q in listed) / len(listed) for t in (6, 7, 8)
        }
        return {"median": listed[len(listed) // 2] / 100, **below}

    def add(self, one: Translated) -> None:
        if one.quality is not None and one.reason != COPY:
            self.qualities[int(100 * one.quality)] += 1
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


@dataclass(slots=True)
class Tally:
    """Counts of all questions, of those left unchanged, and of each language."""

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
                    "quality": counts.quality(),
                    "lost": dict(counts.lost.most_common()),
                    "stages": dict(counts.stages.most_common()),
                    "lost_answers": dict(counts.lost_answers.most_common()),
                }
                for language, counts in self.languages.items()
            },
        }


SAMPLES = 6  # of each kind
_FILES = ("augmentation.json", "augmentation.md")
_AROUND = 240  # characters of a context shown on each side of an answer
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|])")  # they have a meaning in Markdown


class Samples:
    """A few questions of each kind, drawn at random."""

    def __init__(self, seed: int) -> None:
        self.listed: dict[str, list[Translated]] = {}  # by kind
        self._seen: Counter[str] = Counter()
        self._random = random.Random(seed)

    def add(self, one: Translated) -> None:
        if one.reason == COPY:
            return
        kind = _kind(one)
        self._seen[kind] += 1
        shown = self.listed.setdefault(kind, [])
        if len(shown) < SAMPLES:
            shown.append(one)
        elif (place := self._random.randrange(self._seen[kind])) < SAMPLES:
            shown[place] = one


def _kind(one: Translated) -> str:
    """The stage that found the answer; otherwise the kind of question."""
    if one.new is None:
        return f"Lost: {one.reason}"
    if one.relocated is None:
        return "Kept: context unchanged"
    if not one.relocated.answers:
        return "Kept: no answer"
    return f"Kept: {one.relocated.answers[0].stages[0]}"


def check_report(folder: Path, inputs: Sequence[Path] = (), *, overwrite: bool = False) -> None:
    """Check that the report may be written."""
    check_folder(folder, None)
    for name in _FILES if folder.exists() else ():
        check_file(folder / name, inputs, overwrite=overwrite)


def write_report(folder: Path, tally: Tally, samples: Samples, command: str) -> None:
    make_folder(folder)
    values = json.dumps(tally.as_json(), ensure_ascii=False, indent=1)
    for name, text in zip(_FILES, (values, markdown(tally, samples, command)), strict=True):
        write_text(folder / name, text)


def markdown(tally: Tally, samples: Samples, command: str) -> str:
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
    for kind, shown in sorted(samples.listed.items()):  # kept ones, then lost ones
        lines += ["", f"## {kind}"]
        for one in shown:
            old, new = one.source, one.new
            answers, found_answers = old.answers, () if new is None else new.answers
            at = answers[0].start / max(1, len(old.context)) if answers else 0.0
            question = "" if new is None else _escaped(new.question)
            quality = "" if one.quality is None else f", quality {one.quality:.2f}"
            lines += ["", f"`{old.id}` → {one.language}{quality}", ""]
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
