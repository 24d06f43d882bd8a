"""Read data files and write one with additional unanswerable questions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from readlet.augment.unanswerable_questions import (
    ALTERED_SHARE,
    check_fractions,
    grouped_by_paragraph,
    make_unanswerable,
)
from readlet.errors import bad_input
from readlet.formats import read_examples, write_examples
from readlet.formats.columns import PLAIN, DataFormat
from readlet.formats.unique_ids import warn_of_repeated_ids
from readlet.formats.writing import check_target


@dataclass(frozen=True, slots=True)
class Summary:
    """Counts of the written file; `kinds` counts the new questions by kind.

    `left` has the ids of questions without a suitable paragraph, `not_altered` those of questions
    that no rule could change, by reason.
    """

    questions: int
    impossible: int
    added: int
    wanted: int
    kinds: Mapping[str, int]
    left: Mapping[str, list[str]]
    not_altered: Mapping[str, list[str]]

    @property
    def share(self) -> float:
        return self.impossible / self.questions

    def as_json(self) -> dict[str, Any]:
        return {
            "questions": self.questions,
            "impossible": self.impossible,
            "share": self.share,
            "added": self.added,
            "wanted": self.wanted,
            "kinds": dict(self.kinds),
            "left": dict(self.left),
            "not_altered": dict(self.not_altered),
        }


def add_unanswerable(
    sources: Sequence[str],
    out: Path,
    share: float,
    seed: int,
    data_format: DataFormat = PLAIN,
    altered: float = ALTERED_SHARE,
    *,
    overwrite: bool = False,
) -> Summary:
    """Write the questions of all sources and new unanswerable ones to one file."""
    check_fractions(share, altered)
    check_target(out, sources, overwrite=overwrite)
    examples = [example for source in sources for example in read_examples(source, data_format)]
    # Repeated ids are kept: they identify translations of a question, which must not be paired.
    warn_of_repeated_ids(examples, "they repeat in the new file")
    made = make_unanswerable(examples, share, seed, altered)
    changed, paired, added = made.changed, made.paired, made.added
    if not examples or (made.wanted and not added):
        reasons = (f"{len(ids):,} {reason}" for reason, ids in paired.left.items())
        fault = f"no question can be paired ({', '.join(reasons) or 'there are none'})"
        remedy = (
            "give articles with a title and at least two paragraphs "
            "(in rows: a column 'title', or --column title=NAME)"
        )
        raise bad_input(", ".join(sources), "", fault, remedy)
    write_examples(out, grouped_by_paragraph(examples, added))
    return Summary(
        questions=len(examples) + len(added),
        impossible=sum(example.is_impossible for example in examples) + len(added),
        added=len(added),
        wanted=made.wanted,
        kinds={kind: len(ids) for kind, ids in {**changed.kinds, **paired.kinds}.items()},
        left=paired.left,
        not_altered=changed.left,
    )
