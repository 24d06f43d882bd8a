"""Every part of a breakdown as an evaluation of its own, with intervals."""

from collections.abc import Mapping, Sequence

from readlet.metrics.evaluation import Evaluation, evaluate, group_members
from readlet.metrics.squad import Rules
from readlet.types import Example

Groups = Mapping[str, Mapping[str, Sequence[Example]]]


def question_groups(examples: Sequence[Example]) -> Groups:
    """The questions by type, length of answer and length of context, as `evaluate` groups them."""
    return {
        group: {name: [examples[row] for row in members] for name, members in parts.items()}
        for group, parts in group_members(examples).items()
    }


def evaluate_groups(
    groups: Groups, predictions: Mapping[str, str], rules: Rules
) -> dict[str, dict[str, Evaluation]]:
    """Scores and intervals of every group; the rules are those of the whole data."""
    return {
        group: {name: evaluate(part, predictions, rules=rules) for name, part in parts.items()}
        for group, parts in groups.items()
    }
