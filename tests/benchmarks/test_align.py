"""The scripts about alignment, at the smallest possible size."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from readlet.text.vectors import write_vectors
from readlet.vectors.vector_files import read_table


def test_quality_and_picture(
    load_script: Callable[[str], Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = load_script("align")
    numbers = np.random.default_rng(0).standard_normal((400, 5))
    for name, turned in (("es", numbers), ("en", numbers[:, ::-1])):
        write_vectors(tmp_path / f"{name}.vec", [f"{name}{n}" for n in range(400)], [turned])
    for name, rows in (("train", range(340)), ("test", range(340, 400))):
        lines = [f"es{n}\ten{n}\n" for n in rows]
        (tmp_path / f"es-en.{name}.tsv").write_text("".join(lines))
    source, target = read_table(tmp_path / "es.vec"), read_table(tmp_path / "en.vec")
    script.quality(target, source, tmp_path / "es-en")
    assert "| procrustes | csls | 100.0% | 100.0% |" in capsys.readouterr().out
    pytest.importorskip("matplotlib", reason="plots need matplotlib: pip install readlet[plots]")
    pytest.importorskip("sklearn", reason="t-SNE needs scikit-learn: pip install readlet[examples]")
    script.picture(target, source, tmp_path / "es-en", 20, tmp_path / "space.png")
    assert (tmp_path / "space.png").stat().st_size > 10_000
