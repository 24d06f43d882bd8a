import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import readlet

HEAVY = "torch transformers matplotlib datasets pyarrow fastapi onnxruntime ctranslate2".split()
SLOW = [*HEAVY, "scipy.stats", "rich.progress"]  # or slow to import


def test_import_stays_light() -> None:
    program = f"import sys, readlet; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_commands_that_need_no_tensors_load_none(tmp_path: Path) -> None:
    """One after the other in one process: what is loaded stays."""
    (tmp_path / "a.txt").write_text("Ada Brook came.")
    program = f"""
import sys
from readlet.cli import main
for words in (
    ["ask", "Who?", {str(tmp_path)!r}, "--reader", "baseline"],
    ["evaluate", "baseline", "bundled:test", "--json"],
    ["predict", "baseline", "bundled:test", "--out", {str(tmp_path / "p.csv")!r}],
):
    sys.argv = ["readlet", *words]
    try: main()
    except SystemExit as ending: assert not ending.code, words
    loaded = [name for name in {SLOW} if name in sys.modules]
    assert not loaded, (words, loaded)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_answers_need_no_compiler(tmp_path: Path, random_reader: Callable[..., Any]) -> None:
    """It would double the time until the first answer."""
    (tmp_path / "a.txt").write_text("Ada Brook came.")
    random_reader("Ada Brook came.", null=True).save(tmp_path / "reader")
    command = ["readlet", "ask", "Who?", str(tmp_path / "a.txt")]
    program = (
        "import sys; from readlet.cli import main\n"
        f"sys.argv = {[*command, '--reader', str(tmp_path / 'reader')]}\n"
        "try: main()\n"
        "except SystemExit as ending: print(ending.code)\n"
        "print([name in sys.modules for name in ('torch', 'torch._dynamo', 'triton')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"CUDA_VISIBLE_DEVICES": ""},
    )
    assert done.stdout.splitlines()[-2:] == ["0", "[True, False, False]"]


def test_every_requirement_is_used() -> None:
    """Every dependency is imported somewhere."""
    root = Path(__file__).parents[1]
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]

    def imported(*folders: str) -> set[str]:
        paths = [path for folder in folders for path in (root / folder).rglob("*.py")]
        text = "\n".join(path.read_text("utf-8") for path in paths)
        named = re.findall(r'_PACKAGE = "(\w+)"', text)  # of data only: it is located, not imported
        return {*re.findall(r"^\s*(?:import|from) (\w+)", text, re.MULTILINE), *named}

    def modules(requirements: list[str]) -> set[str]:
        names = {re.split(r"[<>=;\[ ]", requirement)[0] for requirement in requirements}
        return {
            {
                "scikit-learn": "sklearn",
                "markdown-it-py": "markdown_it",
                "python-docx": "docx",
            }.get(name, name).replace("-", "_")
            for name in names
        }

    assert modules(project["dependencies"]) <= imported("src")
    extras = project["optional-dependencies"]
    for extra in extras.keys() - {"dev"}:
        assert modules(extras[extra]) <= imported("src", "benchmarks", "examples"), extra


def test_no_two_modules_import_each_other() -> None:
    """Data flows one way. Imports inside functions count; those for types only do not."""
    package = Path(readlet.__file__).parent
    known = {
        ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__")
        for path in package.rglob("*.py")
    }

    def imported(module: str) -> set[str]:
        place = package.parent / module.replace(".", "/")
        path = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        found: set[str] = set()
        waiting: list[ast.AST] = [ast.parse(path.read_text("utf-8"))]
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.ImportFrom) and node.module:
                inside = {f"{node.module}.{name.name}" for name in node.names} & known
                found |= inside or {node.module} & known
            elif not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
                waiting += ast.iter_child_nodes(node)
        return found - {"readlet"}

    # Raises CycleError, which names the modules.
    assert set(TopologicalSorter({module: imported(module) for module in known}).static_order())
