"""The training engine: batches and a module that turns a batch into a loss, of any model."""

from readlet.errors import extra_needed

with extra_needed("train"):
    import torch  # noqa: F401
