"""Predictions for a file of any size, in constant memory, continued after a crash.

The data is read twice: its faults are reported before the first prediction.
"""

import hashlib
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from readlet.data.datasets import StreamedIds
from readlet.errors import bad_input
from readlet.progress import track
from readlet.reading.prediction_files import Record
from readlet.reading.reader_names import BASELINE, reader_files
from readlet.storage.partial_lines import PartialLines
from readlet.terminal import say


class HasId(Protocol):
    @property
    def id(self) -> str: ...


Item = TypeVar("Item", bound=HasId)
Asked = TypeVar("Asked")
Answer = TypeVar("Answer")


class Survey(NamedTuple):
    """The ids, the number and the digest of all items of a file."""

    ids: StreamedIds
    total: int
    digest: str


def survey(
    data: str, items: Iterable[Item], texts: Callable[[Item], Iterable[str]], noun: str
) -> Survey:
    """Read all items once; a fault in the data raises an error. `texts` determine a prediction."""
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
        warnings.warn(f"{repeated:,} × repeated id: a number is appended", stacklevel=3)
    return Survey(ids, total, digest.hexdigest())


def predict_remaining(
    lines: PartialLines,
    found: Survey,
    data: str,
    items: Iterable[Item],
    *,
    asked: Callable[[Item], Asked],
    predict: Callable[[Iterator[Asked]], Iterable[Answer]],
    record: Callable[[str, Item, Answer], Record],
    name: str,
    noun: str,
) -> None:
    """Append a record for every item that has none yet, with a progress bar."""
    if lines.done:
        done = f"{lines.done:,} of {found.total:,} {noun}"
        say(f"readlet: {lines.path}: continues after {done}")
    # Own ids from the first item on: the number of a repeated one depends on those before.
    named = ((found.ids.own_id(item.id), item) for item in items)
    waiting: deque[tuple[str, Item]] = deque()  # asked, but not yet answered: a chunk at most

    def remaining() -> Iterator[Asked]:
        for identity, item in islice(named, lines.done, None):
            waiting.append((identity, item))
            yield asked(item)

    for answer in track(predict(remaining()), found.total, name, done=lines.done):
        lines.append(record(*waiting.popleft(), answer))
    if lines.done != found.total:
        fault = f"had {found.total:,} {noun} at first, and {lines.done:,} when it was read again"
        raise bad_input(data, "", fault, "predict again when it no longer changes")


def digest_of_model(name: str) -> str:
    """Digest of the files that define a reader or classifier."""
    if name == BASELINE:
        return BASELINE
    digest = hashlib.sha256()
    for path in reader_files(name):
        with path.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()


def partial_of(out: Path) -> Path:
    """Where finished predictions are kept until all are made."""
    return out.parent / f"{out.name}.partial"
