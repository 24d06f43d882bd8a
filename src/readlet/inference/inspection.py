"""Where an answer comes from: the scores of all positions, and the contribution of each layer.

As JSON, or as a picture: the probability of each token as a start and as an end of the answer and,
for readers that mix the layers of an encoder, the weight of each layer for each token.
"""

import warnings
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from readlet.console import one_line
from readlet.errors import ReadletError, bad_input, extra_needed
from readlet.inference.calibration import Doubles
from readlet.inference.decoding import Predictor, WindowAnswers, masked
from readlet.inference.reader import Reader, load_reader
from readlet.inference.trained_model import AUTO, BASELINE, chosen_device, needs_torch
from readlet.models.family import Floats, LayeredScorer, LayerView, SpanScores
from readlet.storage.files import atomic_bytes
from readlet.storage.overwrite import check_file
from readlet.text.rows import LONG_QUESTION, Ints, Rows
from readlet.types import Example, Prediction

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIDES = ("start", "end")  # in all arrays here
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
        return float(self.scores[self.first, 0]), float(self.scores[self.last, 1])

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
            for side, name in enumerate(_SIDES)
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
        remedy = "give `bundled` or a trained reader"
        raise bad_input(BASELINE, "", "has no scores to inspect", remedy)
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

    # The best window first: by score, span and length, then the earliest.
    order: tuple[float, int, int, int]
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
        top = answers.spans[0]
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
        for side, name in enumerate(_SIDES)
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


_SUFFIXES = (".png", ".svg")
_TOKENS = 40  # around the answer: more would be illegible
_LABEL, _TITLE = 14, 90  # letters
# Okabe and Ito's blue and vermilion, which most colour-blind people can distinguish.
_BARS, _ANSWER, _NULL = "#0072b2", "#d55e00", "#888888"


def check_picture(path: Path, inputs: Iterable[Path], *, overwrite: bool) -> None:
    """Check before the work that the picture can be drawn and written."""
    check_file(path, inputs, overwrite=overwrite)
    if path.suffix.lower() not in _SUFFIXES:
        raise bad_input(path, "", "not a type of picture", f"end it in {' or '.join(_SUFFIXES)}")
    with extra_needed("plots", "--save"):
        import matplotlib.figure  # noqa: F401


def save_picture(found: Inspection, path: Path) -> None:
    """Draw into a .png or .svg file: "no answer", then the tokens around the best answer."""
    import matplotlib
    from matplotlib.figure import Figure

    begin = max(min(found.first - _TOKENS // 2, len(found.offsets) - _TOKENS), 0)
    shown = range(begin, min(begin + _TOKENS, len(found.offsets)))
    # Without a mix the weights are the same for all tokens.
    view = found.layers if found.layers is not None and found.layers.are_mixed else None
    heights = [1.6, 1.6] + ([] if view is None else [0.4 + 0.2 * len(view.weights)] * 2)
    # Text stays text in an SVG: smaller, and a browser has fonts for all scripts.
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": "readlet", "font.size": 9}
    with matplotlib.rc_context(settings):
        size = (3.0 + 0.29 * len(shown), sum(heights) + 1.8)
        figure = Figure(figsize=size, layout="constrained", facecolor="white")
        axes: Any = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights)
        for side, axis in enumerate(axes[:2]):
            _draw_probabilities(axis, found, shown, side)
        for side, axis in enumerate(axes[2:]):
            assert view is not None
            _draw_weights(axis, view, shown, side)
        _name_tokens(axes[-1], found, shown)
        best = found.prediction.n_best[0].text
        answer = f"“{_short(best, _TITLE // 2)}”, probability {found.prediction.score:.2f}"
        title = f"{_short(found.question, _TITLE)}\nbest answer {answer}"
        figure.suptitle(title, fontsize=12, x=0.01, ha="left", parse_math=False)
        kind = path.suffix.lower().removeprefix(".")
        metadata = {"Date": None} if kind == "svg" else {}  # equal content, equal bytes
        with atomic_bytes(path) as stream:
            figure.savefig(stream, format=kind, dpi=140, metadata=metadata)


def _draw_probabilities(axis: "Axes", found: Inspection, shown: range, side: int) -> None:
    """A bar for "no answer", and one for each token."""
    axis.bar([0], [0.0 if found.null is None else found.prediction.no_answer], color=_NULL)
    values = found.probabilities[shown.start : shown.stop, side]  # (tokens,)
    axis.bar(np.arange(1, len(shown) + 1), values, color=_BARS)
    axis.set_title(f"probability as {_SIDES[side]}", loc="left", fontsize=10)
    axis.spines[["top", "right"]].set_visible(False)


def _draw_weights(axis: "Axes", view: LayerView, shown: range, side: int) -> None:
    """The weights of all layers for "no answer" and for each token, the last layer on top."""
    tokens = [view.null, *range(view.first + shown.start, view.first + shown.stop)]
    weights: Floats = view.weights[:, tokens, side]  # (N, 1 + tokens)
    highest = float(np.abs(weights).max()) or 1.0
    is_signed = bool(weights.min() < 0)
    drawn = axis.imshow(
        weights,
        aspect="auto",
        origin="lower",
        interpolation="nearest",
        cmap="RdBu_r" if is_signed else "Blues",
        vmin=-highest if is_signed else 0.0,
        vmax=highest,
    )
    axis.set_title(f"{_SIDES[side]}: weight of each layer ({view.mix})", loc="left", fontsize=10)
    axis.figure.colorbar(drawn, ax=axis, fraction=0.03, pad=0.01)
    every = -(-len(weights) // 12)
    numbers = range(0, len(weights), every)
    axis.set_yticks(numbers, [str(number + 1) for number in numbers])


def _name_tokens(axis: "Axes", found: Inspection, shown: range) -> None:
    null = found.layers.tokens[found.layers.null] if found.layers else "no answer"
    names = [_short(one, _LABEL) for one in (null, *found.labels[shown.start : shown.stop])]
    axis.set_xticks(range(len(names)), names, rotation=90, fontsize=8, parse_math=False)
    for token, tick in zip(shown, axis.get_xticklabels()[1:], strict=True):
        if found.first <= token <= found.last:
            tick.set_color(_ANSWER)
            tick.set_fontweight("bold")


def _short(text: str, letters: int) -> str:
    """One line that can be drawn: control characters are no part of SVG."""
    line = one_line(text)
    return line if len(line) <= letters else f"{line[: letters - 1]}…"
