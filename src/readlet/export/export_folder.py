"""Exports a trained model's folder to that of an ONNX model, which needs no torch."""

import tempfile
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from readlet.bundled import corpus
from readlet.data import read_examples
from readlet.errors import bad_input
from readlet.export.int8 import round_to_int8
from readlet.export.tracing import Network, network_of, require_onnx, trace
from readlet.inference.classifier import Classifier
from readlet.inference.reader import Reader, load_reader
from readlet.inference.saving import foreign_to_reader, reserved
from readlet.inference.trained_model import (
    BASELINE,
    TrainedModel,
    needs_torch,
    reader_folder,
    stored_task,
)
from readlet.models.family import SpanScores
from readlet.models.onnx.model import MODEL, OnnxModel
from readlet.models.onnx.scorer import (
    Exported,
    OnnxClassScorer,
    OnnxScorer,
    OnnxSpanScorer,
    Precision,
)
from readlet.models.pretrained.inputs import SentenceInputs
from readlet.storage.overwrite import check_folder
from readlet.text.rows import AnyRows
from readlet.types import Example, Sentence

_ANOTHER = "give another --out"
_KINDS = "give a trained model of kind 'qacnn', 'encoder' or 'classifier'"
_OF_DEV = ("dev", "dev_source", "dev_raw", "no_answer_area", "dev_calibration_error")
TOLERANCE = 1e-4
_QUESTIONS = 6
_BATCH_SIZES = (1, 3, 32)


@dataclass(frozen=True)
class ExportResult:
    difference: float  # the largest between scores of the ONNX model in float32 and of torch
    bytes: int  # of the ONNX model


def export_folder(name: str, out: Path, *, int8: bool = False) -> ExportResult:
    """Write a model in ONNX with its calibration and card; with `int8`, a rounded one.

    Its scores in float32 are compared with those of torch first.
    """
    inputs = [reader_folder(name)] if name != BASELINE else []
    check_folder(out, foreign_to_reader, inputs, remedy=_ANOTHER)
    with reserved(out, _ANOTHER):
        model = _load(name)
        require_onnx(name)
        network = network_of(model.scorer)
        if network is None:
            raise bad_input(name, "", f"a model of kind {model.kind!r} cannot be exported", _KINDS)
        with tempfile.TemporaryDirectory() as drafts:
            path = Path(drafts) / MODEL
            rows = trace_network(model, network, name, path)
            made = with_onnx(model, network, path, "float32")
            difference = require_equal(name, model.scorer, made.scorer, rows)
            if int8:
                rounded = Path(drafts) / "int8.onnx"
                round_to_int8(path, rounded)
                made = with_onnx(model, network, rounded, "int8")
                # They are scores of the model before it was rounded.
                kept = {key: value for key, value in made.metrics.items() if key not in _OF_DEV}
                made = replace(made, metrics=kept)
            made.write(out)
            return ExportResult(difference, (out / MODEL).stat().st_size)


def _load(name: str) -> TrainedModel:
    if name != BASELINE and not needs_torch(name, device="cpu"):
        raise bad_input(name, "", "is exported already", "give the model that it was exported from")
    loading = Classifier.load if stored_task(name) == "classes" else load_reader
    given = loading(name, device="cpu")
    if not isinstance(given, TrainedModel):
        raise bad_input(name, "", "has no network to export", _KINDS)
    return given


def trace_network(model: TrainedModel, network: Network, name: str, path: Path) -> AnyRows:
    """Write the ONNX model; return rows of many lengths, on which it can be compared with torch."""
    encoder: Any = network.inputs.encoder
    if isinstance(network.inputs, SentenceInputs):
        rows: AnyRows = encoder.encode(sample_texts(encoder.max_length, pairs=encoder.pairs))
    else:
        rows = encoder.encode(sample_questions(encoder.windows.max_context))
    # Before tracing: the position tables grow to the longest row.
    for _ in model.scorer.scores(rows, len(rows)):  # type: ignore[attr-defined]
        pass
    batches = network.inputs.batches(rows, 2)
    shape, numbers = next(cut for cut in batches.in_order() if len(cut[1]) > 1)
    arrays = batches.make(shape, numbers)
    given = {name: arrays[name] for name in network.inputs.names}
    trace(name, network.module, given, network.outputs, path)
    return rows


def with_onnx(
    model: TrainedModel, network: Network, path: Path, precision: Precision
) -> TrainedModel:
    onnx, scorer = OnnxModel.load(path), model.scorer
    exported = Exported(
        graph=onnx.digest,
        parameters=scorer.parameters,
        precision=precision,
        facts=tuple(scorer.facts()),
    )
    kind = OnnxSpanScorer if isinstance(model, Reader) else OnnxClassScorer
    made: OnnxScorer = kind(onnx, network.inputs, exported)
    return replace(model, scorer=made)


def sample_questions(longest: int) -> list[Example]:
    """Questions about passages from one word up to more than the longest window of the model."""
    examples = list(islice(read_examples(corpus("dev")), 0, 10 * _QUESTIONS, 10))
    whole = " ".join(example.context for example in examples)
    whole *= 1 + longest // max(len(whole.split()), 1)
    passages = [examples[0].context.split()[0], *(e.context for e in examples[2:]), whole]
    pairs = zip(examples, passages, strict=True)
    return [Example(str(i), e.question, text) for i, (e, text) in enumerate(pairs)]


def sample_texts(longest: int, *, pairs: bool) -> list[Sentence]:
    """Texts, or pairs of them, from one word up to more than the longest of the model."""
    return [
        Sentence(e.id, e.context, None, e.question if pairs else None)
        for e in sample_questions(longest)
    ]


def require_equal(name: str, torch_scorer: Any, onnx_scorer: Any, rows: AnyRows) -> float:
    """The largest difference of two scores; an error if it is above the tolerance."""
    expected = _by_row(torch_scorer, rows, _BATCH_SIZES[-1])
    largest = 0.0
    for size in _BATCH_SIZES:
        found = _by_row(onnx_scorer, rows, size)
        largest = max(largest, *(_difference(expected[row], found[row]) for row in expected))
    if not largest <= TOLERANCE:  # NaN is not
        fault = f"the scores of its ONNX model differ from torch by {largest:.2g}"
        raise bad_input(name, "", fault, f"nothing was written; the limit is {TOLERANCE:g}")
    return largest


def _by_row(scorer: Any, rows: AnyRows, batch_size: int) -> dict[int, Any]:
    """The scores of each row in an array: of its allowed positions and of "no answer"."""
    found: dict[int, Any] = {}
    for numbers, scores in scorer.scores(rows, batch_size):
        for i, row in enumerate(numbers.tolist()):
            found[row] = _of_spans(scores, i) if isinstance(scores, SpanScores) else scores[i]
    return found


def _of_spans(scores: SpanScores, i: int) -> Any:
    allowed = np.flatnonzero(scores.allowed[i])  # (places,)
    null = () if scores.null is None else scores.null[i]  # (2,)
    return np.concatenate([allowed, scores.start[i][allowed], scores.end[i][allowed], null])


def _difference(expected: Any, found: Any) -> float:
    if expected.shape != found.shape:
        return float("inf")
    return float(np.abs(expected - found).max(initial=0.0))
