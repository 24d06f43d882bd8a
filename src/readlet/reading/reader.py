"""Reader: load, answer, save. The one object that most users touch."""

import json
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast, get_args

from readlet.bundled import bundled_reader
from readlet.errors import ReadletError, bad_input
from readlet.storage.files import atomic_text
from readlet.types import N_BEST, Example, Prediction, check_n_best

if TYPE_CHECKING:
    from torch import Tensor

    from readlet.encoding.vocabulary import Vocabulary
    from readlet.models.qacnn import QACNN
    from readlet.reading.calibration import Calibration
    from readlet.recipe.recipe import Recipe

FORMAT = 1
BUNDLED, BASELINE = "bundled", "baseline"
"""Names that stand for a reader wherever a reader's folder may be given."""
Stored = Literal["float32", "float16"]
VECTORS = "embedding.frozen"
"""The weights that are word vectors from files."""
_AGAIN = "try again (training: --resume)"  # after a full disk
# Questions encoded at once: enough to sort them by length, few enough to bound the memory.
_CHUNK = 512


class Answerer(Protocol):
    """What commands and pages need of a reader."""

    @property
    def name(self) -> str: ...

    @property
    def no_answer_threshold(self) -> float: ...

    def answer(self, question: str, context: str, n_best: int = N_BEST) -> Prediction: ...

    def answer_batch(
        self, pairs: Iterable[tuple[str, str]], n_best: int = N_BEST
    ) -> Iterator[Prediction]: ...


@dataclass
class Reader:
    """A trained reader: the model, the words it knows, and how sure it may be."""

    model: "QACNN"
    vocabulary: "Vocabulary"
    recipe: "Recipe"
    calibration: "Calibration"
    null: bool
    metrics: dict[str, Any] = field(default_factory=dict)
    # Licences and authors of what it was made from: whoever passes the reader on passes it on too.
    notice: str = ""
    # How the weights stand on the disk. In half precision they must be rounded already (`slim`
    # does it), or the saved reader would be another one.
    stored: Stored = "float32"

    @property
    def name(self) -> str:
        return self.recipe.name

    @property
    def no_answer_threshold(self) -> float:
        """Above this no-answer probability it refuses."""
        return self.calibration.no_answer_threshold

    def answer(self, question: str, context: str, n_best: int = N_BEST) -> Prediction:
        """The answer to a question, with its place in the context, or "no answer"."""
        (prediction,) = self.answer_batch([(question, context)], n_best)
        return prediction

    def answer_batch(
        self, pairs: Iterable[tuple[str, str]], n_best: int = N_BEST
    ) -> Iterator[Prediction]:
        """Predictions in the order of the pairs; any number of them in constant memory.

        After the last one a warning tells how many questions were too long to be read whole.
        """
        from readlet.encoding.features import LONG_QUESTION, encode
        from readlet.encoding.windows import Windows
        from readlet.reading.predictor import Predictor

        check_n_best(n_best)
        data = self.recipe.data
        windows = Windows(data.max_context, data.overlap, data.max_question)
        remaining = iter(pairs)
        cut = 0
        while chunk := list(islice(remaining, _CHUNK)):
            examples = [Example(str(i), q, c) for i, (q, c) in enumerate(chunk)]
            features = encode(examples, self.vocabulary, windows)
            cut += len(features.notes.get(LONG_QUESTION, ()))
            size = min(len(features), 32)
            yield from Predictor(
                self.model, data, self.null, self.calibration, size, n_best
            ).predict(examples, features)
        if cut:
            warnings.warn(f"{cut:,} × {LONG_QUESTION}", stacklevel=2)

    def save(self, folder: str | Path) -> None:
        """Write the reader's folder. `config.json` comes last: with it the folder is whole."""
        import torch

        from readlet.reading.model_card import model_card
        from readlet.storage.tensors import detached, in_precision, save_tensors

        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        dtype = torch.float16 if self.stored == "float16" else torch.float32
        weights = in_precision(dtype, detached(dict(self.model.state_dict())))
        rows = self.vocabulary.trainable_rows
        weights[VECTORS] = weights[VECTORS][rows:]  # (words, width): those above are zero
        save_tensors(folder / "model.safetensors", weights, how_to_resume=_AGAIN)
        for name in ("config.json", "NOTICE.md"):  # of a reader that was here before
            (folder / name).unlink(missing_ok=True)
        _write_json(folder / "vocabulary.json", self.vocabulary.to_json())
        _write_json(folder / "calibration.json", self.calibration.model_dump())
        _write_json(folder / "metrics.json", self.metrics)
        if self.notice:
            _write_text(folder / "NOTICE.md", self.notice)
        _write_text(folder / "README.md", model_card(self))
        _write_json(
            folder / "config.json",
            {
                "format": FORMAT,
                "architecture": "qacnn",
                "null_answer": self.null,
                "stored": self.stored,
                "recipe": self.recipe.model_dump(),
            },
        )

    @classmethod
    def load(cls, folder: str | Path = BUNDLED) -> "Reader":
        """Read a reader's folder, or the `bundled` one; nothing in it is executed."""
        from safetensors.torch import load_file

        from readlet.encoding.vocabulary import Vocabulary
        from readlet.reading.calibration import Calibration
        from readlet.recipe.recipe_files import parse_recipe

        path = reader_folder(folder)
        if folder == BUNDLED:
            _tell_of_namesake(BUNDLED)
        config = _read_json(path / "config.json")
        if config.get("format") != FORMAT or config.get("architecture") != "qacnn":
            fault = f"format {config.get('format')} of {config.get('architecture')!r}"
            raise bad_input(path / "config.json", "", fault, "use a matching version of readlet")
        with _told_of(path / "config.json"):
            recipe = parse_recipe(config["recipe"], str(path / "config.json"))
            null = bool(config["null_answer"])
            stored = _stored(config)
        with _told_of(path / "vocabulary.json"):
            listed = _read_json(path / "vocabulary.json")
            vocabulary = Vocabulary.from_json(listed)
        with _told_of(path / "model.safetensors"):
            weights = load_file(path / "model.safetensors")
            model = model_of(recipe, vocabulary, weights)
        with _told_of(path / "calibration.json"):
            calibration = Calibration(**_read_json(path / "calibration.json"))
        metrics = _read_json(path / "metrics.json")
        notice = ""
        if (path / "NOTICE.md").exists():
            with _told_of(path / "NOTICE.md"):
                notice = (path / "NOTICE.md").read_text("utf-8")
        return cls(model, vocabulary, recipe, calibration, null, metrics, notice, stored)


