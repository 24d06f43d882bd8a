"""Shared by readers and classifiers on pretrained encoders of transformers."""
