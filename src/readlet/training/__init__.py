"""From a recipe to a trained model: the only room that knows both engine and inference."""

from readlet.errors import extra_needed

with extra_needed("train"):
    import torch  # noqa: F401
