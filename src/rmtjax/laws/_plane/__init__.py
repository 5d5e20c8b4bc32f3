"""Limiting densities of eigenvalues in the complex plane."""
