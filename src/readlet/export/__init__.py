"""Trained models as ONNX models: traced, compared with torch, rounded to int8."""
