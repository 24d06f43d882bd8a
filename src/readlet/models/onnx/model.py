"""An ONNX model, run by onnxruntime on the CPU: arrays by name in, arrays by name out.

Its weights may be those of the torch model in the same folder: then it has none of its own. It
computes in float32, whatever their stored dtype.

A single batch is computed by all cores. Of many batches, each core computes its own: cores that
share an operation wait for each other at its end, and a small reader has a thousand operations.
For this the model is loaded a second time, once that pays off.
"""

import hashlib
import os
import shutil
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file

from readlet.errors import ReadletError, bad_input, is_out_of_memory
from readlet.models.config import Config, SpanConfig
from readlet.processes import usable_cores
from readlet.storage.stored_files import damage_of, stored_file
from readlet.text.arrays import Arrays, Batches
from readlet.text.rows import Ints

MODEL, WEIGHTS = "model.onnx", "model.safetensors"
# `NAME.T` is the transpose of `NAME`, which MatMul of ONNX needs. `NAME.scale` are
# the scales of the rows of a matrix stored in eight bits (`models/weights.py`).
TRANSPOSED, SCALE = ".T", ".scale"
_AGAIN = "export the model again"
Weights = dict[str, NDArray[np.float32]]
# In a batch, padding included. Fewer underuse the cores, more do not fit into the caches.
_PLACES = 512
# Loading the model again takes as long as about ten questions.
_PLACES_BEFORE_SECOND = 4096
Found = TypeVar("Found")


@dataclass(frozen=True)
class OnnxModel:
    """A loaded ONNX model. It is not kept in memory a second time: `copy_to` copies its file."""

    path: Path
    digest: str  # SHA-256 of the file
    session: Any
    weights: Path | None = None  # the file of weights that are not in `path`
    names: Sequence[str] = ()  # of those weights
    stamps: tuple[object, ...] = ()  # of its files when they were read

    @classmethod
    def load(
        cls,
        path: Path,
        digest: str | None = None,
        *,
        weights: Path | None = None,
        names: Sequence[str] = (),
        threads: int = 0,
    ) -> "OnnxModel":
        """`digest`: that of the exported file; a changed number would go unnoticed otherwise.

        `names` are those of the weights that the model reads from the file `weights`. By default
        it computes with all cores.
        """
        import onnxruntime

        with damage_of(path):
            stamps = _stamps(path, weights)
            found = _digest_of(stored_file(path))
            if digest is not None and found != digest:
                raise ValueError("it is not the model that was exported to this folder")
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = threads or own_threads()
            options.log_severity_level = 4  # not errors: they are raised
            # Memory patterns are for fixed shapes, and every batch may have another shape.
            options.enable_mem_pattern = False
            # Planning takes seconds, quadratic in the operations; memory and speed are the same.
            options.enable_mem_reuse = False
            if weights is not None:
                given = load_weights(weights, names)
                values = [onnxruntime.OrtValue.ortvalue_from_numpy(v) for v in given.values()]
                options.add_external_initializers(list(given), values)
            try:
                session = onnxruntime.InferenceSession(
                    str(path),
                    options,
                    providers=["CPUExecutionProvider"],
                    # It fuses a sum and a norm, which is slower than the two separately.
                    disabled_optimizers=["SkipLayerNormFusion"],
                )
            except Exception as error:  # its classes have no common base
                raise ValueError(str(error)) from None
        return cls(path, found, session, weights, names, stamps)

    def with_one_thread(self) -> "OnnxModel | None":
        """The same model for another thread; None if its files have changed since."""
        with suppress(ReadletError, OSError):
            if _stamps(self.path, self.weights) == self.stamps:
                return OnnxModel.load(
                    self.path, self.digest, weights=self.weights, names=self.names, threads=1
                )
        return None

    def run(self, arrays: Arrays) -> Arrays:
        """All outputs for the inputs that the model needs."""
        try:
            given = {wanted.name: arrays[wanted.name] for wanted in self.session.get_inputs()}
            values = self.session.run(None, given)
        except Exception as error:  # as above
            if is_out_of_memory(error):
                raise MemoryError(str(error)) from None
            reason = " ".join(str(error).split())
            raise bad_input(self.path, "", f"cannot be run ({reason:.120})", _AGAIN) from None
        names = [output.name for output in self.session.get_outputs()]
        return dict(zip(names, values, strict=True))

    def copy_to(self, folder: Path) -> list[str]:
        """Copy its files to a folder, and return their names."""
        shutil.copyfile(self.path, folder / MODEL)
        if self.weights is None:
            return [MODEL]
        shutil.copyfile(self.weights, folder / self.weights.name)
        return [MODEL, self.weights.name]


