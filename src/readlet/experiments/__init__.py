"""Comparisons of runs: a table file, a grid of runs, a report."""
