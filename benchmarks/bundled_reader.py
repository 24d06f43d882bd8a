"""Train the bundled reader from SQuAD and GloVe. Needs a GPU.

    python benchmarks/bundled_reader.py --squad FOLDER --vectors glove.100d.txt.gz \
        glove.50d.txt.gz --out runs/bundled

1. `qacnn` is trained to answer, on SQuAD 1.1 train.
2. A second model is trained on the same data, with the first one as its teacher.
3. It is trained to refuse, starting from the second model and keeping a quarter of its weights. The
   data has the same questions; altered ones and questions about other paragraphs, so that a third
   is unanswerable; and real unanswerable questions (SQuAD 2.0) of all but six articles, eight times
   each.
4. It is reduced to 12 MB and calibrated on questions of those six articles. About a third of them
   are unanswerable. The calibration is then moved to a share of one in five: users mostly ask what
   they expect to find.
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

IMPOSSIBLE_SHARE = 0.33  # as in SQuAD 2.0's training set
TIMES_REAL = 8  # the real unanswerable questions are hard, and few
CALIBRATION_ARTICLES = 6
CALIBRATION_IMPOSSIBLE = 0.35
DEFAULT_SHARE = 0.2  # of impossible questions, expected of users
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
    """The training data for refusing."""
    added = make_unanswerable(train, IMPOSSIBLE_SHARE, seed=0).added
    often = [
        example if time == 0 else replace(example, id=f"{example.id}-{time}")
        for example in real
        for time in range(TIMES_REAL)
    ]
    return [*grouped_by_paragraph(train, added), *often]


def calibration_articles(examples: Sequence[Example]) -> set[str]:
    """The last articles; unanswerable questions of the others are used in training."""
    return set(sorted({example.title for example in examples})[-CALIBRATION_ARTICLES:])


def calibration_questions(examples: Sequence[Example], impossible_share: float) -> list[Example]:
    held_out = calibration_articles(examples)
    answerable = [e for e in examples if e.title in held_out and e.answers]
    impossible = [e for e in examples if e.title in held_out and not e.answers]
    wanted = round(len(answerable) * impossible_share / (1 - impossible_share))
    return [*answerable, *random.Random(0).sample(impossible, min(wanted, len(impossible)))]


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
    """All steps; finished ones are skipped, and an interrupted one is resumed."""
    # Missing files are reported before any training.
    train, rest = squad / "train-v1.1.json.gz", list(read_examples(squad / REST))
    notice, judged = NOTICE.read_text("utf-8"), list(read_examples(squad / JUDGED))
    held_out = calibration_articles(rest)
    out.mkdir(parents=True, exist_ok=True)
    common = [
        f"data.dev={squad / 'dev-v1.1.json.gz'}",
        *("training.batch_size=64", "training.precision=bfloat16", *changes),
    ]
    answering = [f'data.train=["{train}"]', f"words.vectors={list(vectors)}"]
    trained([*answering, *common], out / "teacher")
    answering.append(f"training.teacher={out / 'teacher'}")
    trained([*answering, *common], out / "answering")
    real = [e for e in rest if e.title not in held_out and not e.answers]
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
    slim = recalibrated(slim_to(replace(reader, notice=notice), LIMIT), calibration)
    final = replace(slim, calibration=slim.calibration.assuming(DEFAULT_SHARE))
    predictions = {key: p.text for key, p in predict(final, judged).items()}
    scores = summary(score_questions(judged, predictions, "2.0"))
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
