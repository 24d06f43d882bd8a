"""A pretrained encoder of transformers with a span head."""
