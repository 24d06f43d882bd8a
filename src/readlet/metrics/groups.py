"""Every part of a breakdown as an evaluation of its own, with intervals."""

from collections.abc import Mapping, Sequence

from readlet.metrics.evaluation import Evaluation, evaluate
from readlet.metrics.squad import Rules
from readlet.types import Example

Groups = Mapping[str, Mapping[str, Sequence[Example]]]


def question_groups(examples: Sequence[Example]) -> Groups:
    """The questions by type, length of answer and length of context, as `evaluate` groups them."""
    nothing_said: dict[str, str] = {}
    names = evaluate(examples, nothing_said).breakdown
    groups: dict[str, dict[str, list[Example]]] = {
        group: {name: [] for name in parts} for group, parts in names.items()
    }
    for example in examples:
        # A question alone shows where it belongs: no second set of bins that could differ.
        for group, parts in evaluate([example], nothing_said).breakdown.items():
            for name in parts:
                groups[group][name].append(example)
    return groups


def evaluate_groups(
    groups: Groups, predictions: Mapping[str, str], rules: Rules
) -> dict[str, dict[str, Evaluation]]:
    """Scores and intervals of every group; the rules are those of the whole data."""
    return {
        group: {name: evaluate(part, predictions, rules=rules) for name, part in parts.items()}
        for group, parts in groups.items()
    }
