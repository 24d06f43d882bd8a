"""What synthetic unanswerable questions teach, with and without real ones. Needs a GPU.

    python benchmarks/synthetic_unanswerable.py --squad FOLDER --out runs/synthetic --at-once 6

A reader on MiniLM is trained on the questions of some articles of SQuAD 1.1: with none added, or
with questions paired with another paragraph of their article; each without and with 2,000 real
unanswerable questions of SQuAD 2.0 on the same articles. It is calibrated on questions of
`rest-dev` and scored on CS 224n dev as if half of the questions had no answer. `area` is that of
the no-answer probability. A reader that never saw an unanswerable question has none: there it is
the area of 1 - score.

Finished trainings are skipped. `results.json` has every run.
"""

import argparse
import json
import multiprocessing
import random
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from readlet.augmentation.unanswerable_questions import how_many, pair_up
from readlet.data import read_examples, write_examples
from readlet.evaluation.squad import no_answer_area
from readlet.inference.evaluate_files import evaluate_questions, predict
from readlet.inference.inputs import ALL_ANSWERABLE, AnswerOptions
from readlet.inference.reader import Reader
from readlet.models.recipe_files import load_recipe
from readlet.training.train import train_reader

SYNTHETIC = ("none", "paired")
SHARE = 0.33  # of unanswerable questions, with the synthetic ones
SCORED, TRAIN = "cs224n-dev-v2.0.json.gz", "train-v1.1.json.gz"
REAL, HELD = "unanswerable-train-v2.0.json.gz", "rest-dev-v2.0.json.gz"
MEASURES = ("area", "f1", "best_f1", "answerable")


class Row(NamedTuple):
    """A row of the table: what is trained on, and the scores that are wanted."""

    synthetic: str
    real: int
    files: list[str]
    squad: Path
    out: Path
    seeds: int
    changes: list[str]
    until: float  # no training begins that would probably end later

    def folder(self, seed: int) -> Path:
        return self.out / f"{self.synthetic}-{self.real}-{seed}"


def write_data(squad: Path, out: Path, articles: float, real: int) -> dict[str, str]:
    """The files that are combined, by name."""
    examples = list(read_examples(squad / TRAIN))
    titles = sorted({example.title for example in examples})
    chosen = {*random.Random(0).sample(titles, round(articles * len(titles)))}
    examples = [example for example in examples if example.title in chosen]
    people = [example for example in read_examples(squad / REAL) if example.title in chosen]
    parts = {"answerable": examples, "real": random.Random(0).sample(people, real)}
    parts["paired"] = pair_up(examples, how_many(examples, SHARE), 0).added
    out.mkdir(parents=True, exist_ok=True)
    files = {name: str(out / f"{name}.json.gz") for name in parts}
    for name, file in files.items():
        if not Path(file).exists():
            write_examples(Path(file), parts[name])
        print(f"{name}: {len(parts[name]):,} questions")
    return files


def train_and_score(row: Row) -> list[dict[str, Any]]:
    """One training for each seed, as long as there is time for another one."""
    found: list[dict[str, Any]] = []
    longest = 0.0
    for seed in range(row.seeds):
        began = time.time()
        if began + longest > row.until:
            break
        folder, held = row.folder(seed), row.squad / HELD
        if not (folder / "config.json").is_file():
            files = [f"data.train={json.dumps(row.files)}", f"data.calibration={held}"]
            files += [f"data.dev={held}", "training.evaluate_every=99"]
            recipe = load_recipe("encoder", [*files, *row.changes, f"training.seed={seed}"])
            train_reader(recipe, folder, resume=False)
        scores = scores_of(folder, row.squad / SCORED)
        found.append({"synthetic": row.synthetic, "real": row.real, "seed": seed} | scores)
        (row.out / f"{folder.name}.json").write_text(json.dumps(found[-1]), "utf-8")
        longest = max(longest, time.time() - began)
    return found


def scores_of(folder: Path, data: Path) -> dict[str, float]:
    reader = Reader.load(folder)
    always = evaluate_questions(
        str(data),
        reader=str(folder),
        options=ALL_ANSWERABLE,
    )
    answerable = always.official["HasAns_f1"]
    if not reader.takes_unanswerable_share:
        examples = list(read_examples(data))
        answers = predict(reader, examples)
        has_answer = [bool(example.answers) for example in examples]
        area = no_answer_area([1 - answers[e.id].score for e in examples], has_answer) or 0.0
        return {"area": area, "f1": always.official["f1"], "answerable": answerable}
    found = evaluate_questions(
        str(data), reader=str(folder), options=AnswerOptions(unanswerable_share=0.5)
    )
    scores = {"area": found.no_answer_area or 0.0, "answerable": answerable}
    return scores | {name: found.official[name] for name in ("f1", "best_f1")}


def table(results: Sequence[dict[str, Any]]) -> list[str]:
    """Mean and standard deviation over the seeds."""
    lines = [f"{'synthetic':<20}{'real':>6}{'seeds':>6}" + "".join(f"{m:>16}" for m in MEASURES)]
    rows = dict.fromkeys((found["synthetic"], found["real"]) for found in results)
    for synthetic, real in rows:
        runs = [r for r in results if (r["synthetic"], r["real"]) == (synthetic, real)]
        line = f"{synthetic:<20}{real:>6}{len(runs):>6}"
        for measure in MEASURES:
            values = [run[measure] for run in runs if measure in run]
            digits = 3 if measure == "area" else 2
            spread = f" ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else ""
            shown = f"{statistics.mean(values):.{digits}f}{spread}" if values else ""
            line += f"{shown:>16}"
        lines.append(line)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--squad", type=Path, required=True, help="folder of the SQuAD files")
    parser.add_argument("--out", type=Path, required=True, help="folder of data and readers")
    parser.add_argument("--articles", type=float, default=0.5, help="share of SQuAD's articles")
    parser.add_argument("--real", type=int, default=2000, help="real unanswerable questions")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--at-once", type=int, default=1, help="readers to train at once")
    parser.add_argument("--minutes", type=float, default=600.0, help="for all of it")
    parser.add_argument("--set", nargs="*", default=["training.precision=bfloat16"])
    options = parser.parse_args()
    until = time.time() + 60 * options.minutes
    data = options.out / "data"
    files = write_data(options.squad, data, options.articles, options.real)
    rows = [
        Row(
            synthetic,
            real,
            [files["answerable"], *[files[name] for name in added]],
            options.squad,
            options.out,
            options.seeds,
            options.set,
            until,
        )
        for real, more in ((0, []), (options.real, ["real"]))
        for synthetic in SYNTHETIC
        for added in [[*([] if synthetic == "none" else [synthetic]), *more]]
    ]
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.at_once, mp_context=spawned) as pool:
        results = [found for of_row in pool.map(train_and_score, rows) for found in of_row]
    (options.out / "results.json").write_text(json.dumps(results, indent=1), "utf-8")
    print("\n".join(table(results)))


if __name__ == "__main__":
    main()
