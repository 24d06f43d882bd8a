"""Readers and classifiers over HTTP: an API with limits, and a page to ask questions on."""
