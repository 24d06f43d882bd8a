"""What to translate, and into which languages; and the nine published experiments."""

import re
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal, get_args

from readlet.augmentation.relocation.probe_texts import Keep
from readlet.augmentation.translation.types import LanguagePair, Route
from readlet.errors import ReadletError
from readlet.types import Example

Field = Literal["question", "context"]
"""What is translated. Answers are translated with the context."""

_CODE = re.compile(r"[a-z]{2,3}")  # ISO 639


def draw(example: Example, seed: int, *purpose: str) -> bytes:
    """A random number per question that does not depend on the process or the order."""
    text = "\0".join((str(seed), example.id, example.question, example.context, *purpose))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class AugmentationConfig:
    """How new questions are made from old ones by translation.

    >>> AugmentationConfig(to=("es",), back=True, min_quality=0.8).fields
    ('question', 'context')
    """

    to: tuple[str, ...]
    """The languages to translate into; a new question for each of them."""
    source: str = "en"
    """The language of the data. Questions on contexts in another language are left unchanged."""
    fields: tuple[Field, ...] = get_args(Field)
    """The texts to translate; the others are left unchanged."""
    back: bool = False
    """Translate back into the language of the data: a paraphrase."""
    merge: bool = True
    """Write the old questions, too."""
    share: float = 1.0
    """The fraction of the old questions from which new ones are made."""
    seed: int = 0
    """Random seed of that fraction."""
    keep: Keep = "verified"
    """Which answers are kept."""
    min_quality: float = 0.0
    """Back-translated questions below this quality are dropped."""

    def __post_init__(self) -> None:
        if not self.to:
            raise ReadletError("no language to translate into; name one, such as --to es")
        for code in (self.source, *self.to):
            if not _CODE.fullmatch(code):
                raise ReadletError(f"language {code!r:.40}: not an ISO 639 code; give one like es")
        if self.source in self.to:
            fault = f"language {self.source!r}: that is the language of the data"
            raise ReadletError(f"{fault}; give another, or name the data's own with --from")
        _check_choices("field", self.fields, get_args(Field))
        _check_choices("keep", (self.keep,), get_args(Keep))
        if len(set(self.to)) < len(self.to):
            raise ReadletError(f"languages {', '.join(self.to)}: one is given twice; give it once")
        if not 0 <= self.min_quality <= 1 or (self.min_quality and not self.back):
            fault = f"min-quality {self.min_quality}: not from 0 to 1, with back-translation"
            raise ReadletError(f"{fault}; give a number such as 0.8, with --back")
        if not 0 < self.share <= 1:
            raise ReadletError(
                f"share {self.share}: not above 0 and up to 1; give a fraction such as 0.5"
            )

    def route(self, language: str) -> Route:
        """The translations that a text goes through for one of the languages."""
        there = LanguagePair(self.source, language)
        return (there, LanguagePair(language, self.source)) if self.back else (there,)

    def name(self, language: str) -> str:
        """The suffix that turns the id of an old question into that of a new one."""
        return f"{language}-back" if self.back else language

    def language(self, language: str) -> str:
        """The language of a new question: that of its context, which holds its answer."""
        return self.source if self.back or "context" not in self.fields else language

    def question_language(self, language: str) -> str:
        """The language that the text of a new question is in; empty if it is that of its context.

        Back-translated texts are in the language of the data again.
        """
        if self.back or len(self.fields) > 1:
            return ""
        return language if "question" in self.fields else self.source


def _check_choices(what: str, given: tuple[str, ...], known: tuple[str, ...]) -> None:
    wrong = [name for name in given if name not in known]
    if wrong or not given or len(set(given)) < len(given):
        shown = ", ".join(given) or "none"
        raise ReadletError(f"{what} {shown!r:.60}: unknown or repeated; known: {', '.join(known)}")


def _experiment(to: str, fields: str, *, back: bool = False) -> dict[str, Any]:
    return {"to": tuple(to.split()), "fields": tuple(fields.split()), "back": back}


PRESETS = {
    "A1": _experiment("fr", "question", back=True),
    "B1": _experiment("fr", "context", back=True),
    "C1": _experiment("fr", "question context", back=True),
    "B2": _experiment("de", "context", back=True),
    "F2": _experiment("fr de", "context", back=True),
    "D1": _experiment("fr", "context"),
    "D2": _experiment("de", "context"),
    "D3": _experiment("es", "context"),
    "F1": _experiment("fr de", "context"),
}
"""The experiments of Signorelli and Sirocchi as fields of a configuration; answers go with their
contexts. Their data is English; the old questions are kept."""


def preset(name: str) -> dict[str, Any]:
    if name not in PRESETS:
        raise ReadletError(f"preset {name!r:.40}: unknown; known: {', '.join(PRESETS)}")
    return PRESETS[name]
