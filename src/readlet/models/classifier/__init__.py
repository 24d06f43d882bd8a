"""A pretrained encoder of transformers with a pooler and a class head."""
