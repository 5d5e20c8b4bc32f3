"""Functions of several eigenvalues: correlations, number statistics, probabilities of gaps."""
