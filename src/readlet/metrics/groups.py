"""A separate evaluation, with intervals, of every part of a breakdown."""

from collections.abc import Mapping, Sequence

from readlet.metrics.evaluation import Evaluation, evaluate, group_members
from readlet.metrics.squad import Rules
from readlet.types import Example

Groups = Mapping[str, Mapping[str, Sequence[Example]]]


def question_groups(examples: Sequence[Example]) -> Groups:
    """The questions by type, answer length and context length, grouped as in `evaluate`."""
    return {
        group: {name: [examples[row] for row in members] for name, members in parts.items()}
        for group, parts in group_members(examples).items()
    }


def evaluate_groups(
    groups: Groups, predictions: Mapping[str, str], rules: Rules
) -> dict[str, dict[str, Evaluation]]:
    """Scores and intervals of every group, by the rules of the whole data set."""
    return {
        group: {name: evaluate(part, predictions, rules=rules) for name, part in parts.items()}
        for group, parts in groups.items()
    }
