"""Exports of Label Studio and doccano are read like any other format, and predictions go back."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from readlet.data import read, read_examples, read_sentences
from readlet.data.check import check
from readlet.data.columns import DataFormat
from readlet.types import Example, Sentence, Span

TEXT = "🙂 Ada Brook built it in 1881."
ADA = {"start": 3, "end": 12, "text": "Ada Brook", "labels": ["Answer"]}  # in UTF-16


def span(value: dict[str, Any]) -> dict[str, Any]:
    return {"from_name": "answer", "to_name": "text", "type": "labels", "id": "x", "value": value}


def task(number: int, question: str, annotations: list[dict[str, Any]]) -> dict[str, Any]:
    data = {"text": TEXT, "question": question}
    return {"id": number, "data": data, "annotations": annotations, "predictions": [{"result": []}]}


WHO, WHY, WHEN = "Who built it?", "Why did she?", "When was it?"
LABEL_STUDIO = [
    task(1, WHO, [{"result": [span(ADA)]}, {"result": [span(ADA)]}]),
    task(2, WHY, [{"result": [], "was_cancelled": False}]),
    task(3, WHEN, [{"result": [span(ADA)], "was_cancelled": True}]),
]
MIN = [
    {"id": 1, "text": TEXT, "question": WHO, "answer": [ADA], "annotator": 1, "annotation_id": 7},
    {"id": 2, "text": TEXT, "question": WHY, "annotator": 1, "annotation_id": 8},
    {"id": 3, "context": TEXT, "question": WHEN},
]
DOCCANO = [
    {"id": 1, "text": TEXT, "question": WHO, "label": [[2, 11, "Answer"]], "Comments": []},
    {"id": 2, "text": TEXT, "question": WHY, "label": []},
    {"id": 3, "context": TEXT, "question": WHEN},
]
RELATIONS = [
    {"id": 1, "text": TEXT, "question": WHO, "relations": []}
    | {"entities": [{"id": 5, "label": "Answer", "start_offset": 2, "end_offset": 11}]},
    {"id": 2, "text": TEXT, "question": WHY, "entities": [], "relations": []},
    {"id": 3, "context": TEXT, "question": WHEN},
]


@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize("tasks", [LABEL_STUDIO, MIN, DOCCANO, RELATIONS])
def test_answers_are_where_they_were_marked(tmp_path: Path, tasks: list[Any], lines: bool) -> None:
    path = tmp_path / "export.json"
    path.write_text("\n".join(map(json.dumps, tasks)) if lines else json.dumps(tasks))
    assert list(read(path)) == [
        Example("1", WHO, TEXT, (Span(2, "Ada Brook"),)),
        Example("2", WHY, TEXT, is_impossible=True),
        Example("3", WHEN, TEXT, is_labelled=False),  # not yet labelled, or skipped
    ]


CLASSES = [
    [
        {
            "id": 1,
            "data": {"text": "Fine."},
            "annotations": [{"result": [{"value": {"choices": ["a"]}}]}],
        }
    ],
    [{"id": 1, "text": "Fine.", "sentiment": "a", "annotator": 1}],
    [{"id": 1, "text": "Fine.", "label": ["a"], "Comments": []}],
]


@pytest.mark.filterwarnings("ignore:.*is read as")
@pytest.mark.parametrize("tasks", CLASSES)
def test_classes_are_read(tmp_path: Path, tasks: list[Any]) -> None:
    path = tmp_path / "export.json"
    path.write_text(json.dumps(tasks))
    assert list(read_sentences(path)) == [Sentence("1", "Fine.", "a")]


def test_an_edited_text_is_found_and_columns_have_their_own_names(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    moved = {"start": 40, "end": 49, "text": "Ada Brook", "labels": ["Answer"]}
    data = {"frage": WHO, "stelle": TEXT, "id": "own"}
    labelled = {"id": 9, "data": data, "annotations": [{"result": [span(moved)]}]}
    path.write_text(json.dumps([labelled | {"data": data | {"question": WHO}}]))
    (file,) = check([str(path)], DataFormat({"context": "stelle"})).files
    assert [finding.id for finding in file.findings if finding.fault.is_wrong] == ["own"]
    done = labelled | {"annotations": []}
    path.write_text(json.dumps([done]))
    (found,) = read(path, DataFormat({"context": "stelle", "question": "frage"}))
    assert isinstance(found, Example)
    assert (found.id, found.question, found.is_labelled) == ("own", WHO, False)


@pytest.mark.parametrize("name", ["tasks.labelstudio.json", "tasks.doccano.jsonl.gz"])
def test_predictions_come_back_as_annotations(
    readlet: Callable[..., Any], tmp_path: Path, name: str
) -> None:
    """As if a person had accepted all of them in the tool."""
    data, tasks, plain = tmp_path / "data.jsonl", tmp_path / name, tmp_path / "plain.jsonl"
    rows = [(f"q{n}", question, TEXT) for n, question in enumerate((WHO, WHEN, "Why is Zoe?"))]
    data.write_text(
        "".join(json.dumps({"id": i, "question": q, "context": c}) + "\n" for i, q, c in rows)
    )
    assert readlet("predict", "baseline", data, "--out", tasks).code == 0
    assert readlet("predict", "baseline", data, "--out", plain).code == 0
    expected = [json.loads(line) for line in plain.read_text().splitlines()]
    if name.endswith("json"):
        listed = json.loads(tasks.read_text())
        accepted = [
            {"id": n, "data": one["data"], "annotations": one["predictions"]}
            for n, one in enumerate(listed)
        ]
        tasks.write_text(json.dumps(accepted))
    found = list(read_examples(tasks))
    assert [item.id for item in found] == ["q0", "q1", "q2"]
    assert [(item.question, item.context) for item in found] == [row[1:] for row in rows]
    for item, prediction in zip(found, expected, strict=True):
        assert item.is_impossible == prediction["abstained"]
        if not prediction["abstained"]:
            assert item.answers == (Span(prediction["start"], prediction["text"]),)
