"""A graph of ONNX, run by onnxruntime on the CPU: arrays by name in, arrays by name out."""

import hashlib
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from readlet.encoding.batches import Arrays
from readlet.errors import ReadletError, bad_input, is_out_of_memory
from readlet.families.onnx_weights import load_weights
from readlet.installing import install_extra
from readlet.machine import usable_cores
from readlet.storage.damage import damage_of, stored_file

GRAPH = "model.onnx"
_AGAIN = "export the model again"


@dataclass(frozen=True)
class OnnxGraph:
    """A loaded graph. It is not kept in memory a second time: `copy_to` copies its file."""

    path: Path
    digest: str  # SHA-256 of the file
    session: Any
    weights: Path | None = None  # the file of weights that are not in the graph
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
    ) -> "OnnxGraph":
        """`digest`: what the file must have; a changed number would go unnoticed otherwise.

        `names` are those of the weights that the graph reads from the file `weights`. By default
        it computes with all cores.
        """
        try:
            import onnxruntime
        except ImportError:
            fault = "needs onnxruntime, which is not installed"
            raise bad_input(path, "", fault, install_extra("onnx")) from None
        with damage_of(path):
            stamps = _stamps(path, weights)
            found = _digest_of(stored_file(path))
            if digest is not None and found != digest:
                raise ValueError("it is not the graph that was exported to this folder")
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = threads or own_threads()
            options.log_severity_level = 4  # not errors: they are raised
            # Its plans are for one shape, and every batch may have another one.
            options.enable_mem_pattern = False
            # To plan it takes seconds, quadratic in the operations; memory and speed are the same.
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
                    # It joins a sum and a norm in one operation, which takes longer than the two.
                    disabled_optimizers=["SkipLayerNormFusion"],
                )
            except Exception as error:  # its classes have no common base
                raise ValueError(str(error)) from None
        return cls(path, found, session, weights, names, stamps)

    def with_one_thread(self) -> "OnnxGraph | None":
        """The same graph for a thread of its own; None if its files have changed since."""
        with suppress(ReadletError, OSError):
            if _stamps(self.path, self.weights) == self.stamps:
                return OnnxGraph.load(
                    self.path, self.digest, weights=self.weights, names=self.names, threads=1
                )
        return None

    def run(self, arrays: Arrays) -> Arrays:
        """All outputs, of the inputs that the graph asks for."""
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
        shutil.copyfile(self.path, folder / GRAPH)
        if self.weights is None:
            return [GRAPH]
        shutil.copyfile(self.weights, folder / self.weights.name)
        return [GRAPH, self.weights.name]


def own_threads() -> int:
    """As many as torch would take: the user's choice, or all cores."""
    chosen = os.environ.get("OMP_NUM_THREADS", "")
    return int(chosen) if chosen.isdecimal() and int(chosen) else usable_cores()


def _stamps(*paths: Path | None) -> tuple[object, ...]:
    """What changes when a file is written or replaced."""
    found = [path.stat() for path in paths if path is not None]
    return tuple((stat.st_ino, stat.st_size, stat.st_mtime_ns) for stat in found)


def _digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
