"""The official scores of CoLA, SST-2 and MRPC: Matthews correlation, accuracy, F1."""

from collections.abc import Sequence
from math import sqrt

from readlet.formats.glue import Task

GLUE_CLASSES = ("0", "1")


def glue_scores(task: Task, labels: Sequence[int], predicted: Sequence[int]) -> dict[str, float]:
    """The official GLUE scores of the task, in percent, with the number of rows."""
    pairs = list(zip(labels, predicted, strict=True))
    correct, total = sum(gold == guess for gold, guess in pairs), len(pairs)
    tp = sum(gold and guess for gold, guess in pairs)  # true positives, and so on
    tn = correct - tp
    fp = sum(guess and not gold for gold, guess in pairs)
    fn = total - correct - fp
    scores: dict[str, float]
    if task == "cola":
        denominator = sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
        # With only one class in the data or in the predictions it is 0 by convention.
        covariance = tp * tn - fp * fn
        scores = {
            "matthews_correlation": 100.0 * (covariance / denominator) if denominator else 0.0
        }
    else:
        scores = {"accuracy": 100.0 * (correct / max(total, 1))}
    if task == "mrpc":
        wrong = fp + fn
        scores["f1"] = 100.0 * (2 * tp / (2 * tp + wrong)) if tp or wrong else 0.0
    return scores | {"total": total}
