"""Trained models as ONNX models: traced, compared with torch, rounded to int8."""

from readlet.errors import extra_needed

with extra_needed("train"):
    import torch  # noqa: F401
