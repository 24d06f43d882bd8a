"""`predict`, `classify` and `augment` for many files, with one output per file."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from hashlib import file_digest
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from readlet.augmentation.config import AugmentationConfig
from readlet.augmentation.pipeline import Outputs, Sources, augment, engines, why_left
from readlet.augmentation.translation.engines import translator_for
from readlet.cluster.actors import connected
from readlet.cluster.files import Job, jobs_of, local_copy
from readlet.cluster.map_files import Summary, Worker, map_files
from readlet.data.columns import PLAIN, DataFormat
from readlet.data.datasets import id_digest
from readlet.errors import InputError, bad_input
from readlet.inference.classifier import Classifier
from readlet.inference.inputs import DEFAULTS, AnswerOptions
from readlet.inference.model_folder import BASELINE, BUNDLED
from readlet.inference.predict_file import classify_file, predict_file
from readlet.inference.prediction_files import check_format, digest_of_model
from readlet.inference.reader import load_reader
from readlet.inference.trained_model import AUTO
from readlet.storage.files import atomic_bytes, cache_folder
from readlet.storage.overwrite import make_folder

_IDS = ".readlet-ids"  # a folder beside the outputs: digests of the ids of each input


@dataclass(frozen=True, kw_only=True)
class Files:
    """The files of a command, and where they are worked on."""

    sources: Sequence[str]
    out: str
    data_format: DataFormat = PLAIN
    kind: str = "jsonl"
    """The format of the outputs: the suffix of their names."""
    ray: str = ""
    """See `map_files`."""

    def jobs(self) -> list[Job]:
        return jobs_of(self.sources, self.out, f".{self.kind}")

    def check_format(self) -> None:
        """Check that predictions can be written in it."""
        try:
            check_format(Path(f"x.{self.kind}"))
        except InputError as error:
            option = f"--format {self.kind}"
            raise bad_input(option, "", error.fault, error.remedy) from None

    def settings(self, command: str, **values: Any) -> dict[str, Any]:
        """Everything that the outputs depend on."""
        return {
            "command": command,
            "readlet": version("readlet"),
            "format": self.kind,
            "columns": dict(self.data_format.columns),
            "encoding": self.data_format.encoding,
            **values,
        }


def predict_files(
    reader: str,
    files: Files,
    *,
    options: AnswerOptions = DEFAULTS,
    n_best: int = 0,
    device: str = AUTO,
    batch_size: int = 0,
) -> Summary:
    """A reader's predictions for the questions of many files: `predict_file` for each."""
    files.check_format()
    values = {"options": asdict(options), "n_best": n_best}
    settings = files.settings("predict", reader=digest_of_model(reader), **values)
    rest = {"options": options, "n_best": n_best, "data_format": files.data_format}
    make = partial(_predictor, _absolute(reader), device, batch_size, rest)
    return map_files(make, files.jobs(), settings=settings, ray=files.ray, with_gpu=device != "cpu")


def _predictor(reader: str, device: str, batch_size: int, rest: dict[str, Any]) -> Worker:
    loaded = load_reader(reader, device=device, batch_size=batch_size)

    def predict(source: Path, target: Path) -> Mapping[str, int]:
        return asdict(predict_file(reader, str(source), target, loaded=loaded, **rest))

    return predict


def classify_files(
    classifier: str, files: Files, *, device: str = AUTO, batch_size: int = 0
) -> Summary:
    """A classifier's labels for the texts of many files: `classify_file` for each."""
    files.check_format()
    settings = files.settings("classify", classifier=digest_of_model(classifier))
    make = partial(_labeller, _absolute(classifier), device, batch_size, files.data_format)
    return map_files(make, files.jobs(), settings=settings, ray=files.ray, with_gpu=device != "cpu")


def _labeller(name: str, device: str, batch_size: int, data_format: DataFormat) -> Worker:
    loaded = Classifier.load(name, device=device, batch_size=batch_size)

    def classify(source: Path, target: Path) -> Mapping[str, int]:
        count = classify_file(name, str(source), target, data_format=data_format, loaded=loaded)
        return {"texts": count}

    return classify


