"""A classifier's labels for all texts of a file: what `readlet classify --out` calls."""

from collections.abc import Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path

from readlet.data.columns import PLAIN, DataFormat
from readlet.data.datasets import read_sentences
from readlet.data.sources import input_path
from readlet.reading.classifier import CHUNK, Classifier, Text
from readlet.reading.devices import AUTO
from readlet.reading.prediction_files import class_record, write_records, writer_of
from readlet.reading.streamed import digest_of_model, partial_of, predict_remaining, survey
from readlet.storage.overwrite import check_file
from readlet.storage.partial_lines import partial_lines
from readlet.types import Sentence


def classify_file(
    classifier: str,
    data: str,
    out: Path,
    *,
    data_format: DataFormat = PLAIN,
    device: str = AUTO,
    batch_size: int = 0,
    overwrite: bool = False,
) -> int:
    """Write a label for every text of a file, labelled or not, in its order; return their number.

    Memory does not grow with the file, but for 8 bytes for each text. Finished labels are kept in
    a file next to the output, `OUT.partial`; if the process is killed, the same call continues
    there, and the output has the same bytes. It appears only when it is complete.
    """
    unfinished, inputs = partial_of(out), [input_path(data), Path(classifier)]
    # Killed while the output was written: it is its own.
    check_file(out, inputs, overwrite=overwrite or unfinished.exists())
    check_file(unfinished, inputs)
    writer_of(out)
    loaded = Classifier.load(classifier, device=device, batch_size=batch_size)
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
            asked=asked_text,
            predict=loaded.predict_batch,
            record=class_record,
            name=loaded.name,
            noun="texts",
        )
        write_records(out, lines.records())
    return found.total


def _texts(data: str, data_format: DataFormat) -> Iterator[Sentence]:
    return read_sentences(data, data_format, allow_unlabelled=True)


def _text(sentence: Sentence) -> tuple[str, ...]:
    return (sentence.text,) if sentence.second is None else (sentence.text, sentence.second)


def asked_text(sentence: Sentence) -> Text:
    """What a classifier is asked about a sentence."""
    return sentence.text if sentence.second is None else (sentence.text, sentence.second)
