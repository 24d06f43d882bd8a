"""Everything that determines a run, typed, with one sentence about every field."""
