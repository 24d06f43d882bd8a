"""What a source names: a file, a split of the bundled corpus, or a dataset of the hub."""

import re
from dataclasses import replace
from pathlib import Path

from readlet.bundled import NAMES, corpus
from readlet.errors import bad_input
from readlet.formats.columns import PLAIN, DataFormat
from readlet.formats.detect import detect, head_of
from readlet.formats.glue import Task, glue_task
from readlet.formats.hub import PREFIX

_BUNDLED = "bundled:"


def source_path(source: str | Path) -> Path:
    """The file that a source names; `bundled:test` is a split of the bundled corpus."""
    name = str(source)
    return corpus(name.removeprefix(_BUNDLED)) if name.startswith(_BUNDLED) else Path(source)


def input_path(source: str) -> Path:
    """The file or folder that a source is read from; one on the hub does not exist here."""
    if not source.startswith(PREFIX):
        return source_path(source)
    return Path(source.removeprefix(PREFIX).rpartition("@")[0] or source.removeprefix(PREFIX))


def training_file(source: str) -> Path:
    """The file that a source names. Training needs files: it identifies data by their bytes."""
    if source.startswith(PREFIX):
        remedy = f"convert it first: readlet data convert {source} --out train.jsonl"
        raise bad_input(source, "", "training needs a file", remedy)
    return source_path(source)


def is_file_name(source: str) -> bool:
    """Whether a source is a file of the user, and neither on the hub nor bundled."""
    return not source.startswith((PREFIX, _BUNDLED))


def has_columns(source: str | Path, data_format: DataFormat = PLAIN) -> bool:
    """Whether the fields of the source may have other names; articles of SQuAD have fixed ones."""
    if str(source).startswith(PREFIX):
        return True
    path = source_path(source)
    data_format = DataFormat(encoding=encoded(path, data_format).encoding)
    kind = detect(path, data_format)
    if kind in ("json", "array"):
        return re.search(r'"paragraphs"\s*:', head_of(path, data_format.encoding)) is None
    return kind in ("parquet", "jsonl", "csv")


def task_of(source: str | Path, data_format: DataFormat = PLAIN) -> Task | None:
    """The GLUE task of the file, or None for all other data."""
    if str(source).startswith(PREFIX):
        return None
    path = source_path(source)
    return glue_task(head_of(path, encoded(path, data_format).encoding))


def for_source(source: str | Path, data_format: DataFormat | None) -> DataFormat | None:
    """The format of one of several sources: columns apply to those that have named columns."""
    if data_format is None or not data_format.columns or has_columns(source, data_format):
        return data_format
    return replace(data_format, columns={})


def encoded(path: Path, data_format: DataFormat) -> DataFormat:
    """The same format, but that the bundled corpus keeps its own encoding."""
    return replace(data_format, encoding="") if path in map(corpus, NAMES) else data_format
