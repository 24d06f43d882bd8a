"""Everything that determines a run, typed, with a sentence under every field."""
