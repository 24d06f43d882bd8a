"""Predictions for all items of a file of any size: `readlet predict` and `classify --out`.

In constant memory, and continued after a crash: finished predictions are kept in a file next to
the output, `OUT.partial`. The data is read twice: its faults are reported before the first
prediction.
"""

import hashlib
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from readlet.console import say, track
from readlet.data import read
from readlet.data.columns import PLAIN, DataFormat
from readlet.data.datasets import StreamedIds, input_path, read_sentences
from readlet.data.labelling import tool_of, write_tasks
from readlet.errors import bad_input
from readlet.inference.classifier import Classifier, Text
from readlet.inference.inputs import DEFAULTS, N_BEST, Answerer, AnswerOptions
from readlet.inference.overlap import chunks_overlapped
from readlet.inference.prediction_files import (
    Record,
    check_format,
    class_record,
    is_squad,
    record_of,
    write_na_probs,
    write_records,
)
from readlet.inference.reader import CHUNK, Reader, load_reader
from readlet.inference.trained_model import AUTO, BASELINE, reader_files, reader_folder
from readlet.storage.overwrite import check_file
from readlet.storage.partial_lines import PartialLines, partial_lines
from readlet.types import Example, Prediction, Sentence


class HasId(Protocol):
    @property
    def id(self) -> str: ...


Item = TypeVar("Item", bound=HasId)
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class PredictedFile:
    """The number of questions, of those where the reader abstained, and of unknown languages."""

    questions: int
    abstained: int
    unknown_language: int  # in a language that the reader was not trained on


def predict_file(
    reader: str,
    data: str,
    out: str | Path,
    *,
    na_probs: Path | None = None,
    options: AnswerOptions = DEFAULTS,
    n_best: int = 0,
    data_format: DataFormat = PLAIN,
    device: str = AUTO,
    batch_size: int = 0,
    overwrite: bool = False,
    loaded: Answerer | None = None,
) -> PredictedFile:
    """Write a prediction for every question of a file, labelled or not, in its order.

    `n_best` candidates are written too. If the process is killed, the same call continues where it
    stopped, and the output has the same bytes; it appears only when it is complete. Memory grows by
    8 bytes for each question only. `loaded` is the reader itself, to predict several files.

    >>> predict_file("baseline", "bundled:test", "answers.csv").questions
    84
    """
    out = Path(out)
    # At least as many candidates as elsewhere: the scores of some readers depend on it.
    options = options.changed(n_best=max(n_best, N_BEST))
    if n_best and is_squad(out):
        remedy = "end --out in .jsonl or .csv"
        raise bad_input(out, "", "SQuAD's format has no place for --n-best", remedy)
    _check_outputs(data, reader, out, na_probs, overwrite=overwrite)
    loaded = loaded or load_reader(reader, device=device, batch_size=batch_size)
    trained = loaded if isinstance(loaded, Reader) else None
    task = {
        "reader": digest_of_model(reader),
        **asdict(options),
        "n_best": n_best,
        # They change the last digits of scores.
        "device": trained.device if trained else "cpu",
        "batch_size": trained.rows_at_once if trained else 1,
    }
    questions = partial(_questions, data, data_format)
    with _all_predicted(
        out,
        data,
        questions,
        noun="questions",
        texts=lambda e: (e.question, e.context, e.language, e.question_language),
        task=task,
        chunk=trained.chunk if trained else CHUNK,
        predict=partial(_answers, loaded, options),
        record=lambda identity, e, made: record_of(identity, e.question, made, n_best),
        name=loaded.name,
    ) as lines:
        if na_probs is not None:
            write_na_probs(na_probs, lines.records())
        _write(out, lines.records(), questions(), loaded.name)
        abstained = unknown = 0
        for record in lines.records():
            abstained += record["abstained"]
            unknown += bool(record["unknown_language"])
        return PredictedFile(lines.done, abstained, unknown)


def _answers(
    loaded: Answerer, options: AnswerOptions, asked: Iterator[Example], count: int
) -> Iterator[Prediction]:
    if not isinstance(loaded, Reader):
        return loaded.answer_batch(asked, options)
    return loaded.answers(asked, options, chunks_overlapped(loaded, count))


def _questions(data: str, data_format: DataFormat) -> Iterator[Example]:
    for item in read(data, data_format):
        if not isinstance(item, Example):
            raise bad_input(data, "", "contains texts, not questions", "give question data")
        yield item


