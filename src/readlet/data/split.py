"""Parts of a file: a random split without leakage, or a cut into files of N rows.

A split's parts share no context and no article, or no text.

Contexts that differ only in white space, case or Unicode normalisation count as the same.
"""

import os
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unicodedata import normalize

from readlet.data import content_of, read, write_examples
from readlet.data.columns import PLAIN, Content, DataFormat
from readlet.data.datasets import input_path, items_of
from readlet.data.rows import Origin
from readlet.data.writing import (
    OwnRow,
    arranged,
    is_output,
    output_kind,
    own_row,
    write_own_rows,
)
from readlet.errors import ReadletError, bad_input
from readlet.storage.overwrite import check_folder, make_folder
from readlet.types import Example, Sentence

Parts = Mapping[str, float]
"""The share of each part, by name."""
_PART = re.compile(r"(?P<name>[\w-]+)\s*=\s*(?P<share>0?\.\d*[1-9]\d*)")


@dataclass(frozen=True)
class PartSummary:
    name: str
    path: Path
    content: Content
    rows: int  # questions, or texts with labels
    contexts: int  # or different texts
    share: float  # of all rows

    def as_json(self) -> dict[str, Any]:
        noun = "contexts" if self.content == "questions" else "different_texts"
        counts = {self.content: self.rows, noun: self.contexts, "share": self.share}
        return {"name": self.name, "path": str(self.path), **counts}


def parse_parts(text: str) -> dict[str, float]:
    """Parse `train=0.8,dev=0.1,test=0.1`; the shares must add up to 1."""
    parts: dict[str, float] = {}
    for piece in text.split(","):
        found = _PART.fullmatch(piece.strip())
        if found is None or found["name"] in parts:
            remedy = "write NAME=SHARE,... with different names and shares between 0 and 1"
            raise ReadletError(f"--parts {text}: {piece!r:.40}; {remedy}")
        parts[found["name"]] = float(found["share"])
    if abs(sum(parts.values()) - 1) > 1e-6:
        raise ReadletError(f"--parts {text}: the shares add up to {sum(parts.values()):g}, not 1")
    return parts


def split(
    source: str, out: Path, parts: Parts, seed: int, data_format: DataFormat = PLAIN
) -> list[PartSummary]:
    """Write each part to a file in the folder, all or none; equal arguments give equal files."""
    suffix = _suffix(Path(source))
    paths = {name: out / f"{name}{suffix}" for name in parts}
    check_folder(out, None)
    if exists := next(filter(os.path.lexists, paths.values()), None):
        raise bad_input(exists, "", "exists already", "remove it, or choose another --out")
    content = content_of(source, data_format)
    rows: list[Example | Sentence] = list(items_of(source, content, data_format))
    contexts = [_context_key(row) for row in rows]
    groups = _Groups()
    for row, context in zip(rows, contexts, strict=True):
        if isinstance(row, Example) and row.title.strip():
            groups.join(context, _key("title", row.title))
    group_of_row = [groups.root(context) for context in contexts]
    chosen = _assign(source, content, Counter(group_of_row), parts, seed)
    summaries = []
    # A new folder is made at the end, next to the drafts: on the same file system.
    folder = out.resolve()
    near = next(place for place in (folder, *folder.parents) if place.is_dir())
    with TemporaryDirectory(dir=near, prefix=".split.") as drafts:
        for name, path in paths.items():
            draft = Path(drafts) / path.name
            members = [n for n, group in enumerate(group_of_row) if chosen[group] == name]
            write_examples(draft, arranged(draft, content, (rows[n] for n in members)))
            count, share = len({contexts[n] for n in members}), len(members) / len(rows)
            summaries.append(PartSummary(name, path, content, len(members), count, share))
        make_folder(folder)
        for path in paths.values():
            os.replace(Path(drafts) / path.name, path)
    return summaries


class _Groups:
    """Disjoint sets of keys (union-find)."""

    def __init__(self) -> None:
        self._parent: dict[bytes, bytes] = {}

    def root(self, key: bytes) -> bytes:
        parent = self._parent.setdefault(key, key)
        while parent != key:
            self._parent[key] = self._parent[parent]  # halves the path
            key, parent = parent, self._parent[parent]
        return key

    def join(self, one: bytes, other: bytes) -> None:
        # The smaller key is the root: it does not depend on the order of the rows.
        low, high = sorted((self.root(one), self.root(other)))
        self._parent[high] = low


