"""Make the reader that comes with the package, from SQuAD and GloVe. Needs a GPU.

    python benchmarks/bundled_reader.py --squad FOLDER --vectors glove.100d.txt.gz \
        glove.50d.txt.gz --out runs/bundled

1. `qacnn` learns to answer: SQuAD 1.1 train.
2. A second one learns the same, taught by the first.
3. It learns to refuse, beginning with the second one's weights and keeping a quarter of them: the
   same questions, as many of them altered or asked of other paragraphs as make a third impossible,
   and real impossible questions (SQuAD 2.0) of all articles but six, eight times each.
4. It is slimmed to 12 MB, then calibrated on questions of those six articles, about a third of
   them impossible: people mostly ask what they expect to find, and where half are impossible, as
   in SQuAD 2.0's development set, a reader in doubt had better refuse.
"""

import argparse
import random
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from readlet.augment.unanswerable_questions import grouped_by_paragraph, make_unanswerable
from readlet.errors import ReadletError
from readlet.fitting.train import train_reader
from readlet.formats import read_examples, write_examples
from readlet.metrics.squad import score_questions, summary
from readlet.reading.evaluate_files import predict
from readlet.reading.fit_calibration import calibrate
from readlet.reading.predictor import Predictor
from readlet.reading.reader import Reader
from readlet.reading.slimming import slim_to
from readlet.recipe.recipe_files import load_recipe
from readlet.types import Example

IMPOSSIBLE_SHARE = 0.33  # that of SQuAD 2.0's training set
TIMES_REAL = 8  # the real ones are hard, and few
CALIBRATION_ARTICLES = 6
CALIBRATION_IMPOSSIBLE = 0.35
REST, JUDGED = "rest-dev-v2.0.json.gz", "cs224n-dev-v2.0.json.gz"
LIMIT = 12_000_000 - 4096  # bytes; scores are written into the card later
NOTICE = Path(__file__).parent.parent / "src/readlet/bundled/reader/NOTICE.md"
_REFUSING = (
    "training.start_share=0.25",
    "training.epochs=3",
    "training.schedule=linear",
    "training.final_decay=0",
    "training.warmup_steps=300",
    "training.learning_rate=0.0008",
    "training.ema=0.999",
)


def refusing_questions(train: Sequence[Example], real: Sequence[Example]) -> list[Example]:
    """What refusing is learned from."""
    added = make_unanswerable(train, IMPOSSIBLE_SHARE, seed=0).added
    often = [
        example if time == 0 else replace(example, id=f"{example.id}-{time}")
        for example in real
        for time in range(TIMES_REAL)
    ]
    return [*grouped_by_paragraph(train, added), *often]


def articles_aside(examples: Sequence[Example]) -> set[str]:
    """The last articles, for calibration; impossible questions of the others are trained on."""
    return set(sorted({example.title for example in examples})[-CALIBRATION_ARTICLES:])


def calibration_questions(examples: Sequence[Example], impossible_share: float) -> list[Example]:
    aside = articles_aside(examples)
    possible = [e for e in examples if e.title in aside and e.answers]
    impossible = [e for e in examples if e.title in aside and not e.answers]
    wanted = round(len(possible) * impossible_share / (1 - impossible_share))
    return [*possible, *random.Random(0).sample(impossible, min(wanted, len(impossible)))]


def recalibrated(reader: Reader, examples: Sequence[Example]) -> Reader:
    predictor = Predictor(reader.scorer, reader.calibration)
    fitted = calibrate(predictor, examples, reader.scorer.encoder.encode(examples))
    return replace(reader, calibration=fitted)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--squad", type=Path, required=True, help="folder of the SQuAD files")
    parser.add_argument("--vectors", nargs="+", required=True, help="files of word vectors")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--set", nargs="*", default=[], help="changes to all recipes")
    arguments = parser.parse_args()
    make(arguments.squad, arguments.vectors, arguments.out, arguments.set)


def make(squad: Path, vectors: Sequence[str], out: Path, changes: Sequence[str]) -> None:
    """All steps; those that are done are not done again, and a stopped one goes on."""
    # Whatever is missing is told before the first hour is spent.
    train, rest = squad / "train-v1.1.json.gz", list(read_examples(squad / REST))
    notice, judged = NOTICE.read_text("utf-8"), list(read_examples(squad / JUDGED))
    aside = articles_aside(rest)
    out.mkdir(parents=True, exist_ok=True)
    common = [
        f"data.dev={squad / 'dev-v1.1.json.gz'}",
        *("training.batch_size=64", "training.precision=bfloat16", *changes),
    ]
    answering = [f'data.train=["{train}"]', f"words.vectors={list(vectors)}"]
    trained([*answering, *common], out / "teacher")
    answering.append(f"training.teacher={out / 'teacher'}")
    trained([*answering, *common], out / "answering")
    real = [e for e in rest if e.title not in aside and not e.answers]
    questions = refusing_questions(list(read_examples(train)), real)
    calibration = calibration_questions(rest, CALIBRATION_IMPOSSIBLE)
    write_examples(out / "train-with-unanswerable.json", questions)
    write_examples(out / "calibration.json", calibration)
    refusing = [
        f'data.train=["{out / "train-with-unanswerable.json"}"]',
        f"data.calibration={out / 'calibration.json'}",
        f"training.start={out / 'answering'}",
        *_REFUSING,
    ]
    reader = trained([*refusing, *common], out / "refusing")
    final = recalibrated(slim_to(replace(reader, notice=notice), LIMIT), calibration)
    said = {key: p.text for key, p in predict(final, judged).items()}
    scores = summary(score_questions(judged, said, "2.0"))
    replace(final, metrics=final.metrics | {"dev_source": JUDGED, "dev": scores}).save(
        out / "bundled"
    )


def trained(changes: Sequence[str], folder: Path) -> Reader:
    if (folder / "config.json").is_file():
        return Reader.load(folder)
    is_begun = (folder / "recipe.json").is_file()
    return train_reader(load_recipe("qacnn", changes), folder, resume=is_begun)


if __name__ == "__main__":
    try:
        main()
    except ReadletError as error:
        sys.exit(f"bundled_reader: {error}")
