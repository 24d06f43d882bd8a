"""Fine-tune a reader on few questions of three kinds: what it gains, and what it forgets.

    python benchmarks/finetune.py --mrpc MRPC_FOLDER --quac Quac-train.jsonl \\
        --known runs/bundled/squad-held.json.gz

- `news`: sentences of news with a gap, from MRPC's paraphrases. The question is one sentence of a
  pair, with "what" in place of a name or number; the passage has the other sentence among three of
  other pairs, or without it.
- `dialogues`: the first questions of QuAC's dialogues, whose answers are long.
- `near misses`: passages of `bundled:kinds-test`, such as price lists, timetables and contracts.

Half of the questions to train on have no answer. Scores are those of other passages; what may be
forgotten is measured on `--known`. A line of JSON for each run; --table makes the table of them.
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
from statistics import mean, stdev
from typing import Any

from bundled_reader import quac_questions

from readlet.data import read_examples, write_examples
from readlet.errors import ReadletError
from readlet.evaluation.squad import exact_match, score_questions, summary
from readlet.evaluation.statistics import expected_calibration_error
from readlet.inference.evaluate_files import predict
from readlet.inference.reader import Reader
from readlet.models.recipe_files import load_recipe
from readlet.training.train import train_reader
from readlet.types import Example, Span

OTHER_SENTENCES = 3
SCORED = 300  # questions of a kind
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
        has_answer = draw.random() < 0.5
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


Split = tuple[list[Example], list[Example]]
"""Questions to train on, and to score."""


def kinds(options: argparse.Namespace) -> dict[str, Split]:
    found: dict[str, Split] = {}
    if options.mrpc:
        train, test = (
            questions_with_gaps(options.mrpc / f"{part}.tsv", seed)
            for seed, part in enumerate(("train", "test"))
        )
        found["news"] = train, test
    if options.quac:
        found["dialogues"] = by_context(list(quac_questions(options.quac)))
    found["near misses"] = by_context(list(read_examples("bundled:kinds-test")))
    return {name: (train, test[:SCORED]) for name, (train, test) in found.items()}


def by_context(examples: Sequence[Example]) -> Split:
    """The questions of a half of the contexts, and the others, each in random order."""
    draw = random.Random(0)
    contexts = sorted({example.context for example in examples})
    first = set(draw.sample(contexts, len(contexts) // 2))
    parts = (
        [e for e in examples if e.context in first],
        [e for e in examples if e.context not in first],
    )
    for part in parts:
        draw.shuffle(part)
    return parts


def balanced(examples: Sequence[Example], count: int, seed: int) -> list[Example]:
    """So many questions, half of them without an answer as far as there are enough."""
    draw = random.Random(seed)
    without = [example for example in examples if not example.answers]
    with_answer = [example for example in examples if example.answers]
    half = min(count // 2, len(without))
    return draw.sample(without, half) + draw.sample(
        with_answer, min(count - half, len(with_answer))
    )


def scores(reader: Reader, examples: Sequence[Example]) -> dict[str, float]:
    found = predict(reader, examples)
    answers = {key: prediction.text for key, prediction in found.items()}
    official = summary(score_questions(examples, answers, "2.0"))
    right = [
        max((exact_match(found[e.id].text, span.text) for span in e.answers), default=0.0)
        if e.answers
        else float(found[e.id].abstained)
        for e in examples
    ]
    confidence = [found[e.id].confidence for e in examples]
    error = expected_calibration_error(confidence, right)
    return {name: official[name] for name in ("f1", "HasAns_f1", "NoAns_f1")} | {"error": error}


def run(split: Split, count: int, seed: int, known: Sequence[Example], changes: list[str]) -> Any:
    train, test = split
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "mine.jsonl"
        chosen = balanced(train, count, seed)
        write_examples(data, chosen)
        own = [f"data.train={json.dumps(str(data))}", f"training.seed={seed}"]
        train_reader(load_recipe("finetune", [*own, *changes]), Path(folder) / "run")
        reader = Reader.load(Path(folder) / "run")
        size = sum(path.stat().st_size for path in (Path(folder) / "run").rglob("*"))
        return {
            "questions": len(chosen),
            "seed": seed,
            "expected": reader.metrics["dev"]["f1"],
            "megabytes": round(size / 1e6, 1),
            "own": scores(reader, test),
            "known": scores(reader, known),
        }


def table(lines: Sequence[dict[str, Any]]) -> str:
    """Mean and deviation over seeds, for each kind and number of questions."""
    rows = [
        "| kind | questions | seeds | F1 | with answer | without | error | known | without |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    groups: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for line in lines:
        groups.setdefault((line["kind"], line["questions"]), []).append(line)
    for (kind, questions), found in sorted(groups.items()):
        values = [[one["own"][name] for one in found] for name in ("f1", "HasAns_f1", "NoAns_f1")]
        f1 = f"{mean(values[0]):.1f}" + (f" ± {stdev(values[0]):.1f}" if len(found) > 1 else "")
        others = [f"{mean(part):.1f}" for part in values[1:]]
        error = f"{mean(one['own']['error'] for one in found):.3f}"
        known = [f"{mean(one['known'][name] for one in found):.1f}" for name in ("f1", "NoAns_f1")]
        cells = [kind, str(questions or "before"), str(len(found)), f1, *others, error, *known]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mrpc", type=Path, help="folder of train.tsv and test.tsv")
    parser.add_argument("--quac", type=Path, help="Quac-train.jsonl")
    parser.add_argument("--known", type=Path, help="questions that the reader can answer")
    parser.add_argument("--kind", action="append", help="only this kind; repeatable")
    parser.add_argument("--questions", type=int, nargs="+", default=[16, 32, 64, 150, 500])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--set", nargs="*", default=[], help="changes to the recipe `finetune`")
    parser.add_argument("--out", type=Path, default=Path("runs/finetune.jsonl"))
    parser.add_argument("--table", action="store_true", help="print the table of --out")
    options = parser.parse_args()
    if options.table:
        print(table([json.loads(line) for line in options.out.read_text().splitlines()]))
        return
    known = random.Random(0).sample(list(read_examples(str(options.known))), 200)
    start = load_recipe("finetune", options.set).training.start
    options.out.parent.mkdir(parents=True, exist_ok=True)
    for kind, split in kinds(options).items():
        if options.kind and kind not in options.kind:
            continue
        reader = Reader.load(start)
        before = {"questions": 0, "own": scores(reader, split[1]), "known": scores(reader, known)}
        counts = [count for count in options.questions if count <= len(split[0])]
        jobs = [(count, seed) for count in counts for seed in options.seeds]
        with options.out.open("a") as out:
            out.write(json.dumps({"kind": kind, **before}) + "\n")
            for count, seed in jobs:
                found = run(split, count, seed, known, options.set)
                out.write(json.dumps({"kind": kind, **found}) + "\n")
                out.flush()


if __name__ == "__main__":
    try:
        main()
    except ReadletError as error:
        sys.exit(f"finetune: {error}")
