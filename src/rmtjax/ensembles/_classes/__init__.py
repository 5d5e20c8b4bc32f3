"""Matrices of physics: the ten symmetry classes and random density matrices."""
