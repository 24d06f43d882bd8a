"""Make the reader that comes with the package, from SQuAD and GloVe. Needs a GPU and half an hour.

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
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from readlet.augment.unanswerable import beside_their_paragraphs, make_unanswerable
from readlet.calibrating import calibrate
from readlet.encoding.features import Windows, encode
from readlet.formats import read_examples, write_examples
from readlet.predicting import Predictor
from readlet.reader import Reader
from readlet.recipe import load_recipe
from readlet.slimming import slim_to
from readlet.train_reader import train_reader
from readlet.types import Example

IMPOSSIBLE_SHARE = 0.33  # that of SQuAD 2.0's training set
TIMES_REAL = 8  # the real ones are hard, and few
CALIBRATION_ARTICLES = 6
CALIBRATION_IMPOSSIBLE = 0.35
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
    return [*beside_their_paragraphs(train, added), *often]


def split_real(examples: Sequence[Example]) -> tuple[list[Example], list[Example]]:
    """Impossible questions to train on, and questions of the last articles to calibrate on."""
    aside = set(sorted({example.title for example in examples})[-CALIBRATION_ARTICLES:])
    training = [e for e in examples if e.title not in aside and not e.answers]
    possible = [e for e in examples if e.title in aside and e.answers]
    impossible = [e for e in examples if e.title in aside and not e.answers]
    wanted = round(len(possible) * CALIBRATION_IMPOSSIBLE / (1 - CALIBRATION_IMPOSSIBLE))
    drawn = random.Random(0).sample(impossible, min(wanted, len(impossible)))
    return training, [*possible, *drawn]


def recalibrated(reader: Reader, examples: Sequence[Example]) -> Reader:
    data = reader.recipe.data
    windows = Windows(data.max_context, data.overlap, data.max_question)
    predictor = Predictor(reader.model, data, reader.null, reader.calibration)
    fitted = calibrate(predictor, examples, encode(examples, reader.vocabulary, windows))
    return replace(reader, calibration=fitted)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--squad", type=Path, required=True, help="folder of the SQuAD files")
    parser.add_argument("--vectors", nargs="+", required=True, help="files of word vectors")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--set", nargs="*", default=[], help="changes to all recipes")
    arguments = parser.parse_args()
    out: Path = arguments.out
    out.mkdir(parents=True)
    train = arguments.squad / "train-v1.1.json.gz"
    common = [
        f"data.dev={arguments.squad / 'dev-v1.1.json.gz'}",
        *("training.batch_size=64", "training.precision=bfloat16", *arguments.set),
    ]
    answering = [f'data.train=["{train}"]', f"words.vectors={arguments.vectors}"]
    train_reader(load_recipe("qacnn", [*answering, *common]), out / "teacher", resume=False)
    answering.append(f"training.teacher={out / 'teacher'}")
    train_reader(load_recipe("qacnn", [*answering, *common]), out / "answering", resume=False)
    real, calibration = split_real(list(read_examples(arguments.squad / "rest-dev-v2.0.json.gz")))
    questions = refusing_questions(list(read_examples(train)), real)
    write_examples(out / "train-with-unanswerable.json", questions)
    write_examples(out / "calibration.json", calibration)
    refusing = [
        f'data.train=["{out / "train-with-unanswerable.json"}"]',
        f"data.calibration={out / 'calibration.json'}",
        f"training.start={out / 'answering'}",
        *_REFUSING,
    ]
    reader = train_reader(
        load_recipe("qacnn", [*refusing, *common]), out / "refusing", resume=False
    )
    slim = slim_to(replace(reader, notice=NOTICE.read_text("utf-8")), LIMIT)
    recalibrated(slim, calibration).save(out / "bundled")


if __name__ == "__main__":
    main()
