"""The scripts about languages: XQuAD across two languages, and words that are spelled alike."""

from collections.abc import Callable
from typing import Any

import numpy as np

Load = Callable[[str], Any]


def test_the_tables_of_readers(load_script: Load) -> None:
    script = load_script("languages")
    low, high = np.zeros((40, 2)), np.ones((40, 2))
    found = {
        "baseline": {"English": [low, low], "Spanish": [high, low]},
        "language added": {"English": [high, high], "Spanish": [high, low]},
    }
    lines = script.table(found)
    assert lines[2] == "| baseline | 0.0 / 0.0 ± 0.0 | 50.0 / 50.0 ± 70.7 |"
    better, same = script.differences(found, [("language added", "baseline")])[2:]
    row = "| language added | baseline | English | +100.00 | +100.00 to +100.00 | 0.000 |"
    assert better == row
    assert same.endswith("| Spanish | +0.00 | +0.00 to +0.00 | 1.000 |")
