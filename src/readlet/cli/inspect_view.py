"""How an inspection is printed: weights of layers as a heat map, scores and words as tables."""

from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.color import Color
from rich.markup import escape
from rich.style import Style
from rich.table import Table
from rich.text import Text

from readlet.cli.answer_view import show_prediction, show_question
from readlet.cli.console import console
from readlet.inference.inspection import END, START, Inspection
from readlet.models.family import Floats
from readlet.terminal import one_line

_PLACES = 16  # of the heat map, around the answer
_RANKED = 8  # places of the table
_BAR = 12  # columns of a probability of 1
_MIN_LABEL, _MAX_LABEL = 8, 18
_SCORE = 9  # columns of a score, with the space before it
_BLOCKS = " ░▒▓█"
# The colours of the highest and the lowest weights, from white.
_HIGH, _LOW, _WHITE = (8, 81, 156), (190, 80, 0), (247, 251, 255)
_NAMES = ("start", "end")


def show_inspection(found: Inspection) -> None:
    """Print the answer, then where its scores come from."""
    show_question(found.question)
    show_prediction(found.prediction)
    if found.layers is None:
        _show_places(found)
    else:
        _show_weights(found)
        _show_sources(found)
    _show_decision(found)


def _show_weights(found: Inspection) -> None:
    assert found.layers is not None
    places = found.near_answer(_PLACES)
    weights = found.weights(places)  # (N, 1 + places, 2)
    labels = [one_line(found.labels[place]) for place in places]
    heat = _HeatMap.fitting(weights, [one_line(found.null_label), *labels], console.width)
    how = "in %" if heat.numbers else "as shades"
    console.print(f"\n[bold]Weights of the layers[/bold] {how}, mix {found.layers.mix}")
    for sides in heat.sides:
        lines = [heat.heading(sides), heat.line(0, sides, found.layers.scores[found.layers.null])]
        before = -1
        for row, place in enumerate(places, 1):
            if place > before + 1:
                lines.append(Text(f"  … {place - before - 1:,} tokens", style="dim"))
            inside = found.first <= place <= found.last
            scores = found.layers.scores[found.layers.first + place]
            lines.append(heat.line(row, sides, scores, inside=inside))
            before = place
        if after := len(found.offsets) - before - 1:
            lines.append(Text(f"  … {after:,} tokens", style="dim"))
        for line in lines:
            console.print(line, no_wrap=True, overflow="crop", crop=True)
    part = f"▸ best answer. {len(places):,} of {len(found.offsets):,} tokens of the passage"
    if found.windows > 1:
        part = f"{part} in window {found.window:,} of {found.windows:,}"
    console.print(f"{part}, and {escape(found.null_label)}; --json has all.", style="dim")


@dataclass(frozen=True)
class _HeatMap:
    """A line for each token, a cell for each layer; start and end beside or below each other."""

    weights: Floats  # (N, tokens, 2)
    labels: list[str]
    numbers: bool  # in the cells, or blocks
    cell: int  # columns of a cell
    label: int  # columns of a label
    sides: tuple[tuple[int, ...], ...]  # of each part

    @classmethod
    def fitting(cls, weights: Floats, labels: list[str], width: int) -> "_HeatMap":
        """With numbers where they fit; if possible with start and end beside each other."""
        wanted = min(max(_MIN_LABEL, *map(cell_len, labels)), _MAX_LABEL)
        digits = 1 + max(len(_percent(value)) for value in weights.ravel().tolist())
        ways = [
            (numbers, cell, sides)
            for numbers, cell in ((True, digits), (False, 2), (False, 1))
            for sides in (((START, END),), ((START,), (END,)))
        ]
        taken = [2 + len(s[0]) * (len(weights) * cell + _SCORE + 2) for _, cell, s in ways]
        way = next((i for i, t in enumerate(taken) if t + _MIN_LABEL <= width), len(ways) - 1)
        label = max(min(wanted, width - taken[way]), _MIN_LABEL)
        numbers, cell, sides = ways[way]
        return cls(weights, labels, numbers, cell, label, sides)

    def heading(self, sides: tuple[int, ...]) -> Text:
        above = Text(" " * (2 + self.label), style="bold")
        line = Text(" " * (2 + self.label), style="bold")
        for side in sides:
            above.append(f"   {_NAMES[side]}: layers".ljust(len(self.weights) * self.cell + 11))
            line.append("  ")
            layers = [str(n) for n in range(1, len(self.weights) + 1)]
            if self.cell > max(map(len, layers)):
                line.append("".join(f"{layer:>{self.cell}}" for layer in layers))
            else:  # only the first and the last fit
                between = self.cell * len(layers) - len(layers[-1])
                line.append(f"{layers[0]:<{between}}{layers[-1]}")
            line.append(f"{'score':>{_SCORE}}")
        return Text("\n").join([above, line])

    def line(
        self, row: int, sides: tuple[int, ...], scores: Floats, *, inside: bool = False
    ) -> Text:
        line = Text("▸ " if inside else "  ")
        line.append(_sized(self.labels[row], self.label), "bold" if inside else "")
        highest = float(abs(self.weights).max()) or 1.0
        for side in sides:
            line.append("  ")
            for value in self.weights[:, row, side].tolist():
                line.append(*self._drawn(value, value / highest))
            line.append(f"{scores[side]:z{_SCORE}.2f}", "bold" if inside else "")
        return line

    def _drawn(self, value: float, share: float) -> tuple[str, Style]:
        """A weight as a number or a block, with its colour; a share is from -1 to 1."""
        far = _HIGH if share >= 0 else _LOW
        mixed = [w + (f - w) * abs(share) for w, f in zip(_WHITE, far, strict=True)]
        shade = Color.from_rgb(*mixed)
        if self.numbers:
            ink = Color.from_rgb(*((0, 0, 0) if abs(share) < 0.55 else _WHITE))
            return f"{_percent(value):>{self.cell}}", Style(color=ink, bgcolor=shade)
        block = _BLOCKS[round(abs(share) * (len(_BLOCKS) - 1))] if not console.color_system else "█"
        return block * self.cell, Style(color=shade)


