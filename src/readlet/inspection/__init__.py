"""Check and repair of data before training."""
