"""Models as functions from columns to columns, for Ray Data, Spark, Daft and `datasets`.

Only their settings are pickled; each process loads the model once, with its first batch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from readlet.errors import ReadletError
from readlet.inference.classifier import Classifier
from readlet.inference.inputs import DEFAULTS, Answerer, AnswerOptions
from readlet.inference.reader import load_reader
from readlet.inference.trained_model import AUTO

_Columns = dict[str, tuple[Sequence[Any], type]]
"""New columns by name: their values, and of which type an array of them is."""


@dataclass(frozen=True)
class AnswerColumns:
    """The answers to the questions of a batch, as additional columns.

    These are `answer`, `answer_start`, `answer_end`, `answer_score`, `no_answer` and `abstained`. A
    batch is a dict of lists or arrays, or a DataFrame; the result is of the same kind.

    >>> from readlet.cluster.columns import AnswerColumns
    >>> batch = {"question": ["When?"], "context": ["It was built in 1881."]}
    >>> AnswerColumns("bundled")(batch)["answer"]
    ['1881']
    """

    reader: str = "bundled"
    question: str = "question"
    """The name of the column."""
    context: str = "context"
    options: AnswerOptions = DEFAULTS
    device: str = AUTO
    prefix: str = ""
    """Prefix of the new columns, if the data has columns of these names."""

    def __call__(self, batch: Any) -> Any:
        asked = zip(_texts(batch, self.question), _texts(batch, self.context), strict=True)
        found = list(_reader(self.reader, self.device).answer_batch(asked, self.options))
        made: _Columns = {
            "answer": ([one.text for one in found], object),
            "answer_start": ([one.start for one in found], int),
            "answer_end": ([one.end for one in found], int),
            "answer_score": ([one.score for one in found], float),
            "no_answer": ([one.no_answer for one in found], float),
            "abstained": ([one.abstained for one in found], bool),
        }
        return _with(batch, made, self.prefix)


@dataclass(frozen=True)
class ClassifyColumns:
    """The labels of the texts of a batch: columns `label` and `probability`.

    A regression model has its values as `label`, and no `probability`. Batches are as for
    `AnswerColumns`.
    """

    classifier: str
    text: str = "text"
    """The name of the column."""
    second: str = ""
    """The name of the column of second texts, for a classifier of pairs."""
    device: str = AUTO
    prefix: str = ""
    """Prefix of the new columns, if the data has columns of these names."""

    def __call__(self, batch: Any) -> Any:
        firsts = _texts(batch, self.text)
        given = zip(firsts, _texts(batch, self.second), strict=True) if self.second else firsts
        classifier = _classifier(self.classifier, self.device)
        found = list(classifier.predict_batch(given))
        made: _Columns = {"label": ([one.label for one in found], object)}
        if classifier.classes:
            made["probability"] = ([one.probability for one in found], float)
        return _with(batch, made, self.prefix)


@cache
def _reader(name: str, device: str) -> Answerer:
    return load_reader(name, device=device)


@cache
def _classifier(name: str, device: str) -> Classifier:
    return Classifier.load(name, device=device)


def _texts(batch: Any, name: str) -> list[str]:
    if not isinstance(batch, Mapping) and not hasattr(batch, "assign"):
        kinds = "give a dict of lists or arrays, or a DataFrame of pandas"
        raise ReadletError(f"batch: is a {type(batch).__name__}; {kinds}")
    try:
        texts = [*batch[name]]
    except KeyError:
        remedy = "name the column when you make it: AnswerColumns(question='...')"
        raise ReadletError(f"column {name!r}: not in the batch; {remedy}") from None
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            fault = f"column {name!r}: {text!r:.40} in row {number} of a batch is not text"
            raise ReadletError(f"{fault}; fill in a text, or leave the row out")
    return texts


def _with(batch: Any, made: _Columns, prefix: str) -> Any:
    """The batch with more columns, of the same type."""
    named = {f"{prefix}{name}": values for name, values in made.items()}
    if taken := [name for name in named if name in batch]:
        raise ReadletError(f"column {taken[0]!r}: is in the batch already; give a prefix")
    # Types are named: those of an empty batch cannot be told from its values.
    arrays: dict[str, Any] = {n: np.array(values, dtype) for n, (values, dtype) in named.items()}
    if hasattr(batch, "assign"):  # a DataFrame, whose columns of text have a type of their own
        texts = {name: "str" for name, (_, dtype) in named.items() if dtype is object}
        return batch.assign(**arrays).astype(texts)
    if any(isinstance(batch[name], np.ndarray) for name in batch):
        return {**batch, **arrays}
    return {**batch, **{name: values for name, (values, _) in named.items()}}