def load_reader(name: str) -> Answerer:
    """A reader by name or folder; `baseline` needs no training, `bundled` comes trained."""
    if name == BASELINE:
        from readlet.reading.baseline import LexicalBaseline

        _tell_of_namesake(BASELINE)
        return LexicalBaseline()
    if name != BUNDLED and not (Path(name) / "config.json").is_file():
        remedy = f"give a reader's folder, `{BUNDLED}` or `{BASELINE}`"
        raise bad_input(name, "", "no reader there", remedy)
    return Reader.load(name)


def model_of(recipe: "Recipe", vocabulary: "Vocabulary", weights: dict[str, "Tensor"]) -> "QACNN":
    """The model with these weights, which may be in half precision and lack rows of zeros.

    It computes in float32. Only the table of word vectors stays in half precision, if it is: the
    rows that a batch needs are converted when they are looked up, which costs nothing.
    """
    from torch.nn.functional import pad

    from readlet.models.qacnn import QACNN

    frozen = weights[VECTORS]  # (words, width)
    rows = vocabulary.trainable_rows
    absent = rows + len(vocabulary.frozen) - len(frozen)
    if len(weights["embedding.trainable.weight"]) != rows or absent not in (0, rows):
        raise ValueError(f"{len(frozen)} words do not match vocabulary.json")
    frozen = pad(frozen, (0, 0, absent, 0))  # (rows + words, width)
    model = QACNN(recipe, frozen, rows, vocabulary.character_count)
    model.load_state_dict(weights | {VECTORS: frozen})
    return model.eval()


def reader_files(name: str | Path) -> list[Path]:
    """The files that make a reader what it is: numbers, weights and words."""
    folder = reader_folder(name)
    return [folder / file for file in ("config.json", "model.safetensors", "vocabulary.json")]


def reader_folder(name: str | Path) -> Path:
    """Where a reader lies: its folder, or that of the `bundled` one."""
    if name != BUNDLED:
        return Path(name)
    folder = bundled_reader()
    if folder is None:
        fault = "this copy of Readlet has no reader inside"
        remedy = f"name a reader's folder (one of this name: ./{BUNDLED}), or `{BASELINE}`"
        raise bad_input(BUNDLED, "", fault, remedy)
    return folder


def _tell_of_namesake(name: str) -> None:
    """A folder that happens to have the name is not taken for the reader, and that is told."""
    if (Path(name) / "config.json").is_file():
        what = f"`{name}` is the reader that comes with Readlet"
        print(f"readlet: {what}; for the folder here write ./{name}", file=sys.stderr)


def _stored(config: dict[str, Any]) -> Stored:
    stored = config.get("stored", "float32")
    if stored not in get_args(Stored):
        raise ValueError(f"weights stored as {stored!r:.40}")
    return cast(Stored, stored)


@contextmanager
def _told_of(path: Path) -> Iterator[None]:
    """Whatever is wrong inside is told as a fault of this file."""
    from safetensors import SafetensorError

    try:
        yield
    except ReadletError:
        raise
    except (OSError, SafetensorError, LookupError, TypeError, ValueError, RuntimeError) as error:
        fault = " ".join(f"is damaged ({type(error).__name__}: {error})".split())
        raise bad_input(path, "", f"{fault:.200}", "copy the folder again") from None


def _write_text(path: Path, text: str) -> None:
    with atomic_text(path) as stream:
        stream.write(text)


def _write_json(path: Path, values: Any) -> None:
    with atomic_text(path) as stream:
        json.dump(values, stream, ensure_ascii=False, indent=1)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise bad_input(path, "", "is missing", "give the folder of a whole reader") from None
    except (OSError, ValueError) as error:
        raise bad_input(path, "", f"is damaged ({error})", "copy the folder again") from None
    if not isinstance(values, dict):
        raise bad_input(path, "", "is not an object", "copy the folder again")
    return values
