"""The objective of each task: what a recipe's kind of model is trained for."""

from readlet.families import trainable_family
from readlet.families.family import ClassFamily, SpanFamily
from readlet.fitting.classes import ClassObjective
from readlet.fitting.objective import Objective
from readlet.fitting.spans import SpanObjective
from readlet.reading.classifier import Classifier
from readlet.reading.reader import Reader
from readlet.reading.trained_model import TrainedModel
from readlet.recipe.recipe import Recipe


def objective_of(recipe: Recipe, start: TrainedModel | None) -> Objective:
    """The objective of a recipe, and of the model that training starts from."""
    family = trainable_family(recipe.model.kind)
    if isinstance(family, ClassFamily):
        assert start is None or isinstance(start, Classifier)
        return ClassObjective(recipe, family, start)
    assert isinstance(family, SpanFamily)
    assert start is None or isinstance(start, Reader)
    return SpanObjective(recipe, family, start)
