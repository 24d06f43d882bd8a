"""The reader that training starts from: checked against the recipe, interpolated at the end."""

import torch
from torch import Tensor, nn

from readlet.errors import bad_input
from readlet.reading.reader import Reader
from readlet.recipe.recipe import Recipe
from readlet.recipe.traits import OnlyInTraining, PartOfNetwork, changed_fields, fields_with


def load_start(recipe: Recipe) -> Reader | None:
    """The reader that training starts from; its network must be that of the recipe."""
    if not recipe.training.start:
        return None
    start = Reader.load(recipe.training.start)
    refuse_other_network(start.recipe, recipe)
    return start


def refuse_other_network(start: Recipe, recipe: Recipe) -> None:
    """Raise an error if the recipe defines another network than that of the start reader."""
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
    """Interpolate between the weights before and after fine-tuning (Wortsman et al. 2022, WiSE-FT).

    `share` is the weight of those before: less is learned, but less is forgotten.
    """
    after = dict(module.named_parameters())
    for name, weight in before.items():
        after[name].lerp_(weight.to(after[name].device), share)
