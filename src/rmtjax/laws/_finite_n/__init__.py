"""Exact densities of eigenvalues at finite n, from orthogonal polynomials."""
