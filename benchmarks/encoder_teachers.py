"""The small reader distilled from encoders on questions that they have not seen. Needs a GPU.

    python benchmarks/encoder_teachers.py --squad FOLDER --vectors glove.100d.txt.gz \\
        glove.50d.txt.gz --out runs/taught
    python benchmarks/encoder_teachers.py ... --folds 2 --share 0.8 --teacher-set \\
        model.encoder=sentence-transformers/all-mpnet-base-v2 training.learning_rate=4e-5

1. The contexts of SQuAD 1.1 train are divided into parts. For each part an encoder reader is
   trained on all others (`data.folds`).
2. `qacnn` is trained on all questions. The teacher of each is the encoder that did not see it.
3. The reader is scored on held-out training questions during training, and on SQuAD 1.1 dev once.

Finished steps are skipped. The last line has the seconds of all steps, from their logs.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from readlet.data import read_questions
from readlet.evaluation.squad import rules_of, score_questions, summary
from readlet.inference.evaluate_files import predict
from readlet.inference.inputs import ALL_ANSWERABLE
from readlet.inference.reader import Reader
from readlet.models.recipe_files import load_recipe
from readlet.training.train import train_reader


def trained(name: str, changes: Sequence[str], folder: Path) -> float:
    """Train, unless a reader is there; returns the seconds of its training."""
    if not (folder / "config.json").is_file():
        train_reader(load_recipe(name, changes), folder, resume=(folder / "recipe.json").is_file())
    lines = (folder / "log.jsonl").read_text("utf-8").splitlines()
    return float(json.loads(lines[-1])["seconds"])


def make(
    squad: Path,
    vectors: Sequence[str],
    out: Path,
    *,
    folds: int,
    share: float,
    temperature: float,
    epochs: int,
    teacher_changes: Sequence[str] = (),
    student_changes: Sequence[str] = (),
) -> dict[str, float]:
    """All steps; the scores on dev, and the seconds of teachers and student."""
    dev = read_questions(squad / "dev-v1.1.json.gz")  # a missing file is reported at once
    common = [f'data.train=["{squad / "train-v1.1.json.gz"}"]', "data.dev=''"]
    teachers = [out / f"fold-{fold}" for fold in range(folds)]
    seconds = 0.0
    for fold, folder in enumerate(teachers):
        chosen = [*common, f"data.folds={folds}", f"data.fold={fold}", *teacher_changes]
        seconds += trained("encoder", chosen, folder)
    names = json.dumps([str(folder) for folder in teachers])
    taught = [f"training.teacher={names}", f"training.teacher_share={share}"]
    taught += [f"training.teacher_temperature={temperature}", f"training.epochs={epochs}"]
    taught += [f"words.vectors={list(vectors)}", "training.evaluate_every=5", *student_changes]
    of_student = trained("qacnn", [*common, *taught], out / "student")
    answers = predict(
        Reader.load(out / "student"),
        dev,
        ALL_ANSWERABLE,
    )
    texts = {identity: prediction.text for identity, prediction in answers.items()}
    scores = summary(score_questions(dev, texts, rules_of(dev)))
    found = {name: scores[name] for name in ("exact", "f1")}
    return found | {"teacher_seconds": seconds, "student_seconds": of_student}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--squad", type=Path, required=True, help="folder of SQuAD 1.1")
    parser.add_argument("--vectors", nargs="+", required=True, help="files of word vectors")
    parser.add_argument("--out", type=Path, required=True, help="folder of the runs")
    parser.add_argument("--folds", type=int, default=4)
    parser.add_argument("--share", type=float, default=0.7, help="weight of the teachers")
    parser.add_argument("--temperature", type=float, default=1.0, help="of the teachers")
    parser.add_argument("--epochs", type=int, default=30, help="of the student")
    parser.add_argument("--set", nargs="*", default=["training.precision=bfloat16"], help="of all")
    parser.add_argument("--teacher-set", nargs="*", default=[], help="of the teachers only")
    parser.add_argument("--student-set", nargs="*", default=[], help="of the student only")
    options = parser.parse_args()
    found = make(
        options.squad,
        options.vectors,
        options.out,
        folds=options.folds,
        share=options.share,
        temperature=options.temperature,
        epochs=options.epochs,
        teacher_changes=[*options.set, *options.teacher_set],
        student_changes=[*options.set, *options.student_set],
    )
    seconds = found["teacher_seconds"] + found["student_seconds"]
    print(f"SQuAD 1.1 dev: EM {found['exact']:.2f}, F1 {found['f1']:.2f}")
    print(f"teachers {found['teacher_seconds']:.0f} s, all {seconds:.0f} s")


if __name__ == "__main__":
    main()