def _absolute(model: str) -> str:
    """The same for a process with another current folder."""
    return model if model in (BUNDLED, BASELINE) else str(Path(model).absolute())


def augment_files(
    files: Files, config: AugmentationConfig, *, engine: str | None = None, caches: str = ""
) -> Summary:
    """New questions from those of many files: `augment` for each, with a separate cache.

    So an output depends on its file alone. `caches` is a folder to keep them; otherwise they are
    in the cache folder of the machine, and removed once the output exists.
    """
    choose = partial(translator_for, engine=engine)
    settings = files.settings("augment", engines=engines(config, cache(choose)), **asdict(config))
    jobs = files.jobs()
    kept = str(Path(caches).absolute()) if caches else ""
    make = partial(_augmenter, config, engine, files.data_format, kept)
    if not files.ray:
        _check_ids(files, config, jobs)
        return map_files(make, jobs, settings=settings)
    with connected(files.ray):
        _check_ids(files, config, jobs)
        return map_files(make, jobs, settings=settings, ray=files.ray)


def _augmenter(
    config: AugmentationConfig, engine: str | None, data_format: DataFormat, caches: str
) -> Worker:
    choose = cache(partial(translator_for, engine=engine))  # models are loaded once
    folder = Path(caches) if caches else cache_folder() / "files"
    make_folder(folder)

    def work(source: Path, target: Path) -> Mapping[str, int]:
        with source.open("rb") as stream:
            stored = folder / f"{file_digest(stream, 'sha256').hexdigest()[:32]}.sqlite"
        sources = Sources([str(source)], data_format)
        tally = augment(sources, config, Outputs(out=target), choose, stored)
        if not caches:
            for part in folder.glob(f"{stored.name}*"):  # with its journal
                part.unlink()
        lost = sum(counts.lost.total() for counts in tally.languages.values())
        return {"questions": tally.written, "new": tally.kept, "lost": lost}

    return work


def _check_ids(files: Files, config: AugmentationConfig, jobs: Sequence[Job]) -> None:
    """An error if an id, old or new, would occur in two files.

    Files that cannot be read are skipped: they fail later, with the reason.
    """
    noted = jobs_of(files.sources, f"{files.out.rstrip('/')}/{_IDS}", ".npy")
    settings = files.settings("ids", to=config.to, back=config.back)
    make = partial(_id_noter, config, files.data_format)
    failed = map_files(make, noted, settings=settings, ray=files.ray, label="ids").failed
    good = [job for job in noted if job.source not in failed]
    repeated = repeated_ids(job.target for job in good)
    if not len(repeated):
        return
    twice = (job.source for job in good if repeated[0] in _load(job.target))
    first, second = islice(twice, 2)
    with local_copy(first) as path:
        ids = _ids(Sources([str(path)], files.data_format), config)
        named = next((name for name in ids if id_digest(name) == repeated[0]), "")
    more = f", as do {len(repeated) - 1:,} others" if len(repeated) > 1 else ""
    fault = f"the id {named!r:.80} occurs in {second} too{more}"
    raise bad_input(first, "", fault, "give every question a unique id")


def repeated_ids(names: Iterable[str]) -> NDArray[np.uint64]:
    """The digests that occur in several of these files. Memory: twice that of all digests."""
    ids = np.concatenate([np.empty(0, np.uint64), *map(_load, names)])
    ids.sort()
    return np.unique(ids[1:][ids[1:] == ids[:-1]])


def _id_noter(config: AugmentationConfig, data_format: DataFormat) -> Worker:
    def work(source: Path, target: Path) -> Mapping[str, int]:
        ids = _ids(Sources([str(source)], data_format), config)
        with atomic_bytes(target) as stream:
            np.save(stream, np.unique(np.fromiter(map(id_digest, ids), np.uint64)))
        return {}

    return work


def _ids(sources: Sources, config: AugmentationConfig) -> Iterator[str]:
    for example in sources.read():
        yield example.id
        if not why_left(example, config):
            yield from (f"{example.id}-{config.name(language)}" for language in config.to)


def _load(name: str) -> NDArray[np.uint64]:
    with local_copy(name) as path:
        loaded: NDArray[np.uint64] = np.load(path, allow_pickle=False)
        return loaded
