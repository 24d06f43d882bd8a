"""A small table over a network that trains in seconds."""

from collections.abc import Callable
from pathlib import Path

import pytest

TABLE = """
name = "quick"
title = "Two widths"
recipe = "tiny"
seeds = 2

[set]
data.max_context = 100
data.overlap = 20
model.width = 8
model.heads = 1
model.head_width = 8
model.feed_forward = 8
model.character_width = 4
model.character_filters = 4
model.null_answer = false
words.width = 8
training.epochs = 2
training.batch_size = 64
training.warmup_steps = 2
training.log_every = 1
training.checkpoint_every = 2

[axes.width]
"width 8" = {}
"width 12" = { model.width = 12 }

[axes.match]
"match" = {}
"no match" = { model.match_features = false }

[paper."width 12"]
f1 = 12.5
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("READLET_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture
def write_table(tmp_path: Path) -> Callable[..., str]:
    """Write the small table, with some of its text replaced, and give its path."""

    def write(*replacements: tuple[str, str], more: str = "") -> str:
        text = TABLE + more
        for old, new in replacements:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / "table.toml"
        path.write_text(text)
        return str(path)

    return write