def _show_sources(found: Inspection) -> None:
    """A table of what each layer adds to the scores of start, end and "no answer"."""
    assert found.layers is not None
    sources = found.sources()
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("layer", justify="right")
    for number, (side, label, *_) in enumerate(sources):
        name = one_line(label) if number < 2 else "no answer"
        table.add_column(Text(f"{side}\n{name}", justify="right"), justify="right")
    columns = [parts for _, _, _, parts in sources if parts is not None]
    for layer, values in enumerate(zip(*columns, strict=True), 1):
        table.add_row(str(layer), *(f"{value:z.2f}" for value in values))
    table.add_row("score", *(f"{score:.2f}" for _, _, score, _ in sources), style="bold")
    if found.layers.normalised:
        final = [*found.answer_scores, *(found.null or ())]
        table.add_row("normalised", *(f"{score:.2f}" for score in final), style="bold")
    added = "What each layer adds to the scores" if columns else "Scores"
    console.print(f"\n[bold]{added}[/bold]")
    console.print(table)
    if not columns:
        note = "A transformer block mixes the layers: its scores are no sum over them."
        console.print(note, style="dim")


def _show_places(found: Inspection) -> None:
    """The likeliest words, as the first and as the last of the answer."""
    where = f" of window {found.window:,} of {found.windows:,}" if found.windows > 1 else ""
    console.print(f"\n[bold]Likeliest words{where}[/bold]")
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for name in _NAMES:
        table.add_column(name, no_wrap=True, overflow="ellipsis", max_width=_MAX_LABEL)
        table.add_column("at", justify="right", style="dim")
        table.add_column("", justify="right")
        table.add_column("", width=_BAR, no_wrap=True)
    ranked = [found.likeliest(side, _RANKED) for side in (START, END)]
    for row in range(max(map(len, ranked))):
        cells: list[str | Text] = []
        for side, places in enumerate(ranked):
            cells += _ranked_cells(found, side, places[row]) if row < len(places) else [""] * 4
        table.add_row(*cells)
    if found.null is not None:
        table.add_row(*["  no answer", "", *_bar(found.prediction.no_answer)] * 2)
    console.print(table)
    left_out = len(found.offsets) - _RANKED
    if left_out > 0:
        console.print(f"▸ best answer. {left_out:,} words left out; --json has all.", style="dim")


def _ranked_cells(found: Inspection, side: int, place: int) -> list[str | Text]:
    chosen = place == (found.first, found.last)[side]
    probability = float(found.probabilities[place, side])
    label = Text(f"{'▸ ' if chosen else '  '}{one_line(found.labels[place])}")
    label.stylize("bold" if chosen else "")
    at = str(int(found.offsets[place, 0]))
    return [label, at, *_bar(probability)]


def _bar(probability: float) -> list[str | Text]:
    return [f"{probability:.3f}", Text("█" * round(probability * _BAR), style="blue")]


def _show_decision(found: Inspection) -> None:
    """The scores of the best answer and of "no answer", and what follows."""
    start, end = found.answer_scores
    console.print(f"\nbest answer  {start:.2f} + {end:.2f} = {start + end:.2f}")
    if found.null is None:
        console.print("This reader has no score for “no answer”: it always answers.", style="dim")
        return
    start, end = found.null
    where = " in this window" if found.windows > 1 else ""
    console.print(f"no answer    {start:.2f} + {end:.2f} = {start + end:.2f}{where}")
    abstains = f"abstains above {found.threshold:.2f}"
    console.print(f"probability of no answer {found.prediction.no_answer:.2f}, {abstains}")


def _percent(value: float) -> str:
    return f"{100 * value:z.0f}"


def _sized(label: str, columns: int) -> str:
    """The label in exactly so many columns of the terminal."""
    cut = f"{set_cell_size(label, columns - 1)}…" if cell_len(label) > columns else label
    return set_cell_size(cut, columns)