def _assign(
    source: str, content: Content, sizes: Counter[bytes], parts: Parts, seed: int
) -> dict[bytes, str]:
    """The part of each group: in random order, each goes where most rows are missing."""
    if len(sizes) < len(parts):
        kept, named = "a context, and an article,", "contexts or articles"
        if content == "texts":
            kept, named = "the same text", "different texts"
        fault = f"{len(sizes)} {named} for {len(parts)} parts"
        remedy = f"give more data or fewer parts: {kept} stays in one part"
        raise bad_input(source, "", fault, remedy)
    order = sorted(sizes)
    random.Random(seed).shuffle(order)
    total = sum(sizes.values())
    missing = {name: share * total for name, share in parts.items()}
    empty = set(parts)
    chosen = {}
    for number, group in enumerate(order):
        # No part stays empty: the last groups go to those that have none.
        open_parts = empty if len(order) - number <= len(empty) else parts
        name = max((n for n in parts if n in open_parts), key=lambda n: missing[n])
        chosen[group] = name
        missing[name] -= sizes[group]
        empty.discard(name)
    return chosen


def _context_key(item: Example | Sentence) -> bytes:
    """Pairs with the same first text stay together, such as a premise and its hypotheses."""
    return _key("context", item.context if isinstance(item, Example) else item.text)


def _key(kind: str, text: str) -> bytes:
    same = " ".join(normalize("NFC", text).casefold().split())
    return blake2b(f"{kind}\0{same}".encode(errors="surrogatepass"), digest_size=16).digest()


def _suffix(path: Path) -> str:
    """The suffix that gives the format: .csv, .json.gz; .jsonl if there is none."""
    if not is_output(path):
        return ".jsonl"
    return f".{output_kind(path)}" + (".gz" if path.suffix.lower() == ".gz" else "")


def cut(source: str, out: Path | None, rows: int, data_format: DataFormat = PLAIN) -> list[Path]:
    """Write a file in parts of at most `rows` rows, unchanged and in order.

    An article stays in one part, unless it has more rows; a context always does. In memory are the
    rows of one part.
    """
    named = input_path(source)
    suffix = _suffix(named)
    stem = named.name.removesuffix(suffix) or named.name
    folder = out or Path(f"{stem}-parts")
    check_folder(folder, None)
    if folder.is_dir() and any(folder.iterdir()):
        raise bad_input(folder, "", "has files already", "give another folder with --out")
    origin = Origin()
    read_here = read(source, data_format, origin=origin)
    items = ((item, own_row(origin, item, item)) for item in read_here)
    paths: list[Path] = []
    make_folder(folder)
    for part in _parts(items, rows):
        path = folder / f"{stem}-{len(paths) + 1:05}{suffix}"
        write_own_rows(path, origin, part)
        paths.append(path)
    if not paths:
        raise bad_input(source, "", "has no rows", "check how it was made")
    return paths


_RowOf = tuple[Example | Sentence, OwnRow | None]


def _parts(items: Iterable[_RowOf], rows: int) -> Iterator[list[_RowOf]]:
    part: list[_RowOf] = []
    for article in _articles(items, rows):
        if part and len(part) + len(article) > rows:
            yield part
            part = []
        part += article
    if part:
        yield part


def _articles(items: Iterable[_RowOf], rows: int) -> Iterator[list[_RowOf]]:
    """Consecutive rows of an article, or of a context without a title; a long one in pieces."""
    article: list[_RowOf] = []
    last = ""
    for (title, _), members in groupby(items, key=lambda pair: _place(pair[0])):
        context = list(members)
        if article and (not title or title != last or len(article) + len(context) > rows):
            yield article
            article = []
        article += context
        last = title
    if article:
        yield article


def _place(item: Example | Sentence) -> tuple[str, str]:
    return (item.title, item.context) if isinstance(item, Example) else ("", item.text)
