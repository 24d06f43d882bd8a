"""Training that starts from another model: its network, its weights, and what was gained."""

import warnings
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from readlet.engine.processes import make_accelerator
from readlet.errors import bad_input
from readlet.evaluation.statistics import difference_p
from readlet.evaluation.task import Scored
from readlet.inference.reader import Reader
from readlet.inference.trained_model import TrainedModel
from readlet.models.family import TrainableScorer
from readlet.models.kinds import kind_named
from readlet.models.recipe_files import recipe_of
from readlet.recipe.recipe import Recipe, RecipeField, changed_fields, fields_with
from readlet.storage.sections import (
    OnlyInTraining,
    PartOfNetwork,
    SourceEncoder,
    SourceFile,
    SourceReader,
)
from readlet.training.training_data import TrainingData


def load_start(recipe: Recipe) -> tuple[TrainedModel, Recipe]:
    """The model that training starts from, and the recipe with its network.

    Fields of the network that the recipe does not set are those of the start; a field that is set
    must have the same value.
    """
    name = recipe.training.start
    start = load_model(name, recipe)  # on the CPU: training moves it
    before = recipe_of(start.recipe)
    recipe = _with_network_of(before, recipe)
    refuse_other_network(before, recipe)
    if not hasattr(start.scorer, "module"):
        fault = "that reader cannot be trained"
        raise bad_input(name, "training.start", fault, "give another reader")
    fold = (recipe.data.folds, recipe.data.fold)
    if recipe.data.folds and (before.data.folds, before.data.fold) != fold:
        fault = f"the start reader was not trained without part {recipe.data.fold}"
        warnings.warn(f"data.fold: {fault}, so the new one knows it", stacklevel=2)
    return start, recipe


def load_model(name: str | Path, recipe: Recipe) -> TrainedModel:
    """A reader or a classifier, as the recipe has it."""
    if kind_named(recipe.model.kind).task == "spans":
        return Reader.load(name, device="cpu")
    from readlet.inference.classifier import Classifier

    return Classifier.load(name, device="cpu")


def _with_network_of(start: Recipe, recipe: Recipe) -> Recipe:
    if start.model.kind != recipe.model.kind:
        return recipe
    for field in _network(recipe):
        section = getattr(recipe, field.section)
        if field.name not in section.model_fields_set:
            taken = {field.name: getattr(getattr(start, field.section), field.name)}
            recipe = recipe.model_copy(update={field.section: section.model_copy(update=taken)})
    return recipe


def _network(recipe: Recipe) -> list[RecipeField]:
    """The fields that define the network of a reader, not how it is trained."""
    # Files of initial weights have no effect: those of the start reader are used.
    others = fields_with(recipe, OnlyInTraining, SourceFile, SourceReader, SourceEncoder)
    return [field for field in fields_with(recipe, PartOfNetwork) if field not in others]


def refuse_other_network(start: Recipe, recipe: Recipe) -> None:
    """Raise an error if the recipe defines another network than that of the start reader."""
    network = {field.path for field in _network(recipe)}
    changed = changed_fields(start.model_dump(mode="json"), recipe)
    other = [field for field in changed if field in network]
    if other:
        fault = f"that reader has another {', '.join(other)}"
        remedy = "set the same values in the recipe"
        raise bad_input(recipe.training.start, "training.start", fault, remedy)


def copy_weights(start: TrainedModel, scorer: TrainableScorer, *, strict: bool = True) -> None:
    """Copy the weights of the start; `strict`: it must have the same parameters."""
    before = module_of(start).state_dict()
    loaded = scorer.module.load_state_dict(before, strict=False)
    other = [*loaded.missing_keys, *loaded.unexpected_keys]
    if other and strict:
        fault = f"that reader has other parameters ({other[0]})"
        raise bad_input(start.name, "training.start", fault, "give another reader")


def module_of(model: TrainedModel) -> nn.Module:
    return cast(TrainableScorer, model.scorer).module


def weights_of(start: TrainedModel, scorer: TrainableScorer) -> dict[str, Tensor]:
    """The initial weights that come from the start."""
    known = module_of(start).state_dict().keys()
    named = scorer.module.named_parameters()
    return {name: weight.detach().clone() for name, weight in named if name in known}


@torch.no_grad()
def mix_in(module: nn.Module, before: dict[str, Tensor], share: float) -> None:
    """Interpolate between the weights before and after fine-tuning (Wortsman et al. 2022, WiSE-FT).

    `share` is the weight of those before: the model learns less, but forgets less.
    """
    after = dict(module.named_parameters())
    for name, weight in before.items():
        after[name].lerp_(weight.to(after[name].device), share)


def scores_before(
    start: TrainedModel, evaluator: Any, data: TrainingData, after: Scored
) -> dict[str, float]:
    """The scores of the start on dev, and the p-value of the difference to them.

    It is calibrated on the same items.
    """
    start.scorer.move_to(str(make_accelerator().device))
    task, same = evaluator.task, evaluator.of_start(start)
    before = task.score(data.dev.examples, same.fitted(data.held_out).predictions)
    start.scorer.move_to("cpu")
    p = difference_p(task.metric(task.decisive), after.items, before.items)
    return {name: before.summary[name] for name in task.headline} | {f"{task.decisive}_p": p}
