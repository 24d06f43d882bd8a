"""Where an answer comes from: the scores of all positions, and the contribution of each layer."""

import warnings
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from readlet.errors import ReadletError, bad_input
from readlet.inference.calibration import Doubles
from readlet.inference.decoding import (
    Predictor,
    ScoredSpan,
    WindowAnswers,
    masked,
)
from readlet.inference.reader import Reader, load_reader
from readlet.inference.trained_model import AUTO, BASELINE, chosen_device, needs_torch
from readlet.models.family import Floats, LayeredScorer, LayerView, SpanScores
from readlet.text.rows import LONG_QUESTION, Ints, Rows
from readlet.types import Example, Prediction

START, END = 0, 1
"""Indices of the two sides in all arrays here."""
_CANDIDATES = "give `bundled` or a trained reader, or see: readlet ask --reader baseline --n-best 5"
_DIGITS = 6  # decimals in JSON


@dataclass(frozen=True)
class Inspection:
    """The window of the best answer: P positions with their scores, and its layers, if any.

    The best answer is shown even if the reader abstains.
    """

    question: str
    prediction: Prediction
    window: int  # from 1
    windows: int
    offsets: Ints  # (P, 2) characters of the passage
    labels: tuple[str, ...]  # (P,) the positions as texts
    scores: Floats  # (P, 2) for start and end
    # (P, 2) given that no other window has the answer. Those of all positions as a start and the
    # no-answer probability sum to 1, and likewise for the end.
    probabilities: Doubles
    null: tuple[float, float] | None  # scores of "no answer"; None: the reader never abstains
    first: int  # first and last position of the best answer
    last: int
    layers: LayerView | None

    @property
    def answer_scores(self) -> tuple[float, float]:
        """The scores of the best answer's first position as a start, and of its last as an end."""
        return float(self.scores[self.first, START]), float(self.scores[self.last, END])

    @property
    def null_label(self) -> str:
        return self.layers.tokens[self.layers.null] if self.layers else "no answer"

    def likeliest(self, side: int, most: int) -> list[int]:
        """The positions with the highest probabilities, highest first."""
        ranked = np.argsort(-self.probabilities[:, side], kind="stable")[:most].tolist()
        return [place for place in ranked if self.probabilities[place, side] > 0]

    def as_json(self) -> dict[str, Any]:
        """All numbers, of all tokens of the window."""
        places = [
            {"text": label, "start": start, "end": end}
            for label, (start, end) in zip(self.labels, self.offsets.tolist(), strict=True)
        ]
        sides: dict[str, Any] = {
            name: {
                "scores": _plain(self.scores[:, side]),
                "probabilities": _plain(self.probabilities[:, side]),
                "null": None if self.null is None else round(self.null[side], _DIGITS),
            }
            for side, name in enumerate(("start", "end"))
        }
        return {
            "question": self.question,
            "prediction": asdict(self.prediction),
            "window": self.window,
            "windows": self.windows,
            "best": {"first": self.first, "last": self.last},
            "places": places,
            **sides,
            "layers": None if self.layers is None else _layers_as_json(self.layers),
        }


def inspectable_reader(name: str, *, device: str = AUTO) -> Reader:
    """A trained reader by name or folder; the baseline has no scores of positions."""
    # A device with a name is torch's: an ONNX model beside the weights does not show the layers.
    if name != BASELINE and needs_torch(name, device="cpu"):
        device = chosen_device(device)
    reader = load_reader(name, device=device)
    if not isinstance(reader, Reader):
        fault, remedy = "has no scores to inspect", _CANDIDATES
        raise bad_input(BASELINE, "", fault, remedy)
    return reader


