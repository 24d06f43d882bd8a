"""Building blocks on tensors: they use masks and shapes, and know nothing about text."""

from readlet.errors import extra_needed

with extra_needed("train"):
    import torch  # noqa: F401
