"""Relocating the answer of a question after its context was translated."""
