"""Symmetric matrices with independent entries: Wigner, profiles and bands, heavy tails, graphs."""
