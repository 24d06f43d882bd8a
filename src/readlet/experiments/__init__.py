"""Experiments: a table file, a grid of runs, a report."""
