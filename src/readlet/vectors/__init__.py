"""One vector space for several languages: alignment, retrieval, merged files."""

from readlet.errors import extra_needed

with extra_needed("train"):
    import torch  # noqa: F401
