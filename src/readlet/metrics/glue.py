"""The official scores of CoLA, SST-2 and MRPC: Matthews correlation, accuracy, F1."""

from collections.abc import Sequence
from math import sqrt

from readlet.formats.glue import Task


def glue_scores(task: Task, labels: Sequence[int], predicted: Sequence[int]) -> dict[str, float]:
    """The scores that GLUE asks for, in percent, with the number of rows."""
    cells = list(zip(labels, predicted, strict=True))
    right, total = sum(gold == guess for gold, guess in cells), len(cells)
    both = sum(gold and guess for gold, guess in cells)  # true positives
    neither = right - both
    false_yes = sum(guess and not gold for gold, guess in cells)
    false_no = total - right - false_yes
    scores: dict[str, float]
    if task == "cola":
        product = (both + false_yes) * (both + false_no) * (neither + false_yes)
        spread = sqrt(product * (neither + false_no))
        # One class only, in the data or in the predictions: no correlation, as is customary.
        agreement = both * neither - false_yes * false_no
        scores = {"matthews_correlation": 100.0 * (agreement / spread) if spread else 0.0}
    else:
        scores = {"accuracy": 100.0 * (right / max(total, 1))}
    if task == "mrpc":
        wrong = false_yes + false_no
        scores["f1"] = 100.0 * (2 * both / (2 * both + wrong)) if both or wrong else 0.0
    return scores | {"total": total}
