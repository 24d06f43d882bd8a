"""Pictures of an augmentation report, as SVG in the colours of the page."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from readlet.augment.tally import LanguageTally, Tally
from readlet.augment.text_statistics import BINS, LONGEST_RATIO, FieldStatistics, Growth

_WIDTH, _BAR = 640, 30
_LEFT, _RIGHT, _TOP, _HEIGHT = 60, 12, 14, 200
_SHADES = 7  # for reasons, from --loss-1 on; then they repeat

KEPT, COPIES = "kept", "copies of the source"


def colours(tally: Tally) -> dict[str, str]:
    """A colour for each thing that may become of a question: the same in all languages."""
    lost = sum((counts.lost for counts in tally.languages.values()), Counter[str]())
    ranked = sorted(lost.items(), key=lambda item: (-item[1], item[0]))
    reasons = {
        reason: f"var(--loss-{1 + number % _SHADES})" for number, (reason, _) in enumerate(ranked)
    }
    return {KEPT: "var(--kept)", **reasons, COPIES: "var(--copies)"}


def parts(counts: LanguageTally) -> Mapping[str, int]:
    """What became of the questions of a language."""
    return {KEPT: counts.kept, **counts.lost, COPIES: counts.copies}


def shares(counts: LanguageTally, colour_of: Mapping[str, str]) -> str:
    """One bar, divided by what became of the questions."""
    found = [(name, count) for name in colour_of if (count := parts(counts).get(name, 0))]
    total = counts.asked or 1
    drawn = []
    left = 0.0
    for name, count in found:
        width = _WIDTH * count / total
        title = escape(f"{name}: {count:,} ({count / total:.1%})")
        drawn.append(
            f'<rect x="{left:.2f}" width="{width:.2f}" height="{_BAR}" '
            f'style="fill: {colour_of[name]}"><title>{title}</title></rect>'
        )
        left += width
    label = escape("; ".join(f"{name} {count / total:.1%}" for name, count in found))
    return _svg("".join(drawn), _BAR, label, 'bar" preserveAspectRatio="none')


def length_ratios(found: FieldStatistics) -> str:
    """Histogram: characters of the new text divided by those of the old one."""
    highest = max(found.ratios) or 1
    step = (_WIDTH - _LEFT - _RIGHT) / (BINS + 1)
    bottom = _TOP + _HEIGHT
    drawn = []
    for number, count in enumerate(found.ratios):
        height = _HEIGHT * count / highest
        low = LONGEST_RATIO * number / BINS
        reach = f"{low:.2f} and more" if number == BINS else f"from {low:.2f}"
        drawn.append(
            f'<rect x="{_LEFT + step * number + 0.5:.2f}" y="{bottom - height:.2f}" '
            f'width="{step - 1:.2f}" height="{height:.2f}" style="fill: var(--first)">'
            f"<title>{reach}: {count:,}</title></rect>"
        )
    ticks = [(0.5 * n, f"{0.5 * n:g}") for n in range(int(LONGEST_RATIO / 0.5) + 1)]
    for ratio, name in ticks:
        x = _LEFT + step * BINS * ratio / LONGEST_RATIO
        drawn.append(_tick(x, bottom, name))
    drawn.append(_line([(_LEFT, bottom), (_WIDTH - _RIGHT, bottom)], "var(--firm)", 1))
    drawn.append(_x_label(bottom, "length of the new text / length of the old text"))
    drawn.append(_y_tick(_TOP, f"{highest:,}"))
    label = f"mean ratio {found.mean_ratio:.2f} over {found.pairs:,} pairs"
    return _svg("".join(drawn), bottom + 46, label, "plot")


def vocabulary(growth: Sequence[Growth]) -> str:
    """Distinct words over questions: a dashed line for the old texts, a whole one for all."""
    last = growth[-1]
    widest, highest = max(last.questions, 1), max(last.all, 1)
    bottom = _TOP + _HEIGHT

    def place(questions: int, count: int) -> tuple[float, float]:
        x = _LEFT + (_WIDTH - _LEFT - _RIGHT) * questions / widest
        return x, bottom - _HEIGHT * count / highest

    points = [Growth(0, 0, 0), *growth]
    drawn = [
        _line([place(p.questions, p.all) for p in points], "var(--first)", 2),
        _line([place(p.questions, p.old) for p in points], "var(--second)", 2, "6 4"),
        _line([(_LEFT, bottom), (_WIDTH - _RIGHT, bottom)], "var(--firm)", 1),
        _y_tick(_TOP, f"{last.all:,}"),
        _y_tick(place(0, last.old)[1], f"{last.old:,}") if _apart(last, highest) else "",
        _tick(_LEFT, bottom, "0"),
        _tick(_WIDTH - _RIGHT - 24, bottom, f"{last.questions:,}"),
        _x_label(bottom, "questions of the data"),
    ]
    label = f"{last.old:,} distinct words in the old texts, {last.all:,} in all"
    return _svg("".join(drawn), bottom + 46, label, "plot")


def _apart(last: Growth, highest: int) -> bool:
    """Whether the two numbers at the axis do not overlap."""
    return _HEIGHT * (last.all - last.old) / highest > 16


def _line(points: Iterable[tuple[float, float]], colour: str, width: int, dashes: str = "") -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    style = f'style="stroke: {colour}; fill: none" stroke-width="{width}"'
    return f'<polyline points="{path}" {style}{dashed}/>'


def _tick(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y + 18:.1f}" text-anchor="middle">{text}</text>'


def _y_tick(y: float, text: str) -> str:
    return f'<text x="{_LEFT - 7}" y="{y + 4:.1f}" text-anchor="end">{text}</text>'


def _x_label(y: float, text: str) -> str:
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    return f'<text x="{middle:.1f}" y="{y + 38:.1f}" text-anchor="middle">{text}</text>'


def _svg(inside: str, height: float, label: str, kind: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:g}" role="img" '
        f'class="{kind}" fill="currentColor" font-family="system-ui, sans-serif" font-size="13">'
        f"<title>{label}</title>{inside}</svg>"
    )
