"""Draw the rooms of the package and the imports between them: `python docs/draw_rooms.py`.

Writes docs/rooms.svg. Rooms stand from left to right in the order of docs/design.md; an arc leads
from a room to a room that it imports from, so all arrows point to the left. The thicker an arc, the
more modules import. What nearly every room imports is left out. A test checks the order, and that
the picture is up to date.
"""

import ast
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "readlet"
_EVERYWHERE = ("errors", "types", "console", "processes")
"""Files beside the rooms, imported by nearly all: no arcs."""
ROOMS = (
    *_EVERYWHERE,
    *("storage", "bundled", "text", "data", "evaluation", "nn", "recipe", "engine", "models"),
    *("inference", "compat", "export", "training", "augmentation", "vectors"),
    *("experiments", "serve", "cluster", "cli"),
)
"""From left to right: a room imports from those before it. Files beside the rooms are rooms too."""
_TOP = ("__init__", "__main__")  # the package's face: it may import from any room
_WIDTH, _GAP, _BOX, _HEIGHT = 88, 8, 26, 250


def room_of(module: str) -> str:
    """The room of a module of the package, by its dotted name: `readlet.nn.softmax` is in `nn`."""
    return module.split(".")[1] if "." in module else "__init__"


def imports(path: Path) -> list[str]:
    """Modules of the package that a file imports, inside functions too.

    Imports under `if TYPE_CHECKING` count too: a room knows the types of rooms to its left only.
    """
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.module and not node.level, f"{path}: a relative import"  # noqa: PT018
            found.append(node.module)
            if node.module == "readlet":  # from readlet import reading
                found += [f"readlet.{name.name}" for name in node.names]
        elif isinstance(node, ast.Import):
            found += [name.name for name in node.names]
    return [name for name in found if name == "readlet" or name.startswith("readlet.")]


def edges() -> Counter[tuple[str, str]]:
    """How many modules of a room import from another one: (room, imported room)."""
    counted: Counter[tuple[str, str]] = Counter()
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        here = parts[0]
        if here in _TOP:
            continue
        rooms = {room_of(name) for name in imports(path)} - {here}
        for room in rooms:
            known = room in ROOMS or (PACKAGE / room).exists()
            if known or room == "__init__":
                counted[here, room] += 1
    return counted


def svg(counted: Counter[tuple[str, str]]) -> str:
    """The picture, as text."""
    step, drawn = _WIDTH + _GAP, [room for room in ROOMS if room not in _EVERYWHERE]
    total = step * len(drawn) + _GAP
    middle = {room: _GAP + step * n + _WIDTH / 2 for n, room in enumerate(drawn)}
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total} {_HEIGHT + 40}" '
        'font-family="sans-serif" font-size="13" role="img" aria-label="Rooms and their imports">',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        '<defs><marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'markerUnits="userSpaceOnUse" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#47648c"/></marker></defs>',
    ]
    for (room, other), count in sorted(counted.items()):
        if room not in middle or other not in middle:
            continue
        start, end = middle[room] - 12, middle[other] + 12
        height = _HEIGHT * (0.12 + 0.8 * abs(start - end) / total)
        width = min(0.7 + 0.25 * count, 3.2)
        lines.append(
            f'<path d="M{start:.0f},{_HEIGHT} C{start:.0f},{_HEIGHT - height * 1.3:.0f} '
            f'{end:.0f},{_HEIGHT - height * 1.3:.0f} {end:.0f},{_HEIGHT}" fill="none" '
            f'stroke="#47648c" stroke-opacity="0.45" stroke-width="{width:.1f}" '
            f'marker-end="url(#a)"><title>{room} imports {other}: {count} modules</title></path>'
        )
    for room, x in middle.items():
        lines.append(
            f'<rect x="{x - _WIDTH / 2:.0f}" y="{_HEIGHT}" width="{_WIDTH}" height="{_BOX}" rx="5" '
            'fill="#eef2f7" stroke="#47648c"/>'
        )
        lines.append(f'<text x="{x:.0f}" y="{_HEIGHT + 18}" text-anchor="middle">{room}</text>')
    return "\n".join([*lines, "</svg>", ""])


if __name__ == "__main__":
    (ROOT / "docs" / "rooms.svg").write_text(svg(edges()), "utf-8")
