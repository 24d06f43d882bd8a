"""Learning curves as an SVG: the decisive score over epochs, a line per row, a band over seeds."""

import math
import re
from collections.abc import Sequence
from html import escape

from readlet.experiments.report import CurvePoint, Report, ReportRow
from readlet.experiments.wording import curve_label

ROWS_DRAWN = 8

# Okabe and Ito's colours, which most colour-blind people can distinguish; the first row has the
# colour of the text. Their yellow is too faint on white; a dark page sets --series-7 to it.
_COLOURS = "#0072b2 #d55e00 #009e73 #cc79a7 #56b4e9 #e69f00 #b3a100".split()
# Dashes and markers distinguish the rows without colour.
_DASHES = ("", "7 3", "2 3", "9 3 2 3", "5 5", "", "7 3", "2 3")
_MARKERS = (
    '<circle r="3.2"/>',
    '<path d="M-3-3h6v6h-6z"/>',
    '<path d="M0-4 3.8 3h-7.6z"/>',
    '<path d="M0-4.2 4.2 0 0 4.2-4.2 0z"/>',
    '<path d="M0 4 3.8-3h-7.6z"/>',
    '<circle r="3.2" fill="none"/>',
    '<path d="M-3-3h6v6h-6z" fill="none"/>',
    '<path d="M-3-3 3 3M-3 3 3-3"/>',
)
_MARKERS_PER_LINE = 12

# The drawing is narrow, so that its text is still large enough on a phone.
_WIDTH, _LEFT, _RIGHT, _TOP, _PLOT_HEIGHT = 560, 54, 14, 12, 280
_LEGEND_TOP, _LEGEND_LINE, _LEGEND_LETTERS = 58, 22, 48
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def drawn_rows(report: Report) -> list[ReportRow]:
    """Rows in the figure, in table order: the first one, and the best by their last score."""
    rows = [row for row in report.rows if row.curve]
    ranked = sorted(rows[1:], key=lambda row: -row.curve[-1].score)
    chosen = {row.name for row in (*rows[:1], *ranked[: ROWS_DRAWN - 1])}
    return [row for row in rows if row.name in chosen]


def curves_caption(report: Report) -> str:
    with_curve = sum(1 for row in report.rows if row.curve)
    drawn = len(drawn_rows(report))
    asked = f"{report.asked} {report.noun}".lstrip()
    caption = f"{curve_label(report)} on the {asked} during training: the mean over the seeds"
    if any(_has_band(row.curve) for row in drawn_rows(report)):
        caption += ", with a band from the lowest to the highest seed"
    if with_curve > drawn:
        caption += f". The first row and the best others are shown; {with_curve - drawn} left out"
    return f"{caption}."


def learning_curves(report: Report, *, standalone: bool = False) -> str:
    """The SVG: `standalone` for a separate file, on white; otherwise in the colours of a page."""
    rows = drawn_rows(report)
    ink = "#222222" if standalone else "currentColor"
    height = _TOP + _PLOT_HEIGHT + _LEGEND_TOP + _LEGEND_LINE * max(len(rows), 1)
    caption = curves_caption(report) if rows else "No learning curve yet."
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" '
        f'width="{_WIDTH}" height="{height}" class="curves" fill="{ink}" '
        'font-family="system-ui, sans-serif" font-size="13">',
        f"<title>{_text(caption)}</title>",
    ]
    if standalone:
        parts.append('<rect width="100%" height="100%" fill="#ffffff"/>')
    if rows:
        points = [point for row in rows for point in row.curve]
        frame = _Frame(points)
        parts += frame.axes(ink, curve_label(report))
        styles = [_Style(n, ink, standalone) for n in range(len(rows))]
        pairs = list(zip(rows, styles, strict=True))
        parts += [
            frame.band(row.curve, style.colour) for row, style in pairs if _has_band(row.curve)
        ]
        # The baseline is drawn last, on top: the others are compared with it.
        parts += [frame.line(row.curve, style) for row, style in reversed(pairs)]
        parts += [
            _legend_line(number, row.name, style) for number, (row, style) in enumerate(pairs)
        ]
    else:
        parts.append(f'<text x="{_LEFT}" y="{_TOP + 20}">{caption}</text>')
    return "\n".join((*parts, "</svg>"))


class _Style:
    """Colour, dashes and marker of the n-th line."""

    def __init__(self, number: int, ink: str, standalone: bool) -> None:
        colours = [ink, *_COLOURS]
        colour = colours[number]
        self.colour = colour if standalone or not number else f"var(--series-{number}, {colour})"
        self.dashes = f' stroke-dasharray="{_DASHES[number]}"' if _DASHES[number] else ""
        self._marker = _MARKERS[number]

    def stroke(self) -> str:
        return f'style="stroke: {self.colour}; fill: none" stroke-width="1.8"{self.dashes}'

    def marker(self, x: float, y: float) -> str:
        inside = self._marker.replace('fill="none"', 'style="fill: none"')
        style = f'style="stroke: {self.colour}; fill: {self.colour}" stroke-width="1.4"'
        return f'<g transform="translate({x:.1f} {y:.1f})" {style}>{inside}</g>'


