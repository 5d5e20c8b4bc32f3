"""Symmetric matrices with independent entries: Wigner matrices, variance profiles, bands, heavy tails and graphs."""
