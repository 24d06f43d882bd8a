"""Fine-tune a reader on questions of another kind, and measure what it learns and what it forgets.

    python benchmarks/finetune.py --mrpc MRPC_FOLDER --squad SQUAD_FOLDER

The other kind: sentences of news with a gap, made from MRPC's paraphrases. The question is one
sentence of a pair, with "what" in place of a name or number; the passage has the other sentence
among three of other pairs, or without it: a quarter of the questions have no answer. Questions for
training come from MRPC's training file, those for scores from its test file. What may be forgotten
is measured on questions of the CS 224n set (SQuAD 2.0).
"""

import argparse
import csv
import json
import random
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from readlet.data import read_examples, write_examples
from readlet.errors import ReadletError
from readlet.evaluation.squad import score_questions, summary
from readlet.inference.evaluate_questions import predict
from readlet.inference.reader import Reader
from readlet.models.recipe_files import load_recipe
from readlet.training.train import train_reader
from readlet.types import Example, Span

OTHER_SENTENCES = 3
WITHOUT_ANSWER = 0.25
KNOWN = "cs224n-dev-v2.0.json.gz"
# Names of several words, numbers with their unit, and longer capitalised words.
_GAP = re.compile(
    r"\b(?:[A-Z][a-z]+(?: [A-Z][a-z]+)+|\$?\d[\d.,]*\d(?: (?:million|billion|percent))?"
    r"|[A-Z][a-z]{3,})\b"
)


def paraphrases(path: Path) -> Iterator[tuple[bool, str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE):
            yield row["Quality"] == "1", row["#1 String"], row["#2 String"]


def questions_with_gaps(path: Path, seed: int) -> list[Example]:
    """At most one question for each pair of sentences that mean the same."""
    pairs, draw = list(paraphrases(path)), random.Random(seed)
    examples = []
    for number, (is_same, one, two) in enumerate(pairs):
        shared = [m[0] for m in _GAP.finditer(two) if m.start() and _is_once(m[0], one, two)]
        if not is_same or not shared:
            continue
        answer = draw.choice(shared)
        sentences = [draw.choice(pairs)[2] for _ in range(OTHER_SENTENCES)]
        if any(answer in sentence for sentence in sentences):
            continue
        has_answer = draw.random() >= WITHOUT_ANSWER
        sentences += [two] * has_answer
        draw.shuffle(sentences)
        context = " ".join(sentences)
        golds = (Span(context.index(answer), answer),) if has_answer else ()
        question = one.replace(answer, "what")
        examples.append(
            Example(str(number), question, context, golds, is_impossible=not has_answer)
        )
    return examples


def _is_once(text: str, one: str, two: str) -> bool:
    return one.count(text) == two.count(text) == 1 and not one.startswith(text)


def scores(reader: Reader, examples: Sequence[Example]) -> dict[str, float]:
    predictions = {key: p.text for key, p in predict(reader, examples).items()}
    found = summary(score_questions(examples, predictions, "2.0"))
    return {name: found[name] for name in ("f1", "HasAns_f1", "NoAns_f1")}


def line(name: str, seed: str, parts: Sequence[dict[str, float]]) -> str:
    cells = [f"{value:.1f}" for part in parts for value in part.values()]
    return f"| {name} | {seed} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mrpc", type=Path, required=True, help="folder of train.tsv and test.tsv")
    parser.add_argument("--squad", type=Path, required=True, help=f"folder of {KNOWN}")
    parser.add_argument("--questions", type=int, nargs="+", default=[50, 150, 500, 1500])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--known", type=int, default=1000, help="questions of the CS 224n set")
    parser.add_argument("--answerable", action="store_true", help="train on answerable ones only")
    parser.add_argument("--set", nargs="*", default=[], help="changes to the recipe `finetune`")
    options = parser.parse_args()
    train, test = (
        questions_with_gaps(options.mrpc / f"{part}.tsv", seed)
        for seed, part in enumerate(("train", "test"))
    )
    if options.answerable:
        train = [example for example in train if example.answers]
    known = list(read_examples(options.squad / KNOWN))
    known = random.Random(0).sample(known, min(options.known, len(known)))
    print(f"{len(train):,} questions to train on, scores on {len(test):,} and {len(known):,}\n")
    print("| questions | seed | F1 | with answer | without | CS 224n F1 | with answer | without |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    start = load_recipe("finetune", options.set).training.start
    before = Reader.load(start)
    print(line("before", "", [scores(before, test), scores(before, known)]), flush=True)
    for count in options.questions:
        for seed in range(options.seeds):
            with tempfile.TemporaryDirectory() as folder:
                data = Path(folder) / "mine.jsonl"
                chosen = random.Random(seed).sample(train, min(count, len(train)))
                write_examples(data, chosen)
                changes = (f"data.train={json.dumps(str(data))}", f"training.seed={seed}")
                recipe = load_recipe("finetune", [*changes, *options.set])
                reader = train_reader(recipe, Path(folder) / "run", resume=False)
            parts = [scores(reader, test), scores(reader, known)]
            print(line(f"{len(chosen):,}", str(seed), parts), flush=True)


if __name__ == "__main__":
    try:
        main()
    except ReadletError as error:
        sys.exit(f"finetune: {error}")
