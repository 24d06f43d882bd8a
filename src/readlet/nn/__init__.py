"""Building blocks on tensors: they use masks and shapes, and know nothing about text."""
