"""How well confidences match accuracies, in bins of confidence; drawn as an SVG plot."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_BINS = 10


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """The predictions with a confidence from `low` to `high`."""

    low: float
    high: float
    predictions: int
    # Their mean confidence, and the share of them that is right.
    confidence: float
    accuracy: float


def reliability(confidences: Sequence[float], correct: Sequence[float]) -> list[ReliabilityBin]:
    """Ten bins of equal width; those without predictions are left out."""
    # (items,) each
    predicted, actual = np.asarray(confidences, np.float64), np.asarray(correct, np.float64)
    numbers = np.minimum((predicted * _BINS).astype(int), _BINS - 1)  # (items,)
    bins = []
    for number in range(_BINS):
        members = numbers == number  # (items,)
        if members.any():
            means = float(predicted[members].mean()), float(actual[members].mean())
            low, high = number / _BINS, (number + 1) / _BINS
            bins.append(ReliabilityBin(low, high, int(members.sum()), *means))
    return bins


def calibration_error(bins: Sequence[ReliabilityBin]) -> float:
    """Expected calibration error: the weighted mean gap between confidence and accuracy."""
    gaps = sum(bin.predictions * abs(bin.confidence - bin.accuracy) for bin in bins)
    return gaps / sum(bin.predictions for bin in bins) if bins else 0.0


def expected_calibration_error(confidences: Sequence[float], correct: Sequence[float]) -> float:
    """Weighted mean gap between confidence and accuracy over ten bins of equal width."""
    return calibration_error(reliability(confidences, correct))


_SIZE, _LEFT, _TOP = 300, 52, 48  # of the square of the plot
_WIDTH, _COUNTS_TOP, _COUNTS_HEIGHT = 374, 370, 48
_HEIGHT = _COUNTS_TOP + _COUNTS_HEIGHT + 44
_INK, _BAR, _GAP, _GRID, _COUNT = "#222222", "#0072b2", "#d55e00", "#dddddd", "#999999"
_LEGEND = (("share right", _BAR), ("gap to confidence", _GAP), ("predictions", _COUNT))


def reliability_plot(bins: Sequence[ReliabilityBin]) -> str:
    """A perfectly calibrated reader has all bars end on the diagonal."""
    most = max((bin.predictions for bin in bins), default=1)
    total = sum(bin.predictions for bin in bins)
    title = f"calibration error {calibration_error(bins):.3f} on {total:,} predictions"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="Reliability plot: {title}" '
        f'font-family="system-ui, sans-serif" font-size="12" fill="{_INK}">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
        _text(_LEFT, 18, title, "start"),
        *_legend(),
        *_axes(),
    ]
    for bin in bins:
        parts += [*_accuracy(bin), *_count(bin, most)]
    parts += [
        f'<path d="M{_x(0)} {_y(0)}L{_x(1)} {_y(1)}" stroke="{_INK}" stroke-dasharray="4 3"/>',
        _text(_x(0.5), _HEIGHT - 8, "confidence", "middle"),
        _text(0, 0, "accuracy", "middle", f' transform="translate(14 {_y(0.5)}) rotate(-90)"'),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _x(value: float) -> float:
    return round(_LEFT + _SIZE * value, 1)


def _y(value: float) -> float:
    return round(_TOP + _SIZE * (1 - value), 1)


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}"{more}>{text}</text>'


def _legend() -> list[str]:
    parts = []
    for number, (label, colour) in enumerate(_LEGEND):
        left = _LEFT + (0, 90, 218)[number]
        parts += [
            f'<rect x="{left}" y="27" width="10" height="10" fill="{colour}"/>',
            _text(left + 14, 36, label, "start"),
        ]
    return parts


def _axes() -> list[str]:
    lines = []
    for tick in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        lines += [
            f'<path d="M{_x(0)} {_y(tick)}H{_x(1)}" stroke="{_GRID}"/>',
            _text(_LEFT - 6, _y(tick) + 4, f"{tick:.1f}", "end"),
            _text(_x(tick), _COUNTS_TOP + _COUNTS_HEIGHT + 16, f"{tick:.1f}", "middle"),
        ]
    return lines


def _accuracy(bin: ReliabilityBin) -> list[str]:
    """A bar as high as the accuracy, and the gap from there to the mean confidence."""
    left, width = _x(bin.low) + 1, _SIZE * (bin.high - bin.low) - 2
    low, high = sorted((bin.accuracy, bin.confidence))
    bar = f'y="{_y(bin.accuracy)}" height="{_SIZE * bin.accuracy:.1f}"'
    gap = f'y="{_y(high)}" height="{_SIZE * (high - low):.1f}"'
    return [
        f'<rect x="{left:.1f}" width="{width:.1f}" {bar} fill="{_BAR}"/>',
        f'<rect x="{left:.1f}" width="{width:.1f}" {gap} fill="{_GAP}" fill-opacity="0.35" '
        f'stroke="{_GAP}"/>',
    ]


def _count(bin: ReliabilityBin, most: int) -> list[str]:
    """A small bar below: how many predictions the bin has."""
    left, width = _x(bin.low) + 1, _SIZE * (bin.high - bin.low) - 2
    height = max(_COUNTS_HEIGHT * bin.predictions / most, 1.0)
    top = _COUNTS_TOP + _COUNTS_HEIGHT - height
    shown = f"{bin.predictions:,} predictions, confidence {bin.confidence:.2f}"
    return [
        f'<rect x="{left:.1f}" width="{width:.1f}" y="{top:.1f}" height="{height:.1f}" '
        f'fill="{_COUNT}"><title>{shown}, accuracy {bin.accuracy:.2f}</title></rect>'
    ]
