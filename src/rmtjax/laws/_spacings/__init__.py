"""Laws of the distances between neighbouring eigenvalues and of their ratios."""
