"""A trained model's folder to the folder of its graph: another model folder, without torch."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from readlet.encoding.rows import AnyRows
from readlet.errors import ReadletError, bad_input
from readlet.export.equality import require_equal, sample_questions, sample_texts
from readlet.export.networks import Network, network_of
from readlet.export.rounding import round_to_int8
from readlet.export.tracing import require_onnx, trace
from readlet.families.onnx_graph import GRAPH, OnnxGraph
from readlet.families.onnx_scorer import (
    Exported,
    OnnxClassScorer,
    OnnxScorer,
    OnnxSpanScorer,
    Precision,
)
from readlet.families.onnx_subwords import SentenceInputs
from readlet.formats import read_questions
from readlet.formats.labelled import read_labelled
from readlet.formats.labels import class_numbers, label_values
from readlet.formats.sources import input_path
from readlet.metrics.task import Task
from readlet.progress import track
from readlet.reading.classifier import Classifier
from readlet.reading.classify_file import asked_text
from readlet.reading.evaluate_files import predict
from readlet.reading.reader import Reader, load_reader
from readlet.reading.reader_names import BASELINE, reader_folder
from readlet.reading.saving import foreign_to_reader, reserved
from readlet.reading.trained_model import TrainedModel, needs_torch, stored_task
from readlet.storage.outputs import check_folder

_ANOTHER = "give another --out"
_KINDS = "give a trained model of kind 'qacnn', 'encoder' or 'classifier'"
_OF_DEV = ("dev_raw", "refusal_area", "dev_calibration_error")


@dataclass(frozen=True)
class ExportResult:
    difference: float  # the largest of two scores, of the graph in float32 and of torch
    bytes: int  # of the graph
    task: Task
    before: dict[str, float]  # scores on the data; empty without data
    after: dict[str, float]


def export_folder(name: str, out: Path, *, int8: bool = False, dev: str = "") -> ExportResult:
    """Write the graph of a model with its calibration and card; with `int8`, a rounded one.

    The graph is compared with torch first. With `dev`, the model before and after is scored on
    these questions, or texts with labels; a rounded one must be.
    """
    inputs = [input_path(dev)] if dev else []
    inputs += [reader_folder(name)] if name != BASELINE else []
    check_folder(out, foreign_to_reader, inputs, remedy=_ANOTHER)
    if int8 and not dev:
        raise ReadletError("--int8: its loss must be measured; give data with --dev")
    with reserved(out, _ANOTHER):
        model = _load(name)
        require_onnx(name)
        network = network_of(model.scorer)
        if network is None:
            kind = model.recipe.model.kind
            raise bad_input(name, "", f"a model of kind {kind!r} cannot be exported", _KINDS)
        items = _items(model, dev) if dev else []
        with tempfile.TemporaryDirectory() as folder:
            traced, difference = _traced(model, network, name, Path(folder))
            made = traced
            if int8:
                rounded = Path(folder) / "int8.onnx"
                round_to_int8(Path(folder) / GRAPH, rounded)
                made = _with_graph(model, network, rounded, "int8")
            before, after = ({}, {}) if not dev else (_scored(model, items), _scored(made, items))
            if dev:
                # Other metrics of dev belong to the items of before.
                kept = {key: value for key, value in made.metrics.items() if key not in _OF_DEV}
                made = replace(made, metrics=kept | {"dev": after, "dev_source": dev})
            made.write(out)
            size = (out / GRAPH).stat().st_size
        return ExportResult(difference, size, model.task, before, after)


def _load(name: str) -> TrainedModel:
    if name != BASELINE and not needs_torch(name, device="cpu"):
        raise bad_input(name, "", "is exported already", "give the model that it was made from")
    loading = Classifier.load if stored_task(name) == "classes" else load_reader
    given = loading(name, device="cpu")
    if not isinstance(given, TrainedModel):
        raise bad_input(name, "", "has no network to export", _KINDS)
    return given


def _traced(
    model: TrainedModel, network: Network, name: str, folder: Path
) -> tuple[TrainedModel, float]:
    """The model with its graph, and how far the scores of both are apart."""
    rows = trace_network(model, network, name, folder / GRAPH)
    made = _with_graph(model, network, folder / GRAPH, "float32")
    return made, require_equal(name, model.scorer, made.scorer, rows)


def trace_network(model: TrainedModel, network: Network, name: str, path: Path) -> AnyRows:
    """Write the graph; return rows of many lengths, on which it can be compared with torch."""
    encoder: Any = network.inputs.encoder
    if isinstance(network.inputs, SentenceInputs):
        rows: AnyRows = encoder.encode(sample_texts(encoder.max_length, pairs=encoder.pairs))
    else:
        rows = encoder.encode(sample_questions(encoder.windows.max_context))
    # Before the graph is traced: tables of positions grow to the longest row.
    for _ in model.scorer.scores(rows, len(rows)):  # type: ignore[attr-defined]
        pass
    batches = network.inputs.batches(rows, 2)
    shape, numbers = next(cut for cut in batches.in_order() if len(cut[1]) > 1)
    arrays = batches.make(shape, numbers)
    given = {name: arrays[name] for name in network.inputs.names}
    trace(name, network.module, given, network.outputs, path)
    return rows


def _with_graph(
    model: TrainedModel, network: Network, path: Path, precision: Precision
) -> TrainedModel:
    graph, scorer = OnnxGraph.load(path), model.scorer
    can_refuse = network.inputs.null
    facts = tuple(scorer.facts())
    exported = Exported(graph.digest, scorer.parameters, precision, can_refuse, facts)
    made: OnnxScorer
    if isinstance(model, Reader):
        made = OnnxSpanScorer(graph, network.inputs, exported, model.scorer.max_answer)
    else:
        made = OnnxClassScorer(graph, network.inputs, exported)
    return replace(model, scorer=made)


def _items(model: TrainedModel, dev: str) -> Sequence[Any]:
    items: Sequence[Any]
    if isinstance(model, Classifier):
        items = read_labelled(dev)
        if model.classes:
            class_numbers(dev, items, model.classes)
        else:
            label_values(dev, items)
    else:
        items = read_questions(dev)
    if not items:
        raise bad_input(dev, "", f"contains no {model.task.noun}", "give other data")
    return items


def _scored(model: TrainedModel, items: Sequence[Any]) -> dict[str, float]:
    """The scores of its task, in percent."""
    if isinstance(model, Reader):
        by_id = predict(model, items)
        predictions: list[Any] = [by_id[item.id] for item in items]
    else:
        assert isinstance(model, Classifier)
        asked = model.predict_batch(asked_text(item) for item in items)
        predictions = [found.label for found in track(asked, len(items), model.name)]
    return dict(model.task.score(items, predictions).summary)
