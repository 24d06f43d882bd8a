"""Reader: load, answer, save. The one object that most users touch."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from readlet.errors import ReadletError, bad_input
from readlet.files import atomic_text
from readlet.types import N_BEST, Example, Prediction

if TYPE_CHECKING:
    from readlet.calibration import Calibration
    from readlet.encoding.vocabulary import Vocabulary
    from readlet.models.qacnn import QACNN
    from readlet.recipe import Recipe

FORMAT = 1
# Questions encoded at once: enough to sort them by length, few enough to bound the memory.
_CHUNK = 512


class Answerer(Protocol):
    """What commands and pages need of a reader."""

    @property
    def name(self) -> str: ...

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

    @property
    def name(self) -> str:
        return self.recipe.name

    def answer(self, question: str, context: str, n_best: int = N_BEST) -> Prediction:
        """The answer to a question, with its place in the context, or "no answer"."""
        return next(self.answer_batch([(question, context)], n_best))

    def answer_batch(
        self, pairs: Iterable[tuple[str, str]], n_best: int = N_BEST
    ) -> Iterator[Prediction]:
        """Predictions in the order of the pairs; any number of them in constant memory."""
        from readlet.encoding.features import Windows, encode
        from readlet.predicting import Predictor

        data = self.recipe.data
        windows = Windows(data.max_context, data.overlap, data.max_question)
        remaining = iter(pairs)
        while chunk := list(islice(remaining, _CHUNK)):
            examples = [Example(str(i), q, c) for i, (q, c) in enumerate(chunk)]
            features = encode(examples, self.vocabulary, windows)
            size = min(len(features), 32)
            yield from Predictor(
                self.model, data, self.null, self.calibration, size, n_best
            ).predict(examples, features)

    def save(self, folder: Path) -> None:
        """Write the reader's folder. `config.json` comes last: with it the folder is whole."""
        from readlet.model_card import model_card
        from readlet.tensors import detached, save_tensors

        folder.mkdir(parents=True, exist_ok=True)
        save_tensors(folder / "model.safetensors", detached(dict(self.model.state_dict())))
        _write_json(folder / "vocabulary.json", self.vocabulary.to_json())
        _write_json(folder / "calibration.json", self.calibration.model_dump())
        _write_json(folder / "metrics.json", self.metrics)
        with atomic_text(folder / "README.md") as stream:
            stream.write(model_card(self))
        _write_json(
            folder / "config.json",
            {
                "format": FORMAT,
                "architecture": "qacnn",
                "null_answer": self.null,
                "recipe": self.recipe.model_dump(),
            },
        )

    @classmethod
    def load(cls, folder: str | Path) -> "Reader":
        """Read a reader's folder; nothing in it is executed."""
        from safetensors.torch import load_file

        from readlet.calibration import Calibration
        from readlet.encoding.vocabulary import Vocabulary
        from readlet.models.qacnn import QACNN
        from readlet.recipe import parse_recipe

        path = Path(folder)
        config = _read_json(path / "config.json")
        if config.get("format") != FORMAT or config.get("architecture") != "qacnn":
            fault = f"format {config.get('format')} of {config.get('architecture')!r}"
            raise bad_input(path / "config.json", "", fault, "use a matching version of readlet")
        with _told_of(path / "config.json"):
            recipe = parse_recipe(config["recipe"], str(path / "config.json"))
            null = bool(config["null_answer"])
        with _told_of(path / "vocabulary.json"):
            listed = _read_json(path / "vocabulary.json")
            vocabulary = Vocabulary.from_json(listed)
        with _told_of(path / "model.safetensors"):
            weights = load_file(path / "model.safetensors")
            frozen = weights["embedding.frozen"]  # (words, width)
            if len(frozen) != vocabulary.trainable_rows + len(vocabulary.frozen):
                raise ValueError(f"{len(frozen)} words do not match vocabulary.json")
            model = QACNN(
                recipe.model, frozen, vocabulary.trainable_rows, vocabulary.character_count
            )
            model.load_state_dict(weights)
        with _told_of(path / "calibration.json"):
            calibration = Calibration(**_read_json(path / "calibration.json"))
        metrics = _read_json(path / "metrics.json")
        return cls(model.eval(), vocabulary, recipe, calibration, null, metrics)


def load_reader(name: str) -> Answerer:
    """A reader by name or folder; `baseline` needs no training."""
    if name == "baseline":
        from readlet.baseline import LexicalBaseline

        return LexicalBaseline()
    if not (Path(name) / "config.json").is_file():
        raise ReadletError(f"{name}: no reader there; give a reader's folder, or `baseline`")
    return Reader.load(name)


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
