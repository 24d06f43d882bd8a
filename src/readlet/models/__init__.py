"""Kinds of models, a folder each: config, network, scorer, and the inputs of its ONNX model.

What they share is beside the folders. `kinds.py` lists them by name.
"""
