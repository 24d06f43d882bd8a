"""What is public: it is listed, documented, typed, and its examples run."""

import ast
import doctest
import inspect
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import readlet
from readlet.cluster.columns import AnswerColumns, ClassifyColumns
from readlet.compat import pipeline

ROOT = Path(__file__).parents[1]
PUBLIC: dict[str, Any] = {
    **{name: getattr(readlet, name) for name in readlet.__all__ if name != "__version__"},
    "compat.pipeline": pipeline,
    "cluster.columns.AnswerColumns": AnswerColumns,
    "cluster.columns.ClassifyColumns": ClassifyColumns,
}
NO_EXAMPLE = {
    "Published",  # it has that of `publish`
    "cluster.columns.ClassifyColumns",  # the package has no classifier
}


def test_all_names_are_listed_once_and_exist() -> None:
    """For the type checker, for `import *` and for those who ask."""
    tree = ast.parse(Path(readlet.__file__).read_text("utf-8"))
    (typed,) = (node for node in tree.body if isinstance(node, ast.If))
    imported = {
        alias.name
        for node in typed.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert imported | {"__version__"} == set(readlet.__all__) == set(dir(readlet))
    with pytest.raises(AttributeError):
        _ = readlet.nothing


def test_the_reference_page_has_every_name() -> None:
    page = (ROOT / "docs" / "reference.md").read_text("utf-8")
    named = set(re.findall(r"^\.\. auto\w+:: (?:readlet\.)?([\w.]+)", page, re.MULTILINE))
    assert named == set(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    value = PUBLIC[name]
    assert inspect.getdoc(value), name
    found = doctest.DocTestFinder().find(value, name, globs=dict(vars(readlet)) | PUBLIC)
    assert any(test.examples for test in found) or name in NO_EXAMPLE
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for test in found:
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


def test_a_typed_program_uses_every_name() -> None:
    """`consumer.py` is checked by mypy, strictly, with the package."""
    tree = ast.parse((ROOT / "tests" / "consumer.py").read_text("utf-8"))
    used = {
        alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module == "readlet"
        for alias in node.names
    }
    assert used == set(readlet.__all__)
    checked = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["mypy"]
    assert checked["strict"]
    assert "tests/consumer.py" in checked["files"]
