"""Building blocks on tensors: they know masks and shapes, and nothing of text."""
