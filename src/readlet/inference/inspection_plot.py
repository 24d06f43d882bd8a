"""An inspection as a picture: weights of layers by token, and what each layer adds to the scores.

Readers without layers: the probability of each place as a start and as an end.
"""

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from readlet.errors import ReadletError, bad_input
from readlet.inference.inspection import Inspection
from readlet.installing import install_extra
from readlet.models.family import Floats
from readlet.storage.files import atomic_bytes
from readlet.storage.overwrite import check_file
from readlet.terminal import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg")
_SIDES = ("start", "end")
_PLACES = 40  # around the answer: more are not readable
_LABEL, _TITLE = 14, 90  # letters
# Okabe and Ito's blue and vermilion, which most colour-blind people can distinguish.
_COLOURS = ("#0072b2", "#d55e00")
_ANSWER, _NULL = "#d55e00", "#888888"
_DOTS_PER_INCH = 140


def check_picture(path: Path, inputs: Iterable[Path], *, overwrite: bool) -> None:
    """Check before the work that the picture can be drawn and written."""
    check_file(path, inputs, overwrite=overwrite)
    if path.suffix.lower() not in SUFFIXES:
        raise bad_input(path, "", "not a type of picture", f"end it in {' or '.join(SUFFIXES)}")
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        fault = "--save: matplotlib is missing"
        raise ReadletError(f"{fault}; {install_extra('plots')}") from None


def save_picture(inspection: Inspection, path: Path) -> None:
    """Draw into a .png or .svg file."""
    import matplotlib

    kind = path.suffix.lower().removeprefix(".")
    # Text stays text in an SVG: smaller, and a browser has fonts for all scripts.
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": "readlet", "font.size": 9}
    with matplotlib.rc_context(settings), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure = _layers(inspection) if inspection.layers else _places(inspection)
        metadata = {"Date": None} if kind == "svg" else {}  # equal content, equal bytes
        with atomic_bytes(path) as stream:
            figure.savefig(stream, format=kind, dpi=_DOTS_PER_INCH, metadata=metadata)
    if kind != "svg" and any("Glyph" in str(warning.message) for warning in caught):
        fault = "no font here has all characters of the text, some are boxes"
        warnings.warn(f"{path}: {fault}; save as .svg instead", stacklevel=2)


def _layers(inspection: Inspection) -> "Figure":
    view = inspection.layers
    assert view is not None
    columns, labels = _columns(inspection)
    layers = len(view.weights)
    bars = view.contributions is not None
    what = f"weights of the layers ({view.mix})"
    if not bars:
        what += "; a transformer block mixes them, so that scores are no sum over the layers"
    of_map, of_bars = 0.55 + 0.24 * layers, 2.6
    width = min(max(7.5, 3.0 + 0.29 * len(columns)), 16.0)
    height = 2 * of_map + of_bars * bars + 2.0
    figure = _figure(inspection, width, height, what)
    ratios = [of_map, of_map, of_bars][: 2 + bars]
    axes: Any = figure.subplots(len(ratios), 1, height_ratios=ratios, squeeze=False)[:, 0]
    shown = _weights(inspection, columns)  # (N, columns, 2)
    highest = float(np.nanmax(np.abs(shown))) or 1.0
    is_signed = bool(np.nanmin(shown) < 0)
    for side, axis in enumerate(axes[:2]):
        drawn = axis.imshow(
            shown[:, :, side],
            aspect="auto",
            origin="lower",  # the last layer on top, as networks are drawn
            interpolation="nearest",
            cmap="RdBu_r" if is_signed else "Blues",
            vmin=-highest if is_signed else 0.0,
            vmax=highest,
        )
        axis.set_title(f"{_SIDES[side]}: weight of each layer", loc="left", fontsize=10)
        axis.set_ylabel("layer")
        every = -(-layers // 12)
        axis.set_yticks(range(0, layers, every), [str(n + 1) for n in range(0, layers, every)])
        _name_columns(axis, inspection, columns, labels)
        _outline(axis, inspection, columns, layers)
    figure.colorbar(drawn, ax=list(axes[:2]), fraction=0.03, pad=0.01, label="weight")
    if bars:
        _contributions(axes[2], inspection)
    return figure


def _places(inspection: Inspection) -> "Figure":
    columns, labels = _columns(inspection)
    if inspection.null is None:
        columns, labels = columns[2:], labels[2:]
    width = min(max(7.5, 2.0 + 0.29 * len(columns)), 16.0)
    figure = _figure(inspection, width, 5.6, "probability of each word")
    axes: Any = figure.subplots(2, 1, squeeze=False, sharey=True)[:, 0]
    for side, axis in enumerate(axes):
        values = [0.0 if c is None else inspection.probabilities[c, side] for c in columns]
        drawn = axis.bar(range(len(columns)), values, color=_COLOURS[side], width=0.8)
        if inspection.null is not None:
            drawn[0].set(height=inspection.prediction.no_answer, color=_NULL)
        axis.set_title(f"{_SIDES[side]} of the answer", loc="left", fontsize=10)
        axis.set_ylabel("probability")
        axis.set_xlim(-0.6, len(columns) - 0.4)
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="y", alpha=0.3)
        axis.set_axisbelow(True)
        _name_columns(axis, inspection, columns, labels)
    return figure


