"""Counts of kept and lost questions, by reason."""

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

from readlet.augmentation.config import AugmentationConfig
from readlet.augmentation.translated_questions import COPY, Translated


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
