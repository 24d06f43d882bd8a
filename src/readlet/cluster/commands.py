"""`predict`, `classify` and `augment` for many files, with one output per file."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import file_digest
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from readlet.augmentation.config import AugmentationConfig
from readlet.augmentation.pipeline import Sources, engines
from readlet.augmentation.pipeline import augment_files as augment_file
from readlet.augmentation.translated_questions import why_left
from readlet.cluster.actors import connected
from readlet.cluster.files import Job, jobs_of, local_copy
from readlet.cluster.map_files import Summary, Worker, map_files
from readlet.data.columns import PLAIN, DataFormat
from readlet.data.datasets import id_digest
from readlet.errors import InputError, bad_input
from readlet.inference.classifier import Classifier
from readlet.inference.inputs import DEFAULTS, AnswerOptions
from readlet.inference.predict_file import classify_file, digest_of_model, predict_file
from readlet.inference.prediction_files import check_format
from readlet.inference.reader import load_reader
from readlet.inference.trained_model import AUTO, BASELINE, BUNDLED
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
    """New questions from those of many files: `augment_files` for each, with a separate cache.

    So an output depends on its file alone. `caches` is a folder to keep them; otherwise they are
    in the cache folder of the machine, and removed once the output exists.
    """
    settings = files.settings("augment", engines=engines(config, engine), **asdict(config))
    kept = str(Path(caches).absolute()) if caches else ""
    make = partial(_augmenter, config, engine, files.data_format, kept)
    with connected(files.ray) if files.ray else nullcontext():
        _check_ids(files, config)
        return map_files(make, files.jobs(), settings=settings, ray=files.ray)


def _augmenter(
    config: AugmentationConfig, engine: str | None, data_format: DataFormat, caches: str
) -> Worker:
    folder = Path(caches) if caches else cache_folder() / "files"
    make_folder(folder)

    def work(source: Path, target: Path) -> Mapping[str, int]:
        with source.open("rb") as stream:
            stored = folder / f"{file_digest(stream, 'sha256').hexdigest()[:32]}.sqlite"
        tally = augment_file(
            [str(source)], target, config, engine=engine, cache=stored, data_format=data_format
        )
        if not caches:
            stored.unlink()
        lost = sum(counts.lost.total() for counts in tally.languages.values())
        return {"questions": tally.written, "new": tally.kept, "lost": lost}

    return work


def _check_ids(files: Files, config: AugmentationConfig) -> None:
    """An error if an id, old or new, would occur in two files.

    The ids of each file are kept beside the outputs, as digests. Files that cannot be read are
    skipped: they fail later, with the reason.
    """
    jobs = jobs_of(files.sources, f"{files.out.rstrip('/')}/{_IDS}", ".npy")
    settings = files.settings("ids", to=config.to, back=config.back)
    make = partial(_id_noter, config, files.data_format)
    failed = map_files(make, jobs, settings=settings, ray=files.ray, label="ids").failed
    digests = {job.source: _digests(job) for job in jobs if job.source not in failed}
    every = np.sort(np.concatenate([np.empty(0, np.uint64), *digests.values()]))  # 8 bytes an id
    repeated = every[1:][every[1:] == every[:-1]]
    if len(repeated):
        first, second, *_ = (name for name, found in digests.items() if repeated[0] in found)
        fault = f"{len(repeated):,} ids, old ones or those of new questions, are also in {second}"
        raise bad_input(first, "", fault, "give every question a unique id")


def _digests(job: Job) -> NDArray[np.uint64]:
    with local_copy(job.target) as path:
        loaded: NDArray[np.uint64] = np.load(path, allow_pickle=False)
    return loaded


def _id_noter(config: AugmentationConfig, data_format: DataFormat) -> Worker:
    def work(source: Path, target: Path) -> Mapping[str, int]:
        ids = set[str]()
        for example in Sources([str(source)], data_format).read():
            ids.add(example.id)
            if not why_left(example, config):
                ids.update(f"{example.id}-{config.name(language)}" for language in config.to)
        with atomic_bytes(target) as stream:
            np.save(stream, np.fromiter(map(id_digest, ids), np.uint64, len(ids)))
        return {}

    return work
