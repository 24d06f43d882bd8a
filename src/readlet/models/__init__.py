"""Kinds of models, a folder each: its config, its network, its scorer, what its ONNX model reads.

What the folders share stands beside them. `kinds.py` lists them by name.
"""
