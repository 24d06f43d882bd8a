"""The reader that training begins with: fit for the recipe, and mixed in again at the end."""

from dataclasses import replace

import torch

from readlet.errors import bad_input
from readlet.models.qacnn import QACNN
from readlet.reading.reader import Reader, model_of
from readlet.recipe.recipe import Recipe, changed_fields

# Fields of the network that are at work in training only: a reader may go on with others.
_OF_TRAINING_ONLY = {
    f"model.{field}" for field in ("dropout", "input_dropout", "character_dropout", "last_survival")
}


def load_start(recipe: Recipe) -> Reader | None:
    """The reader that training begins with; it must be built as the recipe says."""
    folder = recipe.training.start
    if not folder:
        return None
    start = Reader.load(folder)
    before, now = start.recipe.model_dump(), recipe.model_dump()
    fields = changed_fields(before, now, ("model", "attention", "loss"))
    other = [field for field in fields if field not in _OF_TRAINING_ONLY]
    if other:
        fault = f"that reader has another {', '.join(other)}"
        raise bad_input(folder, "training.start", fault, "set the same numbers in the recipe")
    model = model_of(recipe, start.vocabulary, dict(start.model.state_dict()))
    return replace(start, model=model)


@torch.no_grad()
def mix_in(model: QACNN, before: dict[str, torch.Tensor], share: float) -> None:
    """Weights between those before and after fine-tuning (WiSE-FT, Wortsman et al. 2022).

    Somewhat less of what is new for somewhat less forgotten; `share` says how much.
    """
    after = dict(model.named_parameters())
    for name, weight in before.items():
        after[name].lerp_(weight.to(after[name].device), share)
