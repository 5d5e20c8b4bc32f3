"""Distances between neighbouring levels and their ratios."""
