"""Machine translation of texts, with the positions of their sentences."""
