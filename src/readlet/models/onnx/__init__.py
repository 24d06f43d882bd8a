"""Exported models, run by onnxruntime. Nothing here imports torch."""
