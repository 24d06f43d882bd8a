"""Loading a pretrained encoder writes nothing to the terminal."""

from collections.abc import Callable
from pathlib import Path

import pytest
from transformers.utils import logging

from readlet.models.pretrained.encoder import load_pretrained
from readlet.text.pretrained import load_config


def test_no_progress_bar_of_transformers(
    tiny_encoder: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    name = str(tiny_encoder())
    capsys.readouterr()  # of writing it
    load_pretrained(name, load_config(name), None)
    assert capsys.readouterr() == ("", "")
    assert logging.is_progress_bar_enabled()  # other users of transformers keep it
