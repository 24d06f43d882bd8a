"""Models, built from the blocks of `nn`."""
