"""Rooms import only to the left, and the picture of them is drawn from the real imports."""

import ast
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def drawing() -> ModuleType:
    spec = importlib.util.spec_from_file_location("draw_rooms", ROOT / "docs" / "draw_rooms.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_import_leads_to_the_left(drawing: ModuleType) -> None:
    """Lazy imports and those for types included."""
    place = {room: number for number, room in enumerate(drawing.ROOMS)}
    wrong = [
        f"{room} imports {other}"
        for room, other in drawing.edges()
        if other != "__init__" and place[other] > place[room]
    ]
    assert wrong == []


def test_nothing_imports_the_face_of_the_package(drawing: ModuleType) -> None:
    """Except for its version: it imports from everywhere, and so would who imports it."""
    users = {room for room, other in drawing.edges() if other == "__init__"}
    assert users <= {"cli"}


def test_every_module_stands_in_a_room(drawing: ModuleType) -> None:
    found = {
        path.stem if path.is_file() else path.name
        for path in drawing.PACKAGE.iterdir()
        if path.suffix == ".py" or (path.is_dir() and any(path.glob("*.py")))
    }
    assert found - {"__init__", "__main__"} == set(drawing.ROOMS)


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import readlet.nn.softmax", ["readlet.nn.softmax"]),
        ("def f():\n    from readlet.training.train import train", ["readlet.training.train"]),
        ("from readlet import inference", ["readlet", "readlet.inference"]),
        (
            "if TYPE_CHECKING:\n    from readlet.inference.reader import Reader",
            ["readlet.inference.reader"],
        ),
        ("import torch", []),
    ],
)
def test_imports_of_every_form_are_found(
    drawing: ModuleType, tmp_path: Path, code: str, found: list[str]
) -> None:
    (tmp_path / "module.py").write_text(code)
    assert drawing.imports(tmp_path / "module.py") == found


def test_no_module_is_imported_by_its_name_as_text(drawing: ModuleType) -> None:
    """`import_module` would hide an import from the tests above.

    Except for the commands, by modules of the same room, and for the face of the package: both load
    what is used only.
    """
    loaders = {drawing.PACKAGE / "__init__.py", drawing.PACKAGE / "cli" / "__init__.py"}
    for path in set(drawing.PACKAGE.rglob("*.py")) - loaders:
        tree = ast.parse(path.read_text("utf-8"))
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        names |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        used = names & {"import_module", "__import__"}
        assert not used, path


def test_the_design_page_lists_the_same_order(drawing: ModuleType) -> None:
    page = (ROOT / "docs" / "design.md").read_text("utf-8")
    rows = re.findall(r"^\| (`[^|]+`) \|", page, re.MULTILINE)
    named = [
        name.removesuffix("/").removesuffix(".py")
        for row in rows
        for name in re.findall(r"`([^`]+)`", row)
    ]
    assert tuple(named) == drawing.ROOMS


def test_the_picture_is_up_to_date(drawing: ModuleType) -> None:
    """If not: python docs/draw_rooms.py"""
    assert (ROOT / "docs" / "rooms.svg").read_text("utf-8") == drawing.svg(drawing.edges())


def test_the_design_pages_name_files_that_exist(drawing: ModuleType) -> None:
    pages = [ROOT / "docs" / "design.md", *(ROOT / "docs" / "design").glob("*.md")]
    named = {
        (page.name, name)
        for page in pages
        for name in re.findall(r"`([a-z_/]+\.py)`", page.read_text("utf-8"))
    }
    assert len(named) > 30
    missing = {
        (page, name)
        for page, name in named
        if not any((root / name).exists() for root in (drawing.PACKAGE, ROOT))
    }
    assert missing == set()
