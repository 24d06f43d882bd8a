"""Counts of what became of the questions: law 7 for augmentation by translation."""

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

from readlet.augment.plan import Plan
from readlet.augment.translated_questions import COPY, Translated

OTHER_LANGUAGE = "in another language"
NOT_SAMPLED = "not in the sample"


@dataclass(slots=True)
class LanguageTally:
    """Questions in one of the languages of a plan. Copies are no losses: they are not new data."""

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

    plan: Plan
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
            "plan": asdict(self.plan),
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
