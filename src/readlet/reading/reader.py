"""Reader: load, answer, save. The one object that most users need."""

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from readlet.errors import bad_input
from readlet.reading.asked import MAX_PASSAGES, Asked, as_examples, asked_of, check_languages
from readlet.reading.devices import AUTO, chosen_device
from readlet.reading.reader_names import (
    BASELINE,
    BUNDLED,
    Answerer,
    warn_of_same_named_folder,
)
from readlet.reading.trained_model import TrainedModel, read_model
from readlet.types import N_BEST, Example, Prediction, check_n_best, check_threshold

if TYPE_CHECKING:
    from readlet.families.family import SpanScorer
    from readlet.metrics.task import Task
    from readlet.reading.calibration import Calibration
    from readlet.reading.documents import Documents, Found, Passages
    from readlet.reading.model_card import CardParts

# Questions encoded at once: enough to sort them by length, few enough to bound the memory.
CHUNK = 512


@dataclass(repr=False)
class Reader(TrainedModel):
    """A trained reader: a scorer of any kind, its calibration, and its device."""

    kind_of_task = "spans"

    scorer: "SpanScorer"
    calibration: "Calibration"

    @property
    def task(self) -> "Task":
        from readlet.metrics.span_task import SPANS

        return SPANS

    def card_parts(self) -> "CardParts":
        from readlet.reading.model_card import reader_parts

        return reader_parts(self)

    @property
    def no_answer_threshold(self) -> float:
        """Above this no-answer probability the reader refuses to answer."""
        return self.calibration.no_answer_threshold

    def answer(
        self,
        question: str,
        context: str,
        n_best: int = N_BEST,
        *,
        threshold: float | None = None,
        always_answer: bool = False,
        language: str = "",
        question_language: str = "",
    ) -> Prediction:
        """The answer to a question, with its offsets in the context, or a refusal.

        It refuses if the no-answer probability is above `threshold`, by default the reader's own;
        at 1 it never does. With `always_answer` the context is taken to have an answer: the
        no-answer probability is 0, and the scores are probabilities given that there is one.
        A reader with several languages guesses that of the context and of the question unless
        they are given, as codes such as "es".
        """
        check_languages(language, question_language)
        asked = Example(
            "", question, context, language=language, question_language=question_language
        )
        (prediction,) = self.answer_batch(
            [asked_of(asked)], n_best, threshold=threshold, always_answer=always_answer
        )
        return prediction

    def answer_batch(
        self,
        pairs: Iterable[Asked],
        n_best: int = N_BEST,
        *,
        threshold: float | None = None,
        always_answer: bool = False,
    ) -> Iterator[Prediction]:
        """Predictions in the order of the pairs; any number of them in constant memory.

        Pairs are (question, context), or dicts with "question" and "context", and "language" and
        "question_language" where they are known. `threshold` and `always_answer` decide about
        refusals as in `answer`. After the last one a warning reports how many questions were too
        long to be read whole.
        """
        from readlet.encoding.rows import LONG_QUESTION
        from readlet.reading.predictor import Predictor

        check_n_best(n_best)
        check_threshold(threshold, always_answer)
        predictor = Predictor(
            self.scorer, self.calibration, self.rows_at_once, n_best, threshold, always_answer
        )
        remaining = as_examples(pairs)
        cut = 0
        while examples := list(islice(remaining, CHUNK)):
            rows = self.scorer.encoder.encode(examples)
            cut += len(rows.notes.get(LONG_QUESTION, ()))
            yield from predictor.predict(examples, rows)
        if cut:
            warnings.warn(f"{cut:,} × {LONG_QUESTION}", stacklevel=2)

    def answer_any(
        self,
        question: str,
        passages: "Passages | Documents",
        n_best: int = N_BEST,
        *,
        max_passages: int = MAX_PASSAGES,
        threshold: float | None = None,
        always_answer: bool = False,
        language: str = "",
        question_language: str = "",
    ) -> "list[Found]":
        """The answers that many texts give to one question, best first, each with its text's key.

        `passages` is a sequence of texts, or a mapping from names to texts; `Documents` of them
        saves time if several questions are asked. The `max_passages` pieces that share the rarest
        words with the question are read; see `Documents.answer` for the order, refusals and limits.
        """
        from readlet.reading.documents import Documents

        documents = passages if isinstance(passages, Documents) else Documents(passages)
        return documents.answer(
            self,
            question,
            n_best=n_best,
            max_passages=max_passages,
            threshold=threshold,
            always_answer=always_answer,
            language=language,
            question_language=question_language,
        )

    @classmethod
    def load(
        cls, folder: str | Path = BUNDLED, *, device: str = AUTO, batch_size: int = 0
    ) -> "Reader":
        """Read a reader's folder, or the `bundled` one; nothing in it is executed.

        `device` is where it computes ("cpu", "cuda", "cuda:1", "mps"); by default a GPU when there
        is one. `batch_size` is how many rows are scored at once, by default a number that suits
        the device.
        """
        from readlet.reading.calibration import Calibration
        from readlet.storage.damage import damage_of

        found = read_model(folder, "spans", device=device, batch_size=batch_size)
        with damage_of(found.path / "calibration.json"):
            calibration = Calibration.from_json(found.calibration)
        return cls(
            found.scorer,
            found.recipe,
            calibration,
            found.metrics,
            found.notice,
            found.device,
            batch_size,
        )


def load_reader(name: str, *, device: str = AUTO, batch_size: int = 0) -> Answerer:
    """A reader by name or folder; `baseline` needs no training, `bundled` is already trained."""
    if name == BASELINE:
        if device != AUTO:  # it computes on the CPU, but a wrong name is still an error
            chosen_device(device)
        from readlet.reading.baseline import LexicalBaseline

        warn_of_same_named_folder(BASELINE)
        return LexicalBaseline()
    if name != BUNDLED and not (Path(name) / "config.json").is_file():
        remedy = f"give a reader's folder, `{BUNDLED}` or `{BASELINE}`"
        raise bad_input(name, "", "no reader there", remedy)
    return Reader.load(name, device=device, batch_size=batch_size)
