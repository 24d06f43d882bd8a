"""Examples to more Examples: what the data lacks, made of what it has."""
