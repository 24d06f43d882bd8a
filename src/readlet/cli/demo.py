"""`readlet demo`: the whole loop on what comes with the package."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from readlet.cli.console import console

if TYPE_CHECKING:
    from readlet.reading.reader_names import Answerer

# Three questions about one passage, which leaves the last of them open.
ASKED_OF_BUNDLED = tuple(f"trans-siberian-railway-{number}" for number in ("03", "06", "10"))
# A reason, a question in another language, and one that the passage leaves open.
_ASKED_OF_BASELINE = ("marie-curie-12", "es-cacao-09", "trans-siberian-railway-10")
_LEARNT = ("panama-canal", "honey-bees", "fr-")
_EPOCHS = 8  # less than half of the recipe's, and enough to know the questions by heart


def demo() -> None:
    """Ask the bundled reader, score it, check data, and train a tiny reader, in about a minute."""
    from readlet.bundled import bundled_reader

    check, train = ("Is the data sound?", _check_data), ("Does training work?", _train)
    parts: list[tuple[str, Callable[[], None]]]
    if bundled_reader() is not None:
        ask, score = ("What does a reader say?", _ask_bundled), ("How good is it?", _score_bundled)
        parts = [ask, score, check, train]
    else:
        parts = [check, ("How far does counting words get?", _score_baseline), train]
    for number, (title, show) in enumerate(parts, 1):
        console.rule(f"{number}. {title}", align="left")
        show()
    console.rule("What to try next", align="left")
    for command, why in (
        ("readlet ask 'Who wrote it?' passage.txt", "ask about your own text"),
        ("readlet data check your-data.json", "what is wrong with your own data"),
        ("readlet train qacnn --set ...", "a reader of your own: see the README"),
    ):
        console.print(f"  {command:42}{why}", markup=False)


def _ask_bundled() -> None:
    from readlet.reading.reader import Reader

    console.print("The reader that comes with Readlet, three times right on a passage new to it:\n")
    _ask(Reader.load(), "test", ASKED_OF_BUNDLED)


def _score_bundled() -> None:
    """All questions of the test split against the baseline, then the English ones alone."""
    from readlet.cli.evaluation_view import show_evaluation
    from readlet.formats import read_examples
    from readlet.metrics.evaluation import evaluate
    from readlet.reading.evaluate_files import evaluate_questions, read_predictions

    english = [e for e in read_examples("bundled:test") if e.language == "en"]
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for name in ("baseline", "bundled"):
            said = Path(folder) / name
            against = Path(folder) / "baseline" if name == "bundled" else None
            whole = evaluate_questions("bundled:test", reader=name, save=said, against=against)
            part = evaluate(english, read_predictions(said)).official
            scores = f"EM {part['exact']:.1f}, F1 {part['f1']:.1f}"
            lines.append(f"{name} on the English questions: {scores}")
    console.print("On the bundled test split, in four languages, against the lexical baseline:\n")
    show_evaluation(whole)
    console.print("\n".join(lines) + "\n")


def _check_data() -> None:
    from readlet.bundled import SPLITS
    from readlet.cli.check_view import show_report
    from readlet.inspection.check import check

    show_report(check([f"bundled:{split}" for split in SPLITS], {}), list_all=False)


def _score_baseline() -> None:
    from readlet.cli.evaluation_view import show_evaluation
    from readlet.reading.evaluate_files import evaluate_questions
    from readlet.reading.reader import load_reader

    console.print("The lexical baseline on the bundled test split:\n")
    show_evaluation(evaluate_questions("bundled:test", reader="baseline"))
    _ask(load_reader("baseline"), "test", _ASKED_OF_BASELINE)


def _train() -> None:
    from readlet.fitting.train import train_reader
    from readlet.reading.evaluate_files import evaluate_questions
    from readlet.recipe.recipe_files import load_recipe

    console.print("A tiny reader learns the bundled training questions, for half a minute.\n")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tiny"
        recipe = load_recipe("tiny", [f"training.epochs={_EPOCHS}"])
        reader = train_reader(recipe, path, resume=False)
        for split in ("train", "test"):
            scores = evaluate_questions(f"bundled:{split}", reader=str(path)).official
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
