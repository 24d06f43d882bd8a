"""The reader that training begins with: fit for the recipe, and mixed in again at the end."""

import torch
from torch import Tensor, nn

from readlet.errors import bad_input
from readlet.reading.reader import Reader
from readlet.recipe.recipe import Recipe
from readlet.recipe.traits import OnlyInTraining, PartOfNetwork, changed_fields, fields_with


def load_start(recipe: Recipe) -> Reader | None:
    """The reader that training begins with; it must be built as the recipe says."""
    if not recipe.training.start:
        return None
    start = Reader.load(recipe.training.start)
    refuse_other_network(start.recipe, recipe)
    return start


def refuse_other_network(start: Recipe, recipe: Recipe) -> None:
    """Complain if the recipe defines another network than that of the reader it starts from."""
    network = {field.path for field in fields_with(recipe, PartOfNetwork)}
    network -= {field.path for field in fields_with(recipe, OnlyInTraining)}
    changed = changed_fields(start.model_dump(mode="json"), recipe)
    other = [field for field in changed if field in network]
    if other:
        fault = f"that reader has another {', '.join(other)}"
        remedy = "set the same values in the recipe"
        raise bad_input(recipe.training.start, "training.start", fault, remedy)


@torch.no_grad()
def mix_in(module: nn.Module, before: dict[str, Tensor], share: float) -> None:
    """Weights between those before and after fine-tuning (WiSE-FT, Wortsman et al. 2022).

    Somewhat less of what is new for somewhat less forgotten; `share` says how much.
    """
    after = dict(module.named_parameters())
    for name, weight in before.items():
        after[name].lerp_(weight.to(after[name].device), share)
