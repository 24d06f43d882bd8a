"""The results page of one or several training runs, with its plots.

    python benchmarks/reader_report.py --runs qacnn=runs/qacnn qacnn-paper=runs/qacnn-paper \\
        --data dev-v1.1.json.gz --machine "one H200" --notes docs/results/qacnn-notes.md \\
        --out docs/results/qacnn

Writes OUT.md, OUT-learning-curve.png and OUT-f1-over-time.png. Every run is a finished folder of
`readlet train`: its reader answers the questions again, its log gives the curves.
Needs matplotlib (`pip install readlet[plots]`).
"""

import argparse
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from error_kinds import wrong_answers
from report_page import Run, page
from report_plots import STYLES, LearningCurve, learning_plot, time_plot

from readlet.data import read_examples
from readlet.errors import ReadletError, bad_input
from readlet.evaluation.evaluation import Evaluation, evaluate, group_members
from readlet.evaluation.squad import Rules, rules_of
from readlet.experiments.store import read_log
from readlet.inference.evaluate_files import predict
from readlet.inference.reader import Reader
from readlet.models.recipe_files import recipe_of
from readlet.storage.files import atomic_text, text_chunks
from readlet.types import Example

Groups = Mapping[str, Mapping[str, Sequence[Example]]]


def question_groups(examples: Sequence[Example]) -> Groups:
    """The questions by type, answer length and context length, grouped as in `evaluate`."""
    return {
        group: {name: [examples[row] for row in members] for name, members in parts.items()}
        for group, parts in group_members(examples).items()
    }


def evaluate_groups(
    groups: Groups, predictions: Mapping[str, str], rules: Rules
) -> dict[str, dict[str, Evaluation]]:
    """Scores and intervals of every group, by the rules of the whole data set."""
    return {
        group: {name: evaluate(part, predictions, rules=rules) for name, part in parts.items()}
        for group, parts in groups.items()
    }


SQUAD = (
    "SQuAD (Rajpurkar et al., 2016 and 2018, https://rajpurkar.github.io/SQuAD-explorer/), "
    "[CC BY-SA 4.0](https://creativecommons.org/licenses/by-sa/4.0/)"
)


def read_curve(folder: Path) -> LearningCurve:
    curve = LearningCurve.of(read_log(folder / "log.jsonl"))
    if not curve.scores:
        raise bad_input(folder / "log.jsonl", "", "has no evaluation", "finish training first")
    return curve


def answer_again(
    name: str,
    folder: Path,
    curve: LearningCurve,
    examples: Sequence[Example],
    groups: Groups,
    first: Run | None,
) -> Run:
    """Predict with the reader of a folder, and compare it with the first run."""
    reader = Reader.load(folder)
    predictions = predict(reader, examples)
    answers = {identity: prediction.text for identity, prediction in predictions.items()}
    rules = rules_of(examples)
    return Run(
        name=name,
        recipe=recipe_of(reader.recipe),
        parameters=reader.scorer.parameters,
        curve=curve,
        answers=answers,
        whole=evaluate(
            examples,
            answers,
            confidences={identity: p.score for identity, p in predictions.items()},
            against=first.answers if first else None,
        ),
        groups=evaluate_groups(groups, answers, rules),
        wrong=wrong_answers(examples, predictions, rules),
    )


def parse(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", nargs="+", required=True, metavar="NAME=FOLDER")
    parser.add_argument("--data", required=True, help="questions to answer")
    parser.add_argument("--out", type=Path, required=True, help="the page, without its .md")
    parser.add_argument("--machine", default="", help="description of the training machine")
    parser.add_argument("--source", default=SQUAD, help="source and licence of the data")
    parser.add_argument("--notes", type=Path, help="file with text for the end of the page")
    parser.add_argument("--seed", type=int, default=0, help="seed of the sampled wrong answers")
    options = parser.parse_args(words)
    pairs = [text.partition("=")[::2] for text in options.runs]
    options.runs = dict(pairs)
    if not all(name and folder for name, folder in pairs) or len(options.runs) < len(pairs):
        parser.error("--runs: give each run a unique name: NAME=FOLDER")
    if len(pairs) > len(STYLES):
        parser.error(f"--runs: more than {len(STYLES)} curves are too many for one plot")
    return options


def main(words: Sequence[str]) -> None:
    options = parse(words)
    out: Path = options.out
    out.parent.mkdir(parents=True, exist_ok=True)
    notes = "".join(text_chunks(options.notes)) if options.notes else ""
    # Errors in a folder are reported before the questions are answered, which takes minutes.
    curves = {name: read_curve(Path(folder)) for name, folder in options.runs.items()}
    examples = list(read_examples(options.data))
    if not examples:
        raise bad_input(options.data, "", "contains no questions", "give data with questions")
    groups = question_groups(examples)
    runs: list[Run] = []
    for name, folder in options.runs.items():
        first = runs[0] if runs else None
        runs.append(answer_again(name, Path(folder), curves[name], examples, groups, first))
    plots = {f"{out.name}-learning-curve.png": learning_plot(curves)}
    if any(run.is_timed for run in runs):
        plots[f"{out.name}-f1-over-time.png"] = time_plot(curves)
    for file, image in plots.items():
        out.with_name(file).write_bytes(image)
    written = page(
        runs,
        name=out.name,
        data=Path(options.data).name,
        questions=len(examples),
        plots=list(plots),
        machine=options.machine,
        source=options.source,
        seed=options.seed,
        notes=notes,
        command=f"python benchmarks/reader_report.py {shlex.join(words)}",
    )
    with atomic_text(out.with_name(f"{out.name}.md")) as stream:
        stream.write(written)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except ReadletError as error:
        print(f"reader_report: {error}", file=sys.stderr)
        sys.exit(2)
