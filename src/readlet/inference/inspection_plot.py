"""An inspection as a picture: the probability of each token as a start and as an end of the answer.

For readers that mix the layers of an encoder, also the weight of each layer for each token.
"""

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from readlet.console import one_line
from readlet.errors import bad_input, extra_needed
from readlet.inference.inspection import Inspection
from readlet.models.family import Floats, LayerView
from readlet.storage.files import atomic_bytes
from readlet.storage.overwrite import check_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SUFFIXES = (".png", ".svg")
_SIDES = ("start", "end")
_TOKENS = 40  # around the answer: more would be illegible
_LABEL, _TITLE = 14, 90  # letters
# Okabe and Ito's blue and vermilion, which most colour-blind people can distinguish.
_BARS, _ANSWER, _NULL = "#0072b2", "#d55e00", "#888888"


def check_picture(path: Path, inputs: Iterable[Path], *, overwrite: bool) -> None:
    """Check before the work that the picture can be drawn and written."""
    check_file(path, inputs, overwrite=overwrite)
    if path.suffix.lower() not in SUFFIXES:
        raise bad_input(path, "", "not a type of picture", f"end it in {' or '.join(SUFFIXES)}")
    with extra_needed("plots", "--save"):
        import matplotlib.figure  # noqa: F401


def save_picture(inspection: Inspection, path: Path) -> None:
    """Draw into a .png or .svg file: "no answer", then the tokens around the best answer."""
    import matplotlib
    from matplotlib.figure import Figure

    first = min(max(inspection.first - _TOKENS // 2, 0), max(len(inspection.offsets) - _TOKENS, 0))
    shown = range(first, min(first + _TOKENS, len(inspection.offsets)))
    view = inspection.layers
    if view is not None and not view.are_mixed:
        view = None  # the same for all tokens
    heights = [1.6, 1.6]
    if view is not None:
        heights += [0.4 + 0.2 * len(view.weights)] * 2
    # Text stays text in an SVG: smaller, and a browser has fonts for all scripts.
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": "readlet", "font.size": 9}
    with matplotlib.rc_context(settings), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        size = (3.0 + 0.29 * len(shown), sum(heights) + 1.8)
        figure = Figure(figsize=size, layout="constrained", facecolor="white")
        axes: Any = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights)
        for side, axis in enumerate(axes[:2]):
            _probabilities(axis, inspection, shown, side)
        if view is not None:
            for side, axis in enumerate(axes[2:]):
                _layer_weights(axis, view, shown, side)
        _name_tokens(axes[-1], inspection, shown)
        title = f"{_short(inspection.question, _TITLE)}\n{_answer(inspection)}"
        figure.suptitle(title, fontsize=12, x=0.01, ha="left", parse_math=False)
        kind = path.suffix.lower().removeprefix(".")
        metadata = {"Date": None} if kind == "svg" else {}  # equal content, equal bytes
        with atomic_bytes(path) as stream:
            figure.savefig(stream, format=kind, dpi=140, metadata=metadata)
    if kind != "svg" and any("Glyph" in str(warning.message) for warning in caught):
        fault = "no font here has all characters of the text, some are boxes"
        warnings.warn(f"{path}: {fault}; save as .svg instead", stacklevel=2)


def _probabilities(axis: "Axes", inspection: Inspection, shown: range, side: int) -> None:
    """A bar for "no answer", and one for each token."""
    null = 0.0 if inspection.null is None else inspection.prediction.no_answer
    axis.bar([0], [null], color=_NULL)
    values = inspection.probabilities[shown.start : shown.stop, side]  # (tokens,)
    axis.bar(np.arange(1, len(shown) + 1), values, color=_BARS)
    axis.set_title(f"probability as {_SIDES[side]}", loc="left", fontsize=10)
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(axis="y", alpha=0.3)
    axis.set_axisbelow(True)


def _layer_weights(axis: "Axes", view: LayerView, shown: range, side: int) -> None:
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


def _name_tokens(axis: "Axes", inspection: Inspection, shown: range) -> None:
    labels = [inspection.null_label, *inspection.labels[shown.start : shown.stop]]
    names = [_short(label, _LABEL) for label in labels]
    axis.set_xticks(range(len(names)), names, rotation=90, fontsize=8, parse_math=False)
    for token, tick in zip(shown, axis.get_xticklabels()[1:], strict=True):
        if inspection.first <= token <= inspection.last:
            tick.set_color(_ANSWER)
            tick.set_fontweight("bold")


def _answer(inspection: Inspection) -> str:
    prediction = inspection.prediction
    best = prediction.n_best[0].text if prediction.n_best else ""
    text = f"best answer “{_short(best, _TITLE // 2)}”, probability {prediction.score:.2f}"
    if inspection.null is not None:
        text += f"; no answer {prediction.no_answer:.2f}{' (abstained)' * prediction.abstained}"
    if inspection.windows > 1:
        text += f"; window {inspection.window:,} of {inspection.windows:,}"
    return text


def _short(text: str, letters: int) -> str:
    """One line that can be drawn: without control characters and halves of characters."""
    line = one_line(text).encode("utf-8", "replace").decode()
    return line if len(line) <= letters else line[: letters - 1] + "…"
