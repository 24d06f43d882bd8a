"""Trained models as graphs of ONNX: traced, compared with torch, rounded to int8."""
