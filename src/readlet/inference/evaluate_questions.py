"""From files or a reader to an evaluation (`readlet evaluate`).

One reader on several sets of questions: a row for each, and one for all together.
"""

import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from readlet.console import track
from readlet.data import read_examples
from readlet.data.columns import PLAIN, DataFormat
from readlet.data.datasets import input_path, warn_of_repeated_ids, with_own_ids
from readlet.errors import ReadletError, bad_input
from readlet.evaluation.evaluation import Evaluation, evaluate
from readlet.evaluation.squad import Rules
from readlet.inference.inputs import DEFAULTS, Answerer, AnswerOptions
from readlet.inference.prediction_files import has_rows, read_field
from readlet.inference.reader import load_reader
from readlet.inference.trained_model import AUTO, BASELINE, reader_folder
from readlet.storage.files import atomic_text, text_chunks
from readlet.storage.overwrite import check_file
from readlet.types import Example, Prediction

T = TypeVar("T")
_OTHER_FORMATS = (".csv", ".tsv", ".jsonl", ".parquet")


def check_saved(save: Path | None, inputs: Sequence[Path], *, overwrite: bool) -> None:
    """Check that predictions may be written, as JSON."""
    if save is not None:
        check_file(save, inputs, overwrite=overwrite)
    if save is not None and save.suffix.lower() in _OTHER_FORMATS:
        remedy = "give a name that ends in .json; `readlet predict` writes rows"
        raise bad_input(save, "", "predictions are saved as JSON", remedy)


def evaluate_questions(
    data: str,
    *,
    reader: str | None = None,
    options: AnswerOptions = DEFAULTS,
    predictions: Path | None = None,
    na_probs: Path | None = None,
    na_threshold: float | None = None,
    against: Path | None = None,
    rules: Rules | None = None,
    save: Path | None = None,
    overwrite: bool = False,
    data_format: DataFormat = PLAIN,
    device: str = AUTO,
) -> Evaluation:
    """Score a reader, or a file of predictions, on the questions of a file.

    `na_probs` is a file of no-answer probabilities, which replace the reader's own: above
    `na_threshold` a question has no answer. `save` is a file for the predictions.

    >>> evaluation = evaluate_questions("bundled:test", reader="baseline")
    >>> round(evaluation.official["f1"], 1)
    8.8
    """
    _check_options(options, reader, na_probs, na_threshold)
    given_files = (input_path(data), predictions, na_probs, against)
    readers = [reader_folder(reader)] if reader not in (None, BASELINE) else []
    inputs = [*readers, *(path for path in given_files if path is not None)]
    check_saved(save, inputs, overwrite=overwrite)
    given = read_predictions(predictions) if predictions else {}
    probabilities = read_probabilities(na_probs) if na_probs else None
    other = read_predictions(against) if against else None
    as_read = [options.in_languages(example) for example in read_examples(data, data_format)]
    examples = with_own_ids(as_read)
    numbers = {e.id: old.id for e, old in zip(examples, as_read, strict=True) if e.id != old.id}
    if reader is None and not any(number in given for number in numbers):
        # By the original ids, as in the official scripts.
        warn_of_repeated_ids(as_read, "one prediction for several questions")
        examples = as_read
    else:
        warn_of_repeated_ids(as_read, "a number is appended")
        probabilities = probabilities and _with_numbers(probabilities, numbers)
        other = other and _with_numbers(other, numbers)
    if not examples:
        raise bad_input(data, "", "contains no questions", "give data with questions")
    limit = 1.0 if na_threshold is None else na_threshold
    if reader is None:
        return evaluate(
            examples,
            given,
            na_probs=probabilities,
            na_threshold=limit,
            against=other,
            rules=rules,
        )
    predicted = predict(load_reader(reader, device=device), examples, options)
    doubts = options.unanswerable_share != 0.0
    if probabilities is not None:  # they are used instead of the reader's
        predicted = {
            key: p.at_threshold(0.0 if probabilities.get(key, 0.0) > limit else 1.0)
            for key, p in predicted.items()
        }
    if save is not None:
        write_predictions(save, {key: p.text for key, p in predicted.items()})
    return evaluate_reader(
        examples, predicted, doubts=probabilities or doubts, against=other, rules=rules
    )


def evaluate_reader(
    examples: Sequence[Example],
    predicted: Mapping[str, Prediction],
    *,
    doubts: Mapping[str, float] | bool = True,
    against: Mapping[str, str] | None = None,
    rules: Rules | None = None,
) -> Evaluation:
    """Score the predictions of a reader by their ids.

    The best threshold of SQuAD 2.0 is sought among all best answers, given or not. `doubts` are
    other no-answer probabilities for it, or False: every passage was assumed to have an answer.
    """
    if doubts is True:
        doubts = {key: p.no_answer for key, p in predicted.items()}
    return evaluate(
        examples,
        {key: p.n_best[0].text if p.n_best else "" for key, p in predicted.items()},
        na_probs=doubts or None,
        abstained={key for key, p in predicted.items() if p.abstained},
        against=against,
        rules=rules,
        confidences={key: p.confidence for key, p in predicted.items()},
    )


