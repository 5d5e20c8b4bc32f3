"""The Jacobi ensembles: full matrices, and the pair of bidiagonal matrices for every β."""
