"""A trained model: its folder, its device, loading and saving, for readers and classifiers alike.

A model is named by its folder, `user/name` of the hub, `bundled`, or `baseline`.
"""

import os
import platform
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from readlet.bundled import bundled_reader
from readlet.errors import ReadletError, bad_input, extra_needed
from readlet.inference.saving import CONFIG, foreign_to_reader, replace_model
from readlet.storage.overwrite import check_folder
from readlet.storage.stored_files import (
    damage_of,
    own_json,
    read_json,
    stored_file,
    stored_text,
    write_json,
)

if TYPE_CHECKING:
    from pydantic import BaseModel

    from readlet.evaluation.task import Task
    from readlet.models.family import Scorer, TaskName
    from readlet.models.kinds import Kind

BUNDLED, BASELINE = "bundled", "baseline"


def reader_folder(name: str | Path) -> Path:
    """The folder of a reader, of the `bundled` one, or of one of the hub, downloaded once."""
    if isinstance(name, Path):
        return name
    if name == BUNDLED:
        return bundled_reader()
    from readlet.inference.hub import downloaded, is_hub_name

    return downloaded(name) if is_hub_name(name) else Path(name)


def reader_files(name: str | Path) -> list[Path]:
    """The files that define a reader: recipe, calibration, weights, vocabulary or tokenizer."""
    folder = reader_folder(name)
    files = read_json(folder / CONFIG).get("files")
    if not isinstance(files, list) or not all(map(_is_file_name, files)):
        fault = "is damaged (files: not a list of names)"
        raise bad_input(folder / CONFIG, "", fault, "copy the folder again")
    return [stored_file(folder / name) for name in (CONFIG, "calibration.json", *files)]


def _is_file_name(name: Any) -> bool:
    return isinstance(name, str) and Path(name).name == name


AUTO = "auto"


def chosen_device(device: str) -> str:
    """The device to use; `auto` is a GPU when there is one, else the CPU.

    `ACCELERATE_USE_CPU` keeps `auto` on the CPU, as it does for training.
    """
    name = _automatic() if device == AUTO else str(device)  # torch.device is accepted, too
    _check(name)
    return name


def prefers_onnx(device: str) -> bool:
    """Whether to use the ONNX model beside the weights: on a CPU it is faster.

    Decided before torch is imported, since that takes longer than an answer. If the CPU is named,
    torch computes where it is installed.
    """
    if find_spec("torch") is None:
        return device in (AUTO, "cpu")
    return device == AUTO and not _may_have_gpu()


def _may_have_gpu() -> bool:
    if _only_cpu():
        return False
    is_apple = sys.platform == "darwin" and platform.machine() == "arm64"
    return is_apple or which("nvidia-smi") is not None or Path("/dev/kfd").exists()


def _only_cpu() -> bool:
    return os.environ.get("ACCELERATE_USE_CPU", "").lower() in ("1", "true", "yes", "on")


def _automatic() -> str:
    if _only_cpu():
        return "cpu"
    with extra_needed("train"):
        import torch

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _check(device: str) -> None:
    if device == "cpu":
        return
    with extra_needed("train", f"device {device!r}"):
        import torch

    try:
        torch.empty(1, device=device).cpu()  # a device without storage fails here too
    except (RuntimeError, AssertionError, NotImplementedError):
        fault = f"device {device!r}: not available on this machine"
        raise ReadletError(f"{fault}; give cpu, or a GPU such as cuda or cuda:1") from None


FORMAT = 1
_BATCH_SIZES = {"cpu": 32, "cuda": 256}
_OTHER_VERSION = "use a matching version of readlet"
_NAMES: "dict[TaskName, str]" = {"spans": "reader", "classes": "classifier"}
_COMMANDS: "dict[TaskName, str]" = {"spans": "ask", "classes": "classify"}


@dataclass(repr=False)  # a vocabulary has tens of thousands of words
class TrainedModel(ABC):
    """A scorer of any kind, its calibration, and its device."""

    kind_of_task: ClassVar["TaskName"]

    scorer: "Scorer"
    # The recipe it was trained with, as plain values: inference needs only its name.
    recipe: dict[str, Any]
    calibration: "BaseModel"
    metrics: dict[str, Any] = field(default_factory=dict)
    # Licences and authors of the data and word vectors: distributed with every copy of the model.
    notice: str = ""
    device: str = "cpu"
    # Rows that are scored at once; 0: the default for the device.
    batch_size: int = 0

    def __post_init__(self) -> None:
        self.scorer.move_to(self.device)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, device={self.device!r})"

    @property
    def name(self) -> str:
        return str(self.recipe["name"])

    @property
    def kind(self) -> str:
        """The kind of model that it was trained as."""
        return str(self.config()["settings"]["kind"])

    @property
    def rows_at_once(self) -> int:
        return self.batch_size or default_batch_size(self.device)

    @property
    @abstractmethod
    def task(self) -> "Task":
        """How its predictions are scored."""

    def config(self) -> dict[str, Any]:
        """The fields of `config.json` besides format, files and recipe."""
        return self.scorer.config()

    def save(self, folder: str | Path) -> None:
        """Write the model's folder. `config.json` comes last: with it the folder is complete.

        A folder that contains anything except an earlier model is rejected.
        """
        check_folder(Path(folder), foreign_to_reader)
        self.write(Path(folder))

    def write(self, folder: Path) -> None:
        """Write the model into a folder that was checked before."""
        from readlet.inference.model_card import model_card
        from readlet.storage.files import write_text

        def write(draft: Path) -> None:
            files = self.scorer.save(draft)
            write_json(draft / "calibration.json", self.calibration.model_dump())
            write_json(draft / "metrics.json", self.metrics)
            if self.notice:
                write_text(draft / "NOTICE.md", self.notice)
            write_text(draft / "README.md", model_card(self))
            config = {"format": FORMAT, "files": files, **self.config(), "recipe": self.recipe}
            write_json(draft / CONFIG, config)

        replace_model(folder, write)


