"""What is kept of a run when it ends; `store.py` reads it."""

import hashlib
import json
import shutil
from datetime import UTC, datetime
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from readlet.experiments.grid import Run
from readlet.experiments.keys import source_digests
from readlet.experiments.store import ANSWERS, GO_ON, LOG, RESULT, SCORES, Result, RunFolder
from readlet.experiments.versions import versions
from readlet.fitting.train import Trained
from readlet.metrics.learning_curve import read_log
from readlet.metrics.squad import QuestionScores, rules_of, score_questions
from readlet.models.qacnn import count_parameters
from readlet.reading.evaluate_files import write_predictions
from readlet.storage.files import atomic_text
from readlet.storage.tensors import save_tensors


def finish(
    folder: RunFolder, run: Run, trained: Trained, machine: str, *, keep_reader: bool
) -> None:
    """Write what is kept of a run; the result comes last, and with it the run is finished."""
    answers = {e.id: p.text for e, p in zip(trained.examples, trained.said, strict=True)}
    scored = score_questions(trained.examples, answers, rules_of(trained.examples))
    _write_scores(folder, scored, trained)
    write_predictions(folder.path / ANSWERS, answers)
    shutil.copyfile(folder.work / LOG, folder.path / LOG)
    reader = trained.reader
    if keep_reader:
        reader.save(folder.path / "reader")
    result = Result(
        key=run.key,
        recipe=json.loads(run.recipe.model_dump_json()),
        scores=reader.metrics["dev"],
        seconds=float(read_log(folder.path / LOG)[-1].get("seconds", 0.0)),
        steps=reader.metrics["steps"],
        parameters=count_parameters(reader.model),
        machine=machine,
        versions=versions() | {"code": " and ".join(folder.codes() or [versions()["code"]])},
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
        questions=hashlib.sha256(json.dumps(scored.ids).encode()).hexdigest()[:16],
        sources=dict(source_digests(run.recipe)),
        files=folder.digests(),
    )
    result = result.model_copy(update={"digest": result.own_digest()})
    with atomic_text(folder.path / RESULT) as stream:
        stream.write(result.model_dump_json(indent=1))
    shutil.rmtree(folder.work, ignore_errors=True)


def _write_scores(folder: RunFolder, scored: QuestionScores, trained: Trained) -> None:
    starts = {e.id: p.start for e, p in zip(trained.examples, trained.said, strict=True)}
    numbers: dict[str, NDArray[Any]] = {
        "exact": np.array(scored.exact, np.float32),
        "f1": np.array(scored.f1, np.float32),
        "start": np.array([starts[identity] for identity in scored.ids], np.int32),
        "has_answer": np.array(scored.has_answer, np.uint8),
    }
    tensors = {name: torch.from_numpy(array) for name, array in numbers.items()}
    save_tensors(folder.path / SCORES, tensors, how_to_resume=GO_ON)
