"""Wishart matrices and their relatives, and the bidiagonal model for every β."""
