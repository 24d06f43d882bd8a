"""`readlet demo`: the whole loop on the bundled corpus."""

from readlet.cli.console import console

_ASKED = ("marie-curie-12", "es-cacao-09", "trans-siberian-railway-10")


def demo() -> None:
    """Check the bundled data, score the baseline on it, and ask three questions."""
    from readlet.bundled import SPLITS, corpus
    from readlet.cli.ask import show_answer
    from readlet.cli.check_view import show_report
    from readlet.cli.evaluation_view import show_evaluation
    from readlet.evaluation import evaluate_questions
    from readlet.formats import read_examples
    from readlet.inspection.check import check
    from readlet.reader import load_reader

    console.rule("1. Is the data sound?", align="left")
    show_report(check([str(corpus(split)) for split in SPLITS], {}), list_all=False)

    console.rule("2. How far does counting words get?", align="left")
    console.print("The lexical baseline on the bundled test split:\n")
    show_evaluation(evaluate_questions(str(corpus("test")), reader="baseline"))

    console.rule("3. Ask it", align="left")
    reader = load_reader("baseline")
    examples = {example.id: example for example in read_examples(corpus("test"))}
    for example in (examples[identity] for identity in _ASKED):
        show_answer(
            example.question, example.context, reader.answer(example.question, example.context)
        )
        golds = " | ".join(answer.text for answer in example.answers)
        console.print(f"[dim]gold: {golds or 'no answer here'}[/dim]\n")

    console.rule("What to try next", align="left")
    console.print("  readlet data check your-data.json        what is wrong with your own data")
    console.print('  readlet ask "Who wrote it?" passage.txt   ask about your own text')
    console.print("  readlet evaluate baseline your-data.json  an honest floor for your own data")