def inspect_answer(reader: Reader, question: str, passage: str) -> Inspection:
    """How a reader scores the positions of a passage, and where its answer comes from.

    Of a long passage this is the window with the best answer.
    """
    if not question.strip() or not passage.strip():
        raise ReadletError("the question or the passage is empty; both need text")
    predictor = Predictor(reader.scorer, reader.calibration, reader.rows_at_once)
    example = Example("", question, passage)
    rows = reader.scorer.encoder.encode([example])
    if rows.notes.get(LONG_QUESTION):
        warnings.warn(LONG_QUESTION, stacklevel=2)
    windows: list[WindowAnswers] = []
    best: _Best | None = None
    for numbers, scores in reader.scorer.scores(rows, predictor.batch_size):
        for i, (row, answers) in enumerate(predictor.windows([example], rows, numbers, scores)):
            windows.append(answers)
            found = _Best.of(answers, rows, row, scores, i)
            if found is not None and (best is None or found.order < best.order):
                best = found
    if best is None:
        raise ReadletError("the passage contains no words; give text")
    scorer, places = reader.scorer, rows.places(best.row)
    layers = scorer.layer_view(rows, best.row) if isinstance(scorer, LayeredScorer) else None
    first, last = best.places(places)
    prediction = predictor.join(example, windows)
    scaled = best.scores / np.float32(reader.calibration.temperature)  # (P, 2)
    return Inspection(
        question=question,
        prediction=prediction,
        window=best.row + 1,
        windows=len(rows),
        offsets=places,
        labels=tuple(_label(passage, span, layers, i) for i, span in enumerate(places.tolist())),
        scores=best.scores,
        probabilities=(1.0 - prediction.no_answer) * _shares(scaled, best.allowed),
        null=best.null,
        first=first,
        last=last,
        layers=layers,
    )


@dataclass(frozen=True)
class _Best:
    """The window with the best answer so far."""

    order: tuple[
        float, int, int, int
    ]  # the best window first: by score, span and length, then the earliest
    row: int
    scores: Floats  # (P, 2)
    allowed: NDArray[np.bool_]  # (P,)
    null: tuple[float, float] | None

    @classmethod
    def of(
        cls, answers: WindowAnswers, rows: Rows, row: int, scores: SpanScores, i: int
    ) -> "_Best | None":
        if not answers.spans:
            return None
        top: ScoredSpan = answers.spans[0]
        count = int(rows.row_window[row, 1])
        both = np.stack([scores.start[i, :count], scores.end[i, :count]], axis=1)  # (P, 2)
        order = (-top.score, top.start, top.end, row)
        return cls(order, row, both, scores.allowed[i, :count].copy(), answers.null)

    def places(self, offsets: Ints) -> tuple[int, int]:
        """First and last position of the answer, from the characters of all positions, (P, 2)."""
        _, start, end, _ = self.order
        first = np.flatnonzero(offsets[:, 0] == start)[0]
        return int(first), int(np.flatnonzero(offsets[:, 1] == end)[-1])


def _shares(scores: Floats, allowed: NDArray[np.bool_]) -> Doubles:
    """Softmax over the positions, for each side: (P, 2) -> (P, 2)."""
    kept = masked(scores, allowed[:, None]).astype(np.float64)  # (P, 2)
    odds = np.exp(kept - kept.max(axis=0))  # (P, 2)
    shares: Doubles = odds / odds.sum(axis=0)  # (P, 2)
    return shares


def _label(passage: str, span: list[int], layers: LayerView | None, place: int) -> str:
    """The passage's text at a position: tokenizers alter case and other scripts."""
    text = passage[span[0] : span[1]]
    if layers is None:
        return text
    token = layers.tokens[layers.first + place]
    return f"##{text}" if token.startswith("##") and text else text or token


def _layers_as_json(view: LayerView) -> dict[str, Any]:
    """Lists of layers, first layer first, each with a number for each token."""
    parts = view.contributions
    sides = {
        name: {
            "weights": _plain(view.weights[:, :, side]),
            "contributions": None if parts is None else _plain(parts[:, :, side]),
            "scores": _plain(view.scores[:, side]),
        }
        for side, name in enumerate(("start", "end"))
    }
    return {
        "mix": view.mix,
        "normalised": view.normalised,
        "tokens": list(view.tokens),
        "first_place": view.first,
        "null_token": view.null,
        **sides,
    }


def _plain(values: Floats | Doubles) -> Any:
    return np.round(values.astype(np.float64), _DIGITS).tolist()