def _check_options(
    options: AnswerOptions, reader: str | None, na_probs: Path | None, na_threshold: float | None
) -> None:
    """Reject options that would have no effect."""
    if reader is None and (options.language or options.question_language):
        raise ReadletError("--language: not with a file of predictions; name a reader instead")
    if options.unanswerable_share is not None and (reader is None or na_probs is not None):
        remedy = "name a reader" if reader is None else "leave out --na-probs"
        raise ReadletError(f"--unanswerable-share: moves a reader's own probabilities; {remedy}")
    if options.min_confidence != DEFAULTS.min_confidence and (
        reader is None or na_probs is not None
    ):
        remedy = "name a reader" if reader is None else "leave out --na-probs"
        raise ReadletError(f"--min-confidence: a level of a reader's confidence; {remedy}")
    # The numbers of a file may have any range, log-odds for example.
    if na_threshold is not None and (na_probs is None or not math.isfinite(na_threshold)):
        raise ReadletError(f"--threshold: {na_threshold!r:.40}; give a number that fits --na-probs")


def _with_numbers(values: dict[str, T], numbers: Mapping[str, str]) -> dict[str, T]:
    """Files without the numbers appended to repeated ids: use the values of the original ids."""
    old = {number: values[own] for number, own in numbers.items() if own in values}
    return old | values


def predict(
    reader: Answerer, examples: Sequence[Example], options: AnswerOptions = DEFAULTS
) -> dict[str, Prediction]:
    """The reader's prediction for every question, by id, with a progress bar."""
    predictions = track(reader.answer_batch(examples, options), len(examples), reader.name)
    return {e.id: prediction for e, prediction in zip(examples, predictions, strict=True)}


def read_predictions(path: Path) -> dict[str, str]:
    """The texts of {"id": "text"}, or of the rows that `readlet predict` writes."""
    return read_by_id(path, "text", "a text for every id", lambda v: isinstance(v, str))


def read_probabilities(path: Path) -> dict[str, float]:
    """The no-answer probabilities of {"id": 0.3}, or of the rows that `readlet predict` writes."""

    def is_number(value: Any) -> bool:
        # Comparisons with NaN are false: it would silently spoil the thresholds. True is an int.
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        return abs(value) <= sys.float_info.max

    return read_by_id(path, "no_answer", "a number for every id", is_number)


def write_predictions(path: Path, predictions: Mapping[str, str]) -> None:
    with atomic_text(path) as stream:
        json.dump(predictions, stream, ensure_ascii=False, indent=0)


def read_by_id(
    path: Path, field: str, wanted: str, is_right: Callable[[Any], bool]
) -> dict[str, Any]:
    """The values of a JSON object, or of a field of rows."""
    values = read_field(path, field) if has_rows(path) else _read_json_object(path, wanted)
    return _checked(path, values, wanted, is_right)


def _read_json_object(path: Path, wanted: str) -> dict[str, Any]:
    text = "".join(text_chunks(path))
    try:
        values = json.loads(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise bad_input(path, place, error.msg, "write one JSON object") from None
    except (RecursionError, ValueError):  # nested too deeply, or a number of too many digits
        raise bad_input(path, "", f"is not {wanted}", "write one JSON object") from None
    if not isinstance(values, dict):
        raise bad_input(path, "", f"is a {type(values).__name__}", f"write an object: {wanted}")
    return values


def _checked(
    path: Path, values: dict[str, Any], wanted: str, is_right: Callable[[Any], bool]
) -> dict[str, Any]:
    for identity, value in values.items():
        if not is_right(value):
            fault = f"is {value!r:.40}"
            raise bad_input(path, f"id {identity!r}", fault, f"give {wanted}")
    return values


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
    options: AnswerOptions = DEFAULTS,
    rules: Rules | None = None,
    data_format: DataFormat = PLAIN,
    device: str = AUTO,
) -> SeveralEvaluations:
    """Score a reader on the questions of each file; all are read before the first answer."""
    parts: dict[str, Sequence[Example]] = {}
    for file in files:
        if file in parts:
            raise bad_input(file, "", "is given twice", "name each file once")
        read = list(read_examples(file, data_format))
        if not read:
            raise bad_input(file, "", "contains no questions", "give data with questions")
        warn_of_repeated_ids(read, "a number is appended")
        parts[file] = [options.in_languages(example) for example in with_own_ids(read)]
    return evaluate_parts(load_reader(reader, device=device), parts, options, rules=rules)


def evaluate_parts(
    reader: Answerer,
    parts: Mapping[str, Sequence[Example]],
    options: AnswerOptions = DEFAULTS,
    *,
    rules: Rules | None = None,
) -> SeveralEvaluations:
    """Score a reader on sets of questions by name. Ids are unique within a set.

    Without `rules`, each set is scored by the rules that it would have alone.
    """
    # Numbered: two sets may have the same ids.
    numbered = {
        name: [replace(example, id=f"{number}:{example.id}") for example in part]
        for number, (name, part) in enumerate(parts.items(), 1)
    }
    every = [example for part in numbered.values() for example in part]
    predicted = predict(reader, every, options)

    def scored(part: Sequence[Example]) -> Evaluation:
        own = {example.id: predicted[example.id] for example in part}
        return evaluate_reader(part, own, doubts=options.unanswerable_share != 0.0, rules=rules)

    return SeveralEvaluations(
        {name: scored(part) for name, part in numbered.items()}, scored(every)
    )
