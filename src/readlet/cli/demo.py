"""`readlet demo`: a tour of the package with its bundled reader and data."""

import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from readlet.console import console
from readlet.errors import install_extra

# Questions about two passages; neither answers the last one about it.
ASKED_OF_BUNDLED = (
    *(f"trans-siberian-railway-{number}" for number in ("03", "06", "12")),
    *(f"antikythera-{number}" for number in ("05", "12", "04")),
)
# Smaller and faster than the recipe, and enough to memorise the training questions.
_QUICK = (
    *("model.width=32", "model.head_width=16", "model.feed_forward=32"),
    *("training.epochs=6", "training.batch_size=8", "training.learning_rate=5e-3"),
    *("training.warmup_steps=15", "training.ema=0.9"),
)


def demo() -> None:
    """Ask, score, check data, train: a tour of about a minute."""
    parts: list[tuple[str, Callable[[], None]]] = [
        ("What does the reader answer?", _ask_bundled),
        ("How good is it?", _score_bundled),
        ("Is the data valid?", _check_data),
        ("Does training work?", _train),
    ]
    has_torch = find_spec("torch") is not None
    parts = parts if has_torch else parts[:-1]
    for number, (title, show) in enumerate(parts, 1):
        console.rule(f"{number}. {title}", align="left")
        show()
    if not has_torch:
        console.print(f"Training needs torch: {install_extra('train')}\n", markup=False)
    console.rule("What to try next", align="left")
    for command, why in (
        ("readlet ask 'Who wrote it?' your-folder", "ask about your own documents"),
        ("readlet data check your.csv", "find problems in your data"),
        ("readlet train finetune --set data.train=your.csv", "adapt the reader to it"),
    ):
        console.print(f"  {command:50}{why}", markup=False)


def _ask_bundled() -> None:
    from readlet.cli.answers import answer_in, show_question
    from readlet.data import read_examples
    from readlet.inference.document_text import DocumentText
    from readlet.inference.reader import Reader

    console.print("Six questions about two unseen passages, two of them unanswerable:\n")
    reader = Reader.load()
    examples = list(read_examples("bundled:test"))
    for name in ASKED_OF_BUNDLED:
        example = next(e for e in examples if e.id.startswith(name))
        prediction = reader.answer(example.question, example.context)
        show_question(example.question)
        passage = DocumentText(example.context)
        answer_in(example.title, passage, example.question, prediction).show()
        golds = " | ".join(answer.text for answer in example.answers)
        console.print(f"gold: {golds or 'no answer here'}\n", style="dim", markup=False)


def _score_bundled() -> None:
    """Compare with the baseline on the reader's language."""
    from readlet.cli.evaluate import show_evaluation
    from readlet.data import read_examples, write_examples
    from readlet.inference.evaluate_files import evaluate_questions
    from readlet.inference.predict_file import predict_file

    with tempfile.TemporaryDirectory() as folder:
        english, answers = Path(folder) / "english.json", Path(folder) / "baseline.json"
        write_examples(english, [e for e in read_examples("bundled:test") if e.language == "en"])
        predict_file("baseline", str(english), answers)
        found = evaluate_questions(str(english), reader="bundled", against=answers)
    console.print("On the English questions of the test split, against the lexical baseline:\n")
    show_evaluation(found)


def _check_data() -> None:
    from readlet.bundled import SPLITS
    from readlet.cli.data import show_report
    from readlet.data.check import check

    show_report(check([f"bundled:{split}" for split in SPLITS]), list_all=False)


def _train() -> None:
    from readlet.inference.evaluate_files import evaluate_questions
    from readlet.models.recipe_files import load_recipe
    from readlet.training.train import train_reader

    console.print(
        "Training a tiny reader on the bundled training split takes about half a minute.\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tiny"
        recipe = load_recipe("tiny", _QUICK)
        train_reader(recipe, path, resume=False)
        for split in ("train", "test"):
            scores = evaluate_questions(f"bundled:{split}", reader=str(path)).official
            console.print(f"{split:>5}: EM {scores['exact']:.1f}, F1 {scores['f1']:.1f}")
    console.print(
        "\nIt has memorised its training passages and does not generalise: a few hundred "
        "questions are enough to see that training works, not to learn to read.\n"
    )
