"""Limiting densities of eigenvalues on the line, and the equations that some of them solve."""
