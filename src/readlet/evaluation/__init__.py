"""Official scores, error analysis, and significance tests of differences between systems."""
