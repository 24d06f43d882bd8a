"""One reader on several sets of questions: a row for each, and one for all together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from readlet.data import read_examples
from readlet.data.columns import PLAIN, DataFormat
from readlet.data.datasets import warn_of_repeated_ids, with_own_ids
from readlet.errors import bad_input
from readlet.evaluation.evaluation import Evaluation, evaluate
from readlet.evaluation.squad import Rules
from readlet.reading.asked import check_languages, in_languages
from readlet.reading.devices import AUTO
from readlet.reading.evaluate_files import confidences_of, predict
from readlet.reading.reader import load_reader
from readlet.reading.reader_names import Answerer
from readlet.types import Example, Prediction, check_refusals


@dataclass(frozen=True)
class SeveralEvaluations:
    """The evaluation of each set, in the order given, and of all their questions together."""

    parts: dict[str, Evaluation]
    together: Evaluation

    def as_json(self) -> dict[str, Any]:
        rows = [{"file": name} | evaluation.as_json() for name, evaluation in self.parts.items()]
        return {"files": rows, "together": self.together.as_json()}


def evaluate_several(
    reader: str,
    files: Sequence[str],
    *,
    threshold: float | None = None,
    impossible_share: float | None = None,
    always_answer: bool = False,
    rules: Rules | None = None,
    language: str = "",
    question_language: str = "",
    data_format: DataFormat = PLAIN,
    device: str = AUTO,
) -> SeveralEvaluations:
    """Score a reader on the questions of each file; all are read before the first answer."""
    check_refusals(threshold, impossible_share, always_answer)
    check_languages(language, question_language)
    parts: dict[str, Sequence[Example]] = {}
    for file in files:
        if file in parts:
            raise bad_input(file, "", "is given twice", "name each file once")
        read = list(read_examples(file, data_format))
        if not read:
            raise bad_input(file, "", "contains no questions", "give data with questions")
        warn_of_repeated_ids(read, "a number is appended")
        parts[file] = [in_languages(e, language, question_language) for e in with_own_ids(read)]
    return evaluate_parts(
        load_reader(reader, device=device),
        parts,
        threshold=threshold,
        impossible_share=impossible_share,
        always_answer=always_answer,
        rules=rules,
    )


def evaluate_parts(
    reader: Answerer,
    parts: Mapping[str, Sequence[Example]],
    *,
    threshold: float | None = None,
    impossible_share: float | None = None,
    always_answer: bool = False,
    rules: Rules | None = None,
) -> SeveralEvaluations:
    """Score a reader on sets of questions by name. Ids are unique within a set.

    Without `rules`, each set has those that it would have alone.
    """
    # Numbered: two sets may have the same ids.
    numbered = {
        name: [replace(example, id=f"{number}:{example.id}") for example in part]
        for number, (name, part) in enumerate(parts.items(), 1)
    }
    every = [example for part in numbered.values() for example in part]
    predicted = predict(
        reader,
        every,
        # Refusals are applied at the end, so that the best threshold is sought among all answers.
        threshold=None if always_answer else 1.0,
        impossible_share=impossible_share,
        always_answer=always_answer,
    )
    limit = reader.no_answer_threshold if threshold is None else threshold

    def scored(part: Sequence[Example]) -> Evaluation:
        own: dict[str, Prediction] = {example.id: predicted[example.id] for example in part}
        no_answer = {} if always_answer else {key: p.no_answer for key, p in own.items()}
        refused = {key for key, value in no_answer.items() if value > limit}
        return evaluate(
            part,
            {key: p.text for key, p in own.items()},
            na_probs=no_answer or None,
            na_threshold=limit,
            rules=rules,
            confidences=confidences_of(own, refused),
        )

    return SeveralEvaluations(
        {name: scored(part) for name, part in numbered.items()}, scored(every)
    )