def _figure(inspection: Inspection, width: float, height: float, what: str) -> "Figure":
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    prediction = inspection.prediction
    best = prediction.n_best[0].text if prediction.n_best else ""
    answer = f"best answer “{_short(best, _TITLE // 2)}”, probability {prediction.score:.2f}"
    if inspection.null is not None:
        answer += f"; no answer {prediction.no_answer:.2f}{' (abstained)' * prediction.abstained}"
    places, word = len(inspection.offsets), "token" if inspection.layers else "word"
    part = f"{min(_PLACES, places)} of {places:,} {word}s around the best answer"
    if inspection.windows > 1:
        part += f", window {inspection.window:,} of {inspection.windows:,}"
    title = f"{_short(inspection.question, _TITLE)}\n{answer}"
    figure.suptitle(title, fontsize=12, x=0.01, ha="left", parse_math=False)
    note = f"{what}; {part}; best answer in orange"
    figure.supxlabel(note, fontsize=8, x=0.01, ha="left", color="#555555")
    return figure


def _columns(inspection: Inspection) -> tuple[list[int | None], list[str]]:
    """Places from left to right with their labels; None is a gap, but the first is "no answer"."""
    columns: list[int | None] = [None, None]
    labels = [inspection.null_label, ""]
    before = None
    for place in inspection.near_answer(_PLACES):
        if before is not None and place > before + 1:
            columns.append(None)
            labels.append("…")
        columns.append(place)
        labels.append(inspection.labels[place])
        before = place
    return columns, [_short(label, _LABEL) for label in labels]


def _weights(inspection: Inspection, columns: list[int | None]) -> Floats:
    """The weights (N, columns, 2), NaN in gaps."""
    places = [place for place in columns if place is not None]
    found = inspection.weights(places)  # (N, 1 + places, 2)
    shown = np.full((len(found), len(columns), 2), np.nan, np.float32)  # (N, columns, 2)
    filled = [0, *(i for i, place in enumerate(columns) if place is not None)]
    shown[:, filled] = found
    return shown


def _name_columns(
    axis: "Axes", inspection: Inspection, columns: list[int | None], labels: list[str]
) -> None:
    axis.set_xticks(range(len(columns)), labels, rotation=90, fontsize=8, parse_math=False)
    axis.tick_params(axis="x", length=0)
    for place, tick in zip(columns, axis.get_xticklabels(), strict=True):
        if place is not None and inspection.first <= place <= inspection.last:
            tick.set_color(_ANSWER)
            tick.set_fontweight("bold")


def _outline(axis: "Axes", inspection: Inspection, columns: list[int | None], layers: int) -> None:
    """A frame around the best answer."""
    from matplotlib.patches import Rectangle

    left, right = columns.index(inspection.first), columns.index(inspection.last)
    size = right - left + 1, layers
    frame = Rectangle(
        (left - 0.5, -0.5), *size, fill=False, edgecolor=_ANSWER, linewidth=2, clip_on=False
    )
    axis.add_patch(frame)
    axis.spines[:].set_visible(False)


def _contributions(axis: "Axes", inspection: Inspection) -> None:
    """Bars of what each layer adds to the scores that decide."""
    sources = inspection.sources()
    width = 0.8 / len(sources)
    for number, (side, label, score, parts) in enumerate(sources):
        assert parts is not None
        is_null = number >= 2
        at = np.arange(1, len(parts) + 1) + (number - (len(sources) - 1) / 2) * width
        axis.bar(
            at,
            parts,
            width=width,
            color="white" if is_null else _COLOURS[_SIDES.index(side)],
            edgecolor=_COLOURS[_SIDES.index(side)],
            hatch="////" if is_null else None,
            label=f"{'no answer, ' * is_null}{side} at “{_short(label, _LABEL)}”: {score:.2f}",
        )
    axis.axhline(0.0, color="#222222", linewidth=0.8)
    axis.set_title("what each layer adds to the score", loc="left", fontsize=10)
    axis.set_xlabel("layer")
    axis.set_ylabel("score")
    layers = len(inspection.layers.weights) if inspection.layers else 0
    axis.set_xticks(range(1, layers + 1, -(-layers // 24)))
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(axis="y", alpha=0.3)
    axis.set_axisbelow(True)
    legend = axis.legend(
        frameon=False, fontsize=8, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def _short(text: str, letters: int) -> str:
    """One line that can be drawn: without control characters and halves of characters."""
    line = one_line(text).encode("utf-8", "replace").decode()
    return line if len(line) <= letters else line[: letters - 1] + "…"