class StoredModel(NamedTuple):
    """The content of a model's folder."""

    path: Path
    config: dict[str, Any]
    calibration: dict[str, Any]
    others: dict[str, Any]
    """The other fields of a `TrainedModel`."""


def read_model(
    folder: str | Path, wanted: "TaskName", *, device: str, batch_size: int
) -> StoredModel:
    """Read the folder of a model for this task, or the `bundled` reader; nothing is executed."""
    from readlet.models.kinds import family_of, kind_named

    if batch_size < 0:
        raise ReadletError(f"batch_size: {batch_size}; give 1 or more, or 0 for the default")
    path = reader_folder(folder)
    config = read_json(path / CONFIG)
    if config.get("format") != FORMAT:
        fault = f"format {config.get('format')} of {config.get('architecture')!r}"
        raise bad_input(path / CONFIG, "", fault, _OTHER_VERSION)
    reader_files(path)  # checks them
    with damage_of(path / CONFIG):
        recipe = config["recipe"]
        if not isinstance(recipe, dict) or not isinstance(recipe["name"], str):
            raise ValueError(f"recipe: {recipe!r:.40}")
        try:
            kind = kind_named(used := _used(config, device))
        except ReadletError as error:
            raise bad_input(path / CONFIG, "", str(error), _OTHER_VERSION) from None
        if kind.task != wanted:
            fault = f"is a {_NAMES[kind.task]}, not a {_NAMES[wanted]}"
            raise bad_input(path, "", fault, f"use `readlet {_COMMANDS[kind.task]}`")
        family = family_of(used)
        device = chosen_device(device) if kind.needs_torch or device != AUTO else "cpu"
        scorer = family.load(path, config)
    calibration = read_json(path / "calibration.json")
    metrics = read_json(path / "metrics.json")
    with damage_of(path / "metrics.json"):
        _check_metrics(metrics)
    notice = ""
    if os.path.lexists(path / "NOTICE.md"):
        with damage_of(path / "NOTICE.md"):
            notice = stored_text(path / "NOTICE.md")
    others = {
        "scorer": scorer,
        "recipe": recipe,
        "metrics": metrics,
        "notice": notice,
        "device": device,
        "batch_size": batch_size,
    }
    return StoredModel(path, config, calibration, others)


_METRICS = {
    "dev": dict,
    "dev_raw": dict,
    "dev_source": str,
    "dev_calibration_error": float,
    "no_answer_area": float,
    "steps": int,
    "rollbacks": int,
    "slimmed_from": int,
}


def _check_metrics(metrics: dict[str, Any]) -> None:
    """Raise a ValueError if stored metrics are not of the types that a card needs."""
    for name, kind in _METRICS.items():
        if name in metrics and type(metrics[name]) is not kind:
            raise ValueError(f"{name}: {metrics[name]!r:.40} is not of type {kind.__name__}")
    for part in ("dev", "dev_raw"):
        for name, value in metrics.get(part, {}).items():
            if type(value) not in (int, float):
                raise ValueError(f"{part}, {name}: {value!r:.40} is not a number")


def stored_task(name: str) -> "TaskName | None":
    """The task of the model in a folder; None if there is no model of a known kind."""
    kind = _stored_kind(reader_folder(name), AUTO)
    return kind and kind.task


def needs_torch(name: str, *, device: str = AUTO) -> bool:
    """Whether the model in a folder, or the `bundled` one, computes with torch on this device."""
    kind = _stored_kind(reader_folder(name), device)
    return kind is None or kind.needs_torch


def _stored_kind(folder: Path, device: str) -> "Kind | None":
    from readlet.models.kinds import kind_named

    config = own_json(folder / CONFIG) or {}
    try:
        return kind_named(_used(config, device)) if config else None
    except ReadletError:
        return None


def _used(config: dict[str, Any], device: str) -> str:
    """The architecture, or that of the ONNX model, if the folder has both forms."""
    exported = config.get("exported")
    has_both = isinstance(exported, dict) and bool(exported.get("weights"))
    return "onnx" if has_both and prefers_onnx(device) else str(config.get("architecture"))


def default_batch_size(device: str) -> int:
    """Rows scored at once on a device: enough to keep it busy."""
    return _BATCH_SIZES.get(device.partition(":")[0], 32)
