"""Write the results of a run when it ends; `store.py` reads them."""

import hashlib
import json
import shutil
from datetime import UTC, datetime

import numpy as np
import torch

from readlet.experiments.grid import Run
from readlet.experiments.keys import source_digests
from readlet.experiments.store import (
    ANSWERS,
    LOG,
    READER,
    RESULT,
    RESUME_HINT,
    SCORES,
    Result,
    RunFolder,
)
from readlet.experiments.versions import versions
from readlet.fitting.train import Trained
from readlet.metrics.learning_curve import read_log
from readlet.metrics.task import Items
from readlet.reading.evaluate_files import write_predictions
from readlet.storage.files import atomic_text
from readlet.storage.tensors import save_tensors


def finish(
    folder: RunFolder, run: Run, trained: Trained, machine: str, *, keep_reader: bool
) -> None:
    """Write the files of a run; the result is written last and marks the run as finished."""
    scored = trained.task.score(trained.examples, trained.predictions)
    _write_items(folder, scored.items)
    write_predictions(folder.path / ANSWERS, scored.answers)
    shutil.copyfile(folder.work / LOG, folder.path / LOG)
    model = trained.model
    if keep_reader:
        model.write(folder.path / READER)
    result = Result(
        key=run.key,
        task=trained.task.name,
        recipe=json.loads(run.recipe.model_dump_json()),
        scores=scored.summary,
        seconds=float(read_log(folder.path / LOG)[-1].get("seconds", 0.0)),
        steps=model.metrics["steps"],
        parameters=model.scorer.parameters,
        machine=machine,
        versions=versions() | {"code": " and ".join(folder.codes() or [versions()["code"]])},
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
        items=hashlib.sha256(json.dumps(list(scored.ids)).encode()).hexdigest()[:16],
        sources=dict(source_digests(run.recipe)),
        files=folder.digests(),
    )
    result = result.model_copy(update={"digest": result.own_digest()})
    with atomic_text(folder.path / RESULT) as stream:
        stream.write(result.model_dump_json(indent=1))
    shutil.rmtree(folder.work, ignore_errors=True)


def _write_items(folder: RunFolder, items: Items) -> None:
    tensors = {}
    for name, column in items.items():
        # Single precision: a grid has hundreds of runs, and significance tests need no more.
        small = column.astype(np.float32) if column.dtype == np.float64 else column
        tensors[name] = torch.from_numpy(small)
    save_tensors(folder.path / SCORES, tensors, how_to_resume=RESUME_HINT)
