"""Reader: load, answer, save. The one object that most users need."""

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from readlet.errors import ReadletError, bad_input
from readlet.reading.asked import MAX_PASSAGES, Asked, as_pairs
from readlet.reading.devices import AUTO, chosen_device
from readlet.reading.reader_names import (
    BASELINE,
    BUNDLED,
    Answerer,
    reader_files,
    reader_folder,
    warn_of_same_named_folder,
)
from readlet.types import N_BEST, Example, Prediction, check_n_best, check_threshold

if TYPE_CHECKING:
    from readlet.families.family import SpanScorer
    from readlet.reading.calibration import Calibration
    from readlet.reading.documents import Documents, Found, Passages
    from readlet.recipe.recipe import Recipe

FORMAT = 1
# Questions encoded at once: enough to sort them by length, few enough to bound the memory.
CHUNK = 512
_BATCH_SIZES = {"cpu": 32, "cuda": 256}
_OTHER_VERSION = "use a matching version of readlet"


@dataclass(repr=False)  # a vocabulary has tens of thousands of words
class Reader:
    """A trained reader: a scorer of any kind, its calibration, and its device."""

    scorer: "SpanScorer"
    recipe: "Recipe"
    calibration: "Calibration"
    metrics: dict[str, Any] = field(default_factory=dict)
    # Licences and authors of the data and word vectors: distributed with every copy of the reader.
    notice: str = ""
    device: str = "cpu"
    # Rows that are scored at once; 0: the default for the device.
    batch_size: int = 0

    def __post_init__(self) -> None:
        self.scorer.move_to(self.device)

    def __repr__(self) -> str:
        return f"Reader({self.name!r}, device={self.device!r})"

    @property
    def name(self) -> str:
        return self.recipe.name

    @property
    def rows_at_once(self) -> int:
        return self.batch_size or default_batch_size(self.device)

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
    ) -> Prediction:
        """The answer to a question, with its offsets in the context, or a refusal.

        It refuses if the no-answer probability is above `threshold`, by default the reader's own;
        at 1 it never does. With `always_answer` the context is taken to have an answer: the
        no-answer probability is 0, and the scores are probabilities given that there is one.
        """
        (prediction,) = self.answer_batch(
            [(question, context)], n_best, threshold=threshold, always_answer=always_answer
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

        Pairs are (question, context), or dicts with "question" and "context". `threshold` and
        `always_answer` decide about refusals as in `answer`. After the last one a warning reports
        how many questions were too long to be read whole.
        """
        from readlet.encoding.rows import LONG_QUESTION
        from readlet.reading.predictor import Predictor

        check_n_best(n_best)
        check_threshold(threshold, always_answer)
        predictor = Predictor(
            self.scorer, self.calibration, self.rows_at_once, n_best, threshold, always_answer
        )
        remaining = as_pairs(pairs)
        cut = 0
        while chunk := list(islice(remaining, CHUNK)):
            examples = [Example(str(i), q, c) for i, (q, c) in enumerate(chunk)]
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
        )

    def save(self, folder: str | Path) -> None:
        """Write the reader's folder. `config.json` comes last: with it the folder is complete.

        A folder that holds anything that is not an earlier reader's own is refused.
        """
        from readlet.reading.saving import foreign_to_reader
        from readlet.storage.outputs import check_folder

        check_folder(Path(folder), foreign_to_reader)
        self.write(Path(folder))

    def write(self, folder: Path) -> None:
        """Write the reader into a folder that was checked before."""
        from readlet.reading.model_card import model_card
        from readlet.reading.saving import replace_reader
        from readlet.storage.files import write_text
        from readlet.storage.json_files import write_json

        def write(draft: Path) -> None:
            files = self.scorer.save(draft)
            write_json(draft / "calibration.json", self.calibration.model_dump())
            write_json(draft / "metrics.json", self.metrics)
            if self.notice:
                write_text(draft / "NOTICE.md", self.notice)
            write_text(draft / "README.md", model_card(self))
            config = {"format": FORMAT, "architecture": self.recipe.model.kind, "files": files}
            recipe = {"recipe": self.recipe.model_dump()}
            write_json(draft / "config.json", config | self.scorer.config() | recipe)

        replace_reader(folder, write)

    @classmethod
    def load(
        cls, folder: str | Path = BUNDLED, *, device: str = AUTO, batch_size: int = 0
    ) -> "Reader":
        """Read a reader's folder, or the `bundled` one; nothing in it is executed.

        `device` is where it computes ("cpu", "cuda", "cuda:1", "mps"); by default a GPU when there
        is one. `batch_size` is how many rows are scored at once, by default a number that suits
        the device.
        """
        from readlet.families import family_of
        from readlet.reading.calibration import Calibration
        from readlet.reading.model_card import check_metrics
        from readlet.recipe.recipe_files import parse_recipe
        from readlet.recipe.upgrade import upgrade
        from readlet.storage.damage import damage_of
        from readlet.storage.json_files import read_json

        if batch_size < 0:
            raise ReadletError(f"batch_size: {batch_size}; give 1 or more, or 0 for the default")
        device = chosen_device(device)
        path = reader_folder(folder)
        if folder == BUNDLED:
            warn_of_same_named_folder(BUNDLED)
        config = read_json(path / "config.json")
        if config.get("format") != FORMAT:
            fault = f"format {config.get('format')} of {config.get('architecture')!r}"
            raise bad_input(path / "config.json", "", fault, _OTHER_VERSION)
        reader_files(path)  # checks the names
        with damage_of(path / "config.json"):
            recipe = parse_recipe(upgrade(config["recipe"]), str(path / "config.json"))
            try:
                family = family_of(config["architecture"])
            except ReadletError as error:
                raise bad_input(path / "config.json", "", str(error), _OTHER_VERSION) from None
            scorer = family.load(path, recipe, config)
        with damage_of(path / "calibration.json"):
            calibration = Calibration.from_json(read_json(path / "calibration.json"))
        metrics = read_json(path / "metrics.json")
        with damage_of(path / "metrics.json"):
            check_metrics(metrics)
        notice = ""
        if (path / "NOTICE.md").exists():
            with damage_of(path / "NOTICE.md"):
                notice = (path / "NOTICE.md").read_text("utf-8")
        return cls(scorer, recipe, calibration, metrics, notice, device, batch_size)


def default_batch_size(device: str) -> int:
    """Rows scored at once on a device: what keeps it busy."""
    return _BATCH_SIZES.get(device.partition(":")[0], 32)


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
