"""Reader: load, answer, save. The one object that most users need."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from readlet.errors import ReadletError, bad_input, warn_caller
from readlet.inference.inputs import (
    DEFAULTS,
    MAX_PASSAGES,
    Answerer,
    AnswerOptions,
    Asked,
    OptionKeywords,
    as_examples,
)
from readlet.inference.trained_model import (
    AUTO,
    BASELINE,
    BUNDLED,
    TrainedModel,
    chosen_device,
    read_model,
    reader_folder,
)
from readlet.text.languages import checked_codes
from readlet.types import Example, Prediction

if TYPE_CHECKING:
    from readlet.evaluation.task import Task
    from readlet.inference.calibration import Calibration, DocumentOdds
    from readlet.inference.decoding import AnswerChunk, Answered
    from readlet.inference.documents import Documents, Found, Passages
    from readlet.models.family import SpanScorer

MapChunks = Callable[
    ["AnswerChunk", Iterator[list[Example]]],
    Iterator["Answered"],
]
# Questions encoded at once: enough to sort them by length, few enough to bound the memory.
CHUNK = 512


@dataclass(repr=False)
class Reader(TrainedModel, Answerer):
    """A trained reader: it finds the answer to a question in a text, or abstains.

    >>> reader = Reader.load()
    >>> found = reader.answer("When was it patented?", "The kettle was patented in 1891.")
    >>> found.text, found.start, found.end
    ('1891', 27, 31)
    """

    kind_of_task = "spans"

    scorer: "SpanScorer"
    calibration: "Calibration"
    languages: tuple[str, ...] = ()
    """Languages of its training passages, as codes; empty: unknown."""

    def config(self) -> dict[str, Any]:
        return super().config() | {"languages": list(self.languages)}

    @property
    def task(self) -> "Task":
        from readlet.evaluation.squad import SPANS

        return SPANS

    @property
    def takes_unanswerable_share(self) -> bool:
        """Whether `unanswerable_share` moves its no-answer probability: whether it has one."""
        return self.scorer.can_abstain

    @property
    def document_odds(self) -> "DocumentOdds":
        return self.calibration.documents

    def answer_batch(
        self,
        asked: Iterable[Asked],
        options: AnswerOptions = DEFAULTS,
        **given: Unpack[OptionKeywords],
    ) -> Iterator[Prediction]:
        """Predictions in the order of the questions; any number of them in constant memory.

        A question is a pair (question, context), a dict with "question" and "context", and
        "language" and "question_language" where they are known, or an `Example`. The options may be
        given as keyword arguments. After the last one warnings report how many questions were
        empty, too long to be read whole, or in a language that the reader was not trained on.

        >>> text = "Ada Brook built the kiln in 1881."
        >>> asked = [("Who built the kiln?", text), ("When was it built?", text)]
        >>> [found.text for found in Reader.load().answer_batch(asked)]
        ['Ada Brook', '1881']
        """
        yield from self.answers(asked, options.changed(**given))

    def answers(
        self, asked: Iterable[Asked], options: AnswerOptions, map_chunks: MapChunks = map
    ) -> Iterator[Prediction]:
        """`answer_batch` with another ordered `map` over chunks of questions."""
        from readlet.inference.decoding import AnswerChunk, Predictor
        from readlet.inference.inputs import ForeignLanguages
        from readlet.text.rows import LONG_QUESTION

        calibration = self._calibration_for(options.unanswerable_share)
        predictor = Predictor(self.scorer, calibration, self.rows_at_once, options)
        foreign = ForeignLanguages(self.languages)
        blank = 0

        def counted(example: Example) -> Example:
            nonlocal blank
            blank += not example.question.strip()
            return options.in_languages(example)

        remaining = map(counted, as_examples(asked))
        chunks = iter(lambda: list(islice(remaining, self.chunk)), [])
        cut, counts = 0, Counter[str]()
        for answered in map_chunks(AnswerChunk(predictor, foreign), chunks):
            cut += answered.cut
            counts.update(one.unknown_language for one in answered.predictions)
            yield from answered.predictions
        if cut:
            warn_caller(f"{cut:,} × {LONG_QUESTION}")
        if blank:
            warn_caller(f"{blank:,} × question without text")
        del counts[""]
        for language, count in counts.most_common():
            warn_caller(foreign.message(language, count))

    @property
    def chunk(self) -> int:
        """Questions that are encoded together. A GPU wants full batches of each length."""
        return CHUNK if self.device == "cpu" else 4 * CHUNK

    def _calibration_for(self, unanswerable_share: float | None) -> "Calibration":
        if not unanswerable_share:
            return self.calibration
        if not self.takes_unanswerable_share:
            fault = f"{self.name} was trained on answerable questions and never abstains"
            raise ReadletError(f"unanswerable-share: {fault}; leave it out")
        return self.calibration.assuming(unanswerable_share)

    def answer_any(
        self,
        question: str,
        passages: "Passages | Documents",
        options: AnswerOptions = DEFAULTS,
        *,
        max_passages: int = MAX_PASSAGES,
        **given: Unpack[OptionKeywords],
    ) -> "list[Found]":
        """The answers to one question in many texts, best first, each with its text's key.

        `passages` is a sequence of texts, or a mapping from names to texts; `Documents` of them
        saves time if several questions are asked. The `max_passages` pieces that share the rarest
        words with the question are read; see `Documents.answer` for the order and the limits.

        >>> texts = {"kiln": "Ada Brook built the kiln.", "mill": "The mill burned down in 1902."}
        >>> best, *others = Reader.load().answer_any("When did the mill burn down?", texts)
        >>> best.passage, best.prediction.text
        ('mill', '1902')
        """
        from readlet.inference.documents import Documents

        documents = passages if isinstance(passages, Documents) else Documents(passages)
        options = options.changed(**given)
        return documents.answer(self, question, options, max_passages=max_passages)

    @classmethod
    def load(
        cls, folder: str | Path = BUNDLED, *, device: str = AUTO, batch_size: int = 0
    ) -> "Reader":
        """Read a reader's folder, the `bundled` one, or one of the hub; nothing is executed.

        `user/name` is the newest reader of that name on the Hugging Face hub, and
        `user/name@REVISION` that of a commit, branch or tag; it is downloaded once.

        >>> Reader.load(device="cpu").languages
        ('en',)

        `device` is where it computes ("cpu", "cuda", "cuda:1", "mps"); by default a GPU when there
        is one. `batch_size` is the number of rows scored at once, by default one that suits
        the device.
        """
        from readlet.inference.calibration import Calibration
        from readlet.storage.stored_files import damage_of

        found = read_model(folder, "spans", device=device, batch_size=batch_size)
        with damage_of(found.path / "calibration.json"):
            calibration = Calibration.from_json(found.calibration)
        with damage_of(found.path / "config.json"):
            languages = checked_codes(found.config.get("languages", []))
        return cls(calibration=calibration, languages=languages, **found.others)


def load_reader(name: str, *, device: str = AUTO, batch_size: int = 0) -> Answerer:
    """A reader by name or folder; `baseline` needs no training, `bundled` is already trained."""
    if name == BASELINE:
        if device != AUTO:  # it computes on the CPU, but a wrong name is still an error
            chosen_device(device)
        from readlet.inference.baseline import LexicalBaseline

        return LexicalBaseline()
    if not (reader_folder(name) / "config.json").is_file():
        remedy = f"give a reader's folder, a name of the hub, `{BUNDLED}` or `{BASELINE}`"
        raise bad_input(name, "", "no reader there", remedy)
    return Reader.load(name, device=device, batch_size=batch_size)
