"""Models: building blocks of `nn` put together."""
