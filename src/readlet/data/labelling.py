"""Labelling tools: reads exports of Label Studio and doccano, writes predictions as their tasks.

Label Studio: JSON (a task has `data` and `annotations`) and JSON-MIN. doccano: JSONL of sequence
labelling (`label`, or `entities` where there are relations) and of classification. A marked span is
an answer; a question that was labelled without any is unanswerable; a task without annotations is
unlabelled. Label Studio counts in UTF-16, as browsers do, and doccano in characters.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from readlet.data.columns import QUESTIONS, simple_name
from readlet.storage.files import atomic_text
from readlet.types import Example, Sentence

Tool = Literal["labelstudio", "doccano"]
ANSWER = "Answer"
"""The label of an answer in the project of a tool."""
_OF_TASKS = {"annotations", "completions", "predictions"}
_OF_MIN = {"annotator", "annotation_id"}
_ASKING = {"question", *QUESTIONS.other_names["question"]}
_Row = dict[str, Any]


def row_of(item: _Row) -> _Row:
    """The row in a task of a labelling tool; any other object unchanged."""
    labels = item.get("entities", item.get("label", item.get("labels")))
    if isinstance(item.get("data"), dict) and not _OF_TASKS.isdisjoint(item):
        row = _of_task(item)
    elif not _OF_MIN.isdisjoint(item):
        row = _of_min(item)
    elif isinstance(item.get("text"), str) and isinstance(labels, list):
        row = _of_doccano(item, labels)
    else:
        return item
    if _is_question(row) and "text" in row and "context" not in row:
        row["context"] = row.pop("text")  # what these tools call it
    return row


def _of_task(task: Mapping[str, Any]) -> _Row:
    data = task["data"]
    row = {"id": task.get("id"), **data} if "id" in task else dict(data)
    listed = task.get("annotations") or task.get("completions") or []
    done = [one for one in listed if isinstance(one, dict) and not one.get("was_cancelled")]
    results = [one for each in done for one in each.get("result") or () if isinstance(one, dict)]
    values = [one["value"] for one in results if isinstance(one.get("value"), dict)]
    choices = [one["choices"] for one in values if one.get("choices")]
    if choices:
        row["label"] = choices[0][0] if len(choices[0]) == 1 else choices[0]
    if done and _is_question(row):
        row["answers"] = _answers(values, data)
    return row


def _of_min(item: Mapping[str, Any]) -> _Row:
    marked = {
        name: value
        for name, value in item.items()
        if isinstance(value, list) and value and isinstance(value[0], dict) and "start" in value[0]
    }
    row = {name: value for name, value in item.items() if name not in marked}
    if marked or _is_question(row):
        row["answers"] = _answers([one for listed in marked.values() for one in listed], row)
    return row


def _answers(values: Iterable[Mapping[str, Any]], data: Mapping[str, Any]) -> list[_Row]:
    """The marked spans, once each, in characters of the text that they are marked in."""
    texts = [value for value in data.values() if isinstance(value, str)]
    found: dict[tuple[str, int], None] = {}
    for value in values:
        if isinstance(text := value.get("text"), str) and isinstance(value.get("start"), int):
            starts = (_start_in(context, value["start"], text) for context in texts)
            start = next((start for start in starts if start is not None), value["start"])
            found[text, start] = None
    return [{"text": text, "answer_start": start} for text, start in found]


def _start_in(context: str, start: int, text: str) -> int | None:
    """The offset of the text, if its start is counted in UTF-16, or else in characters."""
    before = context.encode("utf-16-le", "surrogatepass")[: 2 * start]
    counted = len(before.decode("utf-16-le", "replace"))
    for at in (counted, start):
        if text and context.startswith(text, at):
            return at
    return None


def _of_doccano(item: Mapping[str, Any], labels: Sequence[Any]) -> _Row:
    rest = ("label", "labels", "entities", "relations", "Comments", "cats")
    row = {name: value for name, value in item.items() if name not in rest}
    for name in ("question_id", "text_id"):  # the tool's own number comes second
        if name in row:
            row["id"] = row.pop(name)
    spans = [_span(one) for one in labels]
    if _is_question(row) or (spans and all(spans)):
        row["answers"] = [
            {"text": item["text"][slice(*span)], "answer_start": span[0]} if span else str(one)
            for span, one in zip(spans, labels, strict=True)
        ]
    elif labels:
        row["label"] = labels[0] if len(labels) == 1 else list(labels)
    return row


def _span(label: Any) -> tuple[int, int] | None:
    if isinstance(label, dict):
        label = [label.get("start_offset"), label.get("end_offset")]
    if not isinstance(label, list) or len(label) < 2:
        return None
    start, end = label[:2]
    return (start, end) if type(start) is int and type(end) is int else None


def _is_question(row: Mapping[str, Any]) -> bool:
    return any(simple_name(name) in _ASKING for name in row)


def tool_of(path: Path) -> Tool | None:
    """The tool whose tasks a file of this name has: NAME.labelstudio.json, NAME.doccano.jsonl."""
    name = path.name.lower().removesuffix(".gz")
    if name.endswith(".labelstudio.json"):
        return "labelstudio"
    return "doccano" if name.endswith(".doccano.jsonl") else None


def write_tasks(
    path: Path, pairs: Iterable[tuple[Example | Sentence, Mapping[str, Any]]], model: str
) -> None:
    """Write predictions, as `readlet predict` and `classify` record them, as pre-annotations."""
    tool = tool_of(path)
    with atomic_text(path) as stream:
        for line in _tasks(pairs, model) if tool == "labelstudio" else _lines(pairs):
            stream.write(line)


def _tasks(
    pairs: Iterable[tuple[Example | Sentence, Mapping[str, Any]]], model: str
) -> Iterator[str]:
    before = "[\n"
    for item, found in pairs:
        if isinstance(item, Example):
            data = {"id": found["id"], "text": item.context, "question": item.question}
            result = [] if found["abstained"] else [_marked(item.context, found)]
            score = found["no_answer"] if found["abstained"] else found["score"]
        else:
            data = {"id": found["id"], "text": item.text}
            data |= {} if item.second is None else {"second": item.second}
            value = {"choices": [found["label"]]}
            result = [{"from_name": "label", "to_name": "text", "type": "choices", "value": value}]
            score = found.get("probability")
        predicted = {"model_version": model, "score": score, "result": result}
        yield before + json.dumps({"data": data, "predictions": [predicted]}, ensure_ascii=False)
        before = ",\n"
    yield "\n]\n"


def _marked(context: str, found: Mapping[str, Any]) -> _Row:
    start, end = (
        len(context[: found[name]].encode("utf-16-le", "surrogatepass")) // 2
        for name in ("start", "end")
    )
    value = {"start": start, "end": end, "text": found["text"], "labels": [ANSWER]}
    return {"from_name": "answer", "to_name": "text", "type": "labels", "value": value}


def _lines(pairs: Iterable[tuple[Example | Sentence, Mapping[str, Any]]]) -> Iterator[str]:
    for item, found in pairs:
        task: _Row
        if isinstance(item, Example):
            label = [] if found["abstained"] else [[found["start"], found["end"], ANSWER]]
            task = {"question_id": found["id"], "question": item.question, "text": item.context}
        else:
            label = [found["label"]]
            task = {"text_id": found["id"], "text": item.text}
            task |= {} if item.second is None else {"second": item.second}
        yield json.dumps({**task, "label": label}, ensure_ascii=False) + "\n"
