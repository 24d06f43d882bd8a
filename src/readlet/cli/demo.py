"""`readlet demo`: the whole loop on the bundled corpus."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from readlet.cli.console import console

if TYPE_CHECKING:
    from readlet.reader import Answerer

# A reason, a question in another language, and one that the passage leaves open.
_ASKED = ("marie-curie-12", "es-cacao-09", "trans-siberian-railway-10")
_LEARNT = ("panama-canal", "honey-bees", "fr-")


def demo() -> None:
    """Check the bundled data, score the baseline on it, train a tiny reader, and ask both."""
    from readlet.bundled import SPLITS
    from readlet.cli.check_view import show_report
    from readlet.cli.evaluation_view import show_evaluation
    from readlet.evaluation import evaluate_questions
    from readlet.inspection.check import check
    from readlet.reader import load_reader

    console.rule("1. Is the data sound?", align="left")
    show_report(check([f"bundled:{split}" for split in SPLITS], {}), list_all=False)

    console.rule("2. How far does counting words get?", align="left")
    console.print("The lexical baseline on the bundled test split:\n")
    show_evaluation(evaluate_questions("bundled:test", reader="baseline"))
    _ask(load_reader("baseline"), "test", _ASKED)

    console.rule("3. Does training work?", align="left")
    console.print("A tiny reader learns the bundled training questions, for about a minute.\n")
    with tempfile.TemporaryDirectory() as folder:
        _train_and_ask(Path(folder) / "tiny")

    console.rule("What to try next", align="left")
    for command, why in (
        ("readlet data check your-data.json", "what is wrong with your own data"),
        ("readlet ask 'Who wrote it?' passage.txt", "ask about your own text"),
        ("readlet train qacnn --set ...", "a real reader: see the README"),
    ):
        console.print(f"  {command:42}{why}", markup=False)


def _train_and_ask(folder: Path) -> None:
    from readlet.evaluation import evaluate_questions
    from readlet.recipe import load_recipe
    from readlet.train_reader import train_reader

    reader = train_reader(load_recipe("tiny"), folder, resume=False)
    for split in ("train", "test"):
        scores = evaluate_questions(f"bundled:{split}", reader=str(folder)).official
        console.print(f"{split:>5}: EM {scores['exact']:.1f}, F1 {scores['f1']:.1f}")
    console.print(
        "\nIt knows the passages it was trained on by heart, and next to nothing else: a few "
        "hundred\nquestions are enough to see training work, not to learn to read. "
        "Passages that it knows:\n"
    )
    _ask(reader, "train", _LEARNT)


def _ask(reader: "Answerer", split: str, chosen: tuple[str, ...]) -> None:
    """Ask the first question of the split whose id begins with each of the chosen names."""
    from readlet.cli.ask import show_answer
    from readlet.formats import read_examples

    examples = list(read_examples(f"bundled:{split}"))
    for name in chosen:
        example = next(e for e in examples if e.id.startswith(name))
        prediction = reader.answer(example.question, example.context)
        show_answer(example.question, example.context, prediction)
        golds = " | ".join(answer.text for answer in example.answers)
        console.print(f"gold: {golds or 'no answer here'}\n", style="dim", markup=False)
