"""A reader's predictions for all questions of a file (`readlet predict`).

A classifier's labels for all texts of a file (`readlet classify --out`).
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path

from readlet.data import read
from readlet.data.columns import PLAIN, DataFormat
from readlet.data.datasets import input_path, read_sentences
from readlet.data.labelling import tool_of, write_tasks
from readlet.errors import bad_input
from readlet.inference.classifier import Classifier, Text
from readlet.inference.inputs import DEFAULTS, N_BEST, Answerer, AnswerOptions
from readlet.inference.overlap import chunks_overlapped
from readlet.inference.prediction_files import (
    Record,
    check_format,
    class_record,
    digest_of_model,
    is_squad,
    partial_of,
    predict_remaining,
    record_of,
    survey,
    write_na_probs,
    write_records,
)
from readlet.inference.reader import CHUNK, Reader, load_reader
from readlet.inference.trained_model import AUTO, BASELINE, reader_folder
from readlet.storage.overwrite import check_file
from readlet.storage.partial_lines import partial_lines
from readlet.types import Example, Prediction, Sentence


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

    `n_best` candidates are written too. Memory grows by 8 bytes for each question only. The data is
    read twice: its faults are reported before the first prediction. Finished predictions are kept
    in a file next to the output, `OUT.partial`; if the process is killed, the same call continues
    there, and the output has the same bytes. It appears only when it is complete. `loaded` is the
    reader itself, to predict several files.

    >>> predict_file("baseline", "bundled:test", "answers.csv").questions
    84
    """
    out = Path(out)
    # At least as many candidates as elsewhere: the scores of some readers depend on it.
    options = options.changed(n_best=max(n_best, N_BEST))
    if n_best and is_squad(out):
        remedy = "end --out in .jsonl or .csv"
        raise bad_input(out, "", "SQuAD's format has no place for --n-best", remedy)
    unfinished = partial_of(out)
    _check_outputs(data, reader, out, na_probs, unfinished, overwrite=overwrite)
    loaded = loaded or load_reader(reader, device=device, batch_size=batch_size)
    questions = partial(_questions, data, data_format)
    found = survey(data, questions(), _asked, "questions")
    task = {
        "readlet": version("readlet"),
        "reader": digest_of_model(reader),
        "data": found.digest,
        **asdict(options),
        "n_best": n_best,
        # They change the last digits of scores.
        "device": loaded.device if isinstance(loaded, Reader) else "cpu",
        "batch_size": loaded.rows_at_once if isinstance(loaded, Reader) else 1,
    }
    chunk = loaded.chunk if isinstance(loaded, Reader) else CHUNK
    with partial_lines(unfinished, task=task, chunk=chunk, total=found.total) as lines:
        predict_remaining(
            lines,
            found,
            data,
            questions(),
            predict=partial(_answers, loaded, options, found.total - lines.done),
            record=lambda identity, e, made: record_of(identity, e.question, made, n_best),
            name=loaded.name,
            noun="questions",
        )
        if na_probs is not None:
            write_na_probs(na_probs, lines.records())
        _write(out, lines.records(), questions(), loaded.name)
        abstained = unknown = 0
        for record in lines.records():
            abstained += record["abstained"]
            unknown += bool(record["unknown_language"])
        return PredictedFile(found.total, abstained, unknown)


def _write(
    out: Path, records: Iterator[Record], items: Iterator[Example] | Iterator[Sentence], model: str
) -> None:
    if tool_of(out) is None:
        write_records(out, records)
    else:  # a task also has the texts
        write_tasks(out, zip(items, records, strict=True), model)


def _answers(
    loaded: Answerer, options: AnswerOptions, count: int, asked: Iterator[Example]
) -> Iterator[Prediction]:
    if not isinstance(loaded, Reader):
        return loaded.answer_batch(asked, options)
    return loaded.answers(asked, options, chunks_overlapped(loaded, count))


def _check_outputs(
    data: str,
    reader: str,
    out: Path,
    na_probs: Path | None,
    unfinished: Path,
    *,
    overwrite: bool,
) -> None:
    inputs = [input_path(data)]
    if reader != BASELINE:
        inputs.append(reader_folder(reader))
    final = [out] if na_probs is None else [out, na_probs]
    # Killed while the outputs were written: they are its own.
    overwrite = overwrite or unfinished.exists()
    for path in final:
        check_file(path, inputs, overwrite=overwrite)
    check_file(unfinished, inputs)
    check_format(out)
    if na_probs is not None and na_probs.resolve() in (out.resolve(), unfinished.resolve()):
        raise bad_input(na_probs, "", "is also --out", "give another file for --na-probs")


def _questions(data: str, data_format: DataFormat) -> Iterator[Example]:
    for item in read(data, data_format):
        if not isinstance(item, Example):
            raise bad_input(data, "", "contains texts, not questions", "give question data")
        yield item


def _asked(example: Example) -> tuple[str, ...]:
    """Everything that a prediction depends on."""
    return example.question, example.context, example.language, example.question_language


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

    Memory grows by 8 bytes for each text only. Finished labels are kept in
    a file next to the output, `OUT.partial`; if the process is killed, the same call continues
    there, and the output has the same bytes. It appears only when it is complete. `loaded` is the
    classifier itself, to label several files.
    """
    unfinished, inputs = partial_of(out), [input_path(data), Path(classifier)]
    # Killed while the output was written: it is its own.
    check_file(out, inputs, overwrite=overwrite or unfinished.exists())
    check_file(unfinished, inputs)
    check_format(out)
    loaded = loaded or Classifier.load(classifier, device=device, batch_size=batch_size)
    texts = partial(_texts, data, data_format)
    found = survey(data, texts(), _text, "texts")
    task = {
        "readlet": version("readlet"),
        "classifier": digest_of_model(classifier),
        "data": found.digest,
        # They change the last digits of probabilities.
        "device": loaded.device,
        "batch_size": loaded.rows_at_once,
    }
    with partial_lines(unfinished, task=task, chunk=CHUNK, total=found.total) as lines:
        predict_remaining(
            lines,
            found,
            data,
            texts(),
            predict=lambda texts: loaded.predict_batch(map(asked_text, texts)),
            record=class_record,
            name=loaded.name,
            noun="texts",
        )
        _write(out, lines.records(), texts(), loaded.name)
    return found.total


def _texts(data: str, data_format: DataFormat) -> Iterator[Sentence]:
    return read_sentences(data, data_format, allow_unlabelled=True)


def _text(sentence: Sentence) -> tuple[str, ...]:
    return (sentence.text,) if sentence.second is None else (sentence.text, sentence.second)


def asked_text(sentence: Sentence) -> Text:
    """The classifier's input for a sentence."""
    return sentence.text if sentence.second is None else (sentence.text, sentence.second)
