"""Files on disk: atomic, readable, no pickle."""