class _Frame:
    """Maps epochs and scores to coordinates, and draws the axes."""

    def __init__(self, points: Sequence[CurvePoint]) -> None:
        first, last = min(p.epoch for p in points), max(p.epoch for p in points)
        # Whole epochs only, unless the whole curve lies within one or two.
        whole = 1 if last - first >= 2 else 0
        self._epochs = _ticks(first, last, smallest=whole) if first < last else [first]
        self._scores = _ticks(min(p.lowest for p in points), max(p.highest for p in points))
        # Epochs fill the width exactly; scores are rounded outwards to a gridline.
        self._x_range = (first, last) if first < last else (first - 0.5, last + 0.5)
        self._y_range = (self._scores[0], self._scores[-1])

    def x(self, epoch: float) -> float:
        low, high = self._x_range
        inset = 8  # keeps the first markers off the axis
        width = _WIDTH - _LEFT - _RIGHT - 2 * inset
        return _LEFT + inset + width * (epoch - low) / (high - low)

    def y(self, score: float) -> float:
        low, high = self._y_range
        return _TOP + _PLOT_HEIGHT * (high - score) / (high - low)

    def axes(self, ink: str, label: str) -> list[str]:
        right, bottom = _WIDTH - _RIGHT, _TOP + _PLOT_HEIGHT
        parts = []
        for score in self._scores:
            y = self.y(score)
            parts += [
                f'<path d="M{_LEFT} {y:.1f}H{right}" stroke="{ink}" stroke-opacity="0.16"/>',
                f'<text x="{_LEFT - 7}" y="{y + 4:.1f}" text-anchor="end">{score:g}</text>',
            ]
        low, high = self._x_range
        for epoch in self._epochs:
            if low <= epoch <= high:
                x = self.x(epoch)
                parts += [
                    f'<path d="M{x:.1f} {bottom}v5" stroke="{ink}" stroke-opacity="0.6"/>',
                    f'<text x="{x:.1f}" y="{bottom + 20}" text-anchor="middle">{epoch:g}</text>',
                ]
        middle = (_LEFT + right) / 2
        return [
            *parts,
            f'<path d="M{_LEFT} {bottom}H{right}" stroke="{ink}" stroke-opacity="0.6"/>',
            f'<text x="{middle}" y="{bottom + 39}" text-anchor="middle">Epoch</text>',
            f'<text transform="translate(12 {_TOP + _PLOT_HEIGHT / 2}) rotate(-90)" '
            f'text-anchor="middle">{_text(label)}</text>',
        ]

    def band(self, curve: Sequence[CurvePoint], colour: str) -> str:
        upper = [f"{self.x(p.epoch):.1f} {self.y(p.highest):.1f}" for p in curve]
        lower = [f"{self.x(p.epoch):.1f} {self.y(p.lowest):.1f}" for p in reversed(curve)]
        shape = "L".join((*upper, *lower))
        return f'<path d="M{shape}z" style="fill: {colour}" fill-opacity="0.13"/>'

    def line(self, curve: Sequence[CurvePoint], style: _Style) -> str:
        points = [(self.x(p.epoch), self.y(p.score)) for p in curve]
        shape = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        step = math.ceil(len(points) / _MARKERS_PER_LINE)
        marked = points[::-step]  # from the end: the last score matters most
        markers = "".join(style.marker(x, y) for x, y in marked)
        return f'<path d="M{shape}" {style.stroke()}/>{markers}'


def _legend_line(number: int, name: str, style: _Style) -> str:
    y = _TOP + _PLOT_HEIGHT + _LEGEND_TOP + _LEGEND_LINE * number + 4
    shown = name if len(name) <= _LEGEND_LETTERS else f"{name[: _LEGEND_LETTERS - 1].rstrip()}…"
    return (
        f'<path d="M{_LEFT} {y}h40" {style.stroke()}/>{style.marker(_LEFT + 20, y)}'
        f'<text x="{_LEFT + 50}" y="{y + 4.5}"><title>{_text(name)}</title>{_text(shown)}</text>'
    )


def _has_band(curve: Sequence[CurvePoint]) -> bool:
    return len(curve) > 1 and any(point.lowest < point.highest for point in curve)


def _ticks(low: float, high: float, *, smallest: float = 0, about: int = 5) -> list[float]:
    """About `about` round numbers that cover the range from `low` to `high`."""
    wanted = max((high - low) / about, smallest, 1e-3)
    power = 10.0 ** math.floor(math.log10(wanted))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= wanted * 0.999)
    first = math.floor(low / step + 1e-9)
    last = max(math.ceil(high / step - 1e-9), first + 1)
    return [round(number * step, 6) for number in range(first, last + 1)]


def _text(text: str) -> str:
    return escape(_NOT_XML.sub("", text))
