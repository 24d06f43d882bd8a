"""What is public: it is listed, documented, typed, and its examples run."""

import ast
import doctest
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import readlet
from readlet.compat import pipeline

ROOT = Path(__file__).parents[1]
PUBLIC: dict[str, Any] = {
    **{name: getattr(readlet, name) for name in readlet.__all__ if name != "__version__"},
    "compat.pipeline": pipeline,
}
# Nobody makes them: the examples are where they come from.
NO_EXAMPLE = {
    "AugmentationConfig",
    "Candidate",
    "Classification",
    "Found",
    "Prediction",
    "ReadletError",
}
CONSUMER = """
from pathlib import Path

from readlet import (
    AnswerOptions, AugmentationConfig, Classifier, Documents, Example, Reader, Span,
    augment_files, evaluate_questions, load_recipe, predict_file, read_examples, train_reader,
    write_examples,
)
from readlet.compat import pipeline


def use(folder: Path) -> float:
    reader = Reader.load(device="cpu")
    found = reader.answer("Who?", "Ada came.", AnswerOptions(n_best=2))
    first: str = found.n_best[0].text
    again = list(reader.answer_batch([("Who?", "Ada came.")], n_best=1))[0].text
    names: list[int | str] = [one.passage for one in Documents({"a": first}).answer(reader, "Who?")]
    examples: list[Example] = list(read_examples("bundled:test"))
    write_examples(folder / "some.json", examples)
    predicted: int = predict_file("bundled", "some.json", "out.csv").questions
    train_reader(load_recipe("tiny", ["training.epochs=1"]), folder / "runs")
    label: str = Classifier.load(folder).predict("A text").label
    augment_files(["some.json"], "more.json", AugmentationConfig(to=("es",)))
    pipeline("question-answering")(question="Who?", context=again + label)
    span: Span = examples[0].answers[0]
    evaluate_questions("bundled:test", reader="baseline")
    return found.score + span.start + predicted + len(names)
"""


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


def test_a_program_that_uses_it_passes_the_strict_type_checker(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    (tmp_path / "consumer.py").write_text(CONSUMER)
    checked = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary"]
    checked += ["--config-file", str(ROOT / "pyproject.toml"), "--follow-imports=silent"]
    done = subprocess.run(
        [*checked, str(tmp_path / "consumer.py")], capture_output=True, text=True, check=False
    )
    assert done.stdout == ""
    assert done.returncode == 0, done.stderr