def own_threads() -> int:
    """The number of threads: the user's choice, as for torch, or all cores."""
    chosen = os.environ.get("OMP_NUM_THREADS", "")
    return int(chosen) if chosen.isdecimal() and int(chosen) else usable_cores()


def _stamps(*paths: Path | None) -> tuple[object, ...]:
    """A stamp that changes when a file is written or replaced."""
    found = [path.stat() for path in paths if path is not None]
    return tuple((stat.st_ino, stat.st_size, stat.st_mtime_ns) for stat in found)


def _digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def load_weights(path: Path, names: Iterable[str]) -> Weights:
    """The named weights in float32."""
    with damage_of(path):
        try:
            stored = load_file(stored_file(path))
        except SafetensorError as error:
            raise ValueError(str(error)) from None
        for name, weight in stored.items():
            if weight.dtype.kind == "f" and not np.isfinite(weight).all():
                raise ValueError(f"{name}: a value is NaN or infinite")
        return {name: _weight(stored, name) for name in names}


def _weight(stored: dict[str, NDArray[np.generic]], name: str) -> NDArray[np.float32]:
    own = name.removesuffix(TRANSPOSED)
    weight: NDArray[Any] = stored[own]
    if own + SCALE in stored:
        weight = np.multiply(weight, stored[own + SCALE][:, None], dtype=np.float32)  # (R, C)
    return np.ascontiguousarray(weight.T if name.endswith(TRANSPOSED) else weight, np.float32)


@dataclass(frozen=True)
class Inputs(ABC):
    """A text encoder, and the inputs of the ONNX model from its rows."""

    names: ClassVar[tuple[str, ...]]
    """Names of the arrays that the network reads, in the order of its parameters."""

    encoder: Any
    settings: Config

    @property
    def null(self) -> bool:
        """Whether the model scores "no answer"."""
        return isinstance(self.settings, SpanConfig) and self.settings.null_answer

    @abstractmethod
    def batches(self, rows: Any, batch_size: int) -> Batches[Arrays]: ...

    def allowed(self, arrays: Arrays) -> NDArray[np.bool_]:
        """Which positions of a reader's batch may be part of an answer: (B, L)."""
        allowed: NDArray[np.bool_] = arrays["allowed"]
        return allowed

    @abstractmethod
    def save(self, folder: Path) -> list[str]:
        """Write the files of the encoder and return their names."""


class Workers:
    """A thread for each core, and their model. Several callers share them."""

    def __init__(self, model: OnnxModel) -> None:
        self.threads = own_threads()
        self._model = model
        self._lock = threading.Lock()
        self._callers = 0
        self._places = 0  # so far
        self._own: OnnxModel | None = None  # the model for one core
        self._pool: ThreadPoolExecutor | None = None

    def each(
        self, batches: Batches[Arrays], compute: Callable[[OnnxModel, Ints], Found]
    ) -> Iterator[Found]:
        """The results of `compute` for all rows, longest first, a few token positions at a time."""
        places = batches.places()
        with self._calling(places) as alone:
            own, pool = self._own, self._pool
            share = -(-places // self.threads)  # few rows: some for each thread
            cuts = batches.by_length(min(_PLACES, share) if own and alone else _PLACES)
            if own is None or pool is None or (alone and len(cuts) == 1):
                for numbers in cuts:
                    yield compute(self._model, numbers)
            elif alone:
                yield from _in_order(pool, self.threads, own, cuts, compute)
            else:  # the other cores are busy
                for numbers in cuts:
                    yield compute(own, numbers)

    def prepare(self) -> None:
        """Load the model for one core now, before anything is computed."""
        with self._lock:
            self._prepare()

    def _prepare(self) -> None:
        if self._pool is None and self.threads > 1:
            self._own = self._model.with_one_thread()
            self._pool = ThreadPoolExecutor(self.threads, "readlet onnx")

    @contextmanager
    def _calling(self, places: int) -> Iterator[bool]:
        """Whether no other caller is computing now."""
        with self._lock:
            self._callers += 1
            self._places += places
            alone = self._callers == 1
            if self._places >= _PLACES_BEFORE_SECOND:
                self._prepare()
        try:
            yield alone
        finally:
            with self._lock:
                self._callers -= 1


def _in_order(
    pool: ThreadPoolExecutor,
    threads: int,
    model: OnnxModel,
    cuts: list[Ints],
    compute: Callable[[OnnxModel, Ints], Found],
) -> Iterator[Found]:
    """Use all threads; only a few results are queued, to bound the memory."""
    waiting: deque[Future[Found]] = deque()
    try:
        for numbers in cuts:
            waiting.append(pool.submit(compute, model, numbers))
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
