"""Data augmentation: new Examples made from existing ones."""