def classify_file(
    classifier: str,
    data: str,
    out: Path,
    *,
    data_format: DataFormat = PLAIN,
    device: str = AUTO,
    batch_size: int = 0,
    overwrite: bool = False,
    loaded: Classifier | None = None,
) -> int:
    """Write a label for every text of a file, labelled or not, in its order; return their number.

    It continues after a crash as `predict_file` does. `loaded` is the classifier itself, to label
    several files.
    """
    _check_outputs(data, classifier, out, None, overwrite=overwrite)
    loaded = loaded or Classifier.load(classifier, device=device, batch_size=batch_size)
    task = {
        "classifier": digest_of_model(classifier),
        # They change the last digits of probabilities.
        "device": loaded.device,
        "batch_size": loaded.rows_at_once,
    }
    texts = partial(read_sentences, data, data_format, allow_unlabelled=True)
    with _all_predicted(
        out,
        data,
        texts,
        noun="texts",
        texts=lambda s: (s.text,) if s.second is None else (s.text, s.second),
        task=task,
        chunk=CHUNK,
        predict=lambda asked, _: loaded.predict_batch(map(asked_text, asked)),
        record=class_record,
        name=loaded.name,
    ) as lines:
        _write(out, lines.records(), texts(), loaded.name)
        return lines.done


def asked_text(sentence: Sentence) -> Text:
    """The classifier's input for a sentence."""
    return sentence.text if sentence.second is None else (sentence.text, sentence.second)


def partial_of(out: Path) -> Path:
    """Where finished predictions are kept until all are made."""
    return out.parent / f"{out.name}.partial"


def _check_outputs(
    data: str, model: str, out: Path, na_probs: Path | None, *, overwrite: bool
) -> None:
    inputs = [input_path(data), *([] if model == BASELINE else [reader_folder(model)])]
    unfinished = partial_of(out)
    # Killed while the outputs were written: they are its own.
    overwrite = overwrite or unfinished.exists()
    for path in (out, *([] if na_probs is None else [na_probs])):
        check_file(path, inputs, overwrite=overwrite)
    check_file(unfinished, inputs)
    check_format(out)
    if na_probs is not None and na_probs.resolve() in (out.resolve(), unfinished.resolve()):
        raise bad_input(na_probs, "", "is also --out", "give another file for --na-probs")


@contextmanager
def _all_predicted(
    out: Path,
    data: str,
    items: Callable[[], Iterator[Item]],
    *,
    noun: str,
    texts: Callable[[Item], Iterable[str]],
    task: Mapping[str, Any],
    chunk: int,
    predict: Callable[[Iterator[Item], int], Iterable[Answer]],
    record: Callable[[str, Item, Answer], Record],
    name: str,
) -> Iterator[PartialLines]:
    """A record for every item: those of an interrupted call, and then the others.

    `texts` are those that determine a prediction; `predict` also gets the number of items.
    """
    found = _survey(data, items(), texts, noun)
    task = {"readlet": version("readlet"), "data": found.digest, **task}
    with partial_lines(partial_of(out), task=task, chunk=chunk, total=found.total) as lines:
        if lines.done:
            done = f"{lines.done:,} of {found.total:,} {noun}"
            say(f"readlet: {lines.path}: continues after {done}")
        # Own ids from the first item on: the number of a repeated one depends on those before.
        named = ((found.ids.own_id(item.id), item) for item in items())
        waiting: deque[tuple[str, Item]] = deque()  # asked, not yet answered: a few chunks at most

        def remaining() -> Iterator[Item]:
            for identity, item in islice(named, lines.done, None):
                waiting.append((identity, item))
                yield item

        made = predict(remaining(), found.total - lines.done)
        for answer in track(made, found.total, name, done=lines.done):
            lines.append(record(*waiting.popleft(), answer))
        if lines.done != found.total:
            fault = f"had {found.total:,} {noun} at first, and {lines.done:,} when read again"
            raise bad_input(data, "", fault, "predict again when it no longer changes")
        yield lines


class _Survey(NamedTuple):
    """The ids, the number and the digest of all items of a file."""

    ids: StreamedIds
    total: int
    digest: str


def _survey(
    data: str, items: Iterable[Item], texts: Callable[[Item], Iterable[str]], noun: str
) -> _Survey:
    """Read all items once; a fault in the data raises an error."""
    ids, total, digest = StreamedIds(), 0, hashlib.sha256()
    for item in items:
        ids.add(item.id)
        total += 1
        for text in (item.id, *texts(item)):
            encoded = text.encode("utf-8", "surrogatepass")
            digest.update(len(encoded).to_bytes(8))
            digest.update(encoded)
    if not total:
        raise bad_input(data, "", f"contains no {noun}", f"give data with {noun}")
    if repeated := ids.count_repeated():
        warnings.warn(f"{repeated:,} × repeated id: a number is appended", stacklevel=2)
    return _Survey(ids, total, digest.hexdigest())


def digest_of_model(name: str) -> str:
    """Digest of the files that define a reader or classifier."""
    if name == BASELINE:
        return BASELINE
    digest = hashlib.sha256()
    for path in reader_files(name):
        with path.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()


def _write(
    out: Path, records: Iterator[Record], items: Iterator[Example] | Iterator[Sentence], model: str
) -> None:
    if tool_of(out) is None:
        write_records(out, records)
    else:  # a task also has the texts
        write_tasks(out, zip(items, records, strict=True), model)
