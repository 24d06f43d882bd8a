"""`readlet vectors` from the command line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from readlet.text.vectors import write_vectors

Run = Callable[..., Any]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    numbers = torch.randn(40, 4)
    write_vectors(Path("es.vec"), [f"s{n}" for n in range(40)], [numbers.numpy()])
    write_vectors(Path("en.vec"), [f"t{n}" for n in range(40)], [numbers.flip(1).numpy()])
    Path("train.tsv").write_text("".join(f"s{n}\tt{n}\n" for n in range(20)) + "nil\tnil\n")
    Path("test.tsv").write_text("".join(f"s{n}\tt{n}\n" for n in range(20, 40)) + "s1\tnil\n")
    return tmp_path


ALIGN = "vectors align es.vec en.vec --dictionary train.tsv --out al.vec --device cpu".split()
CHECK = "vectors check al.vec en.vec --dictionary test.tsv --device cpu".split()


def test_align_check_and_merge(readlet: Run, files: Path) -> None:
    done = readlet(*ALIGN, "--method", "procrustes")
    assert (done.code, done.err) == (0, "")
    assert "Dictionary: 20 of 21 pairs have vectors." in done.out
    assert "Wrote al.vec: 40 words." in done.out
    done = readlet(*CHECK)
    assert "nearest neighbour: P@1 100.0%, P@5 100.0%" in done.out
    assert "CSLS: P@1 100.0%, P@5 100.0%" in done.out
    done = readlet("vectors", "merge", "es=al.vec", "en=en.vec", "--out", "all.vec.gz")
    assert done.out.splitlines()[-1] == "Wrote all.vec.gz: 80 words (es 40, en 40)."


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("train.tsv", "s1\n", "train.tsv: line 1: "),
        ("train.tsv", "t1 s1\n", "train.tsv: "),
    ],
)
def test_bad_files(readlet: Run, files: Path, name: str, text: str, message: str) -> None:
    Path(name).write_text(text)
    done = readlet(*ALIGN)
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert line.startswith(f"readlet: {message}")
    assert not Path("al.vec").exists()
