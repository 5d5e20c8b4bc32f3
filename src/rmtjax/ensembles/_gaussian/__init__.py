"""The Gaussian ensembles: full matrices, the tridiagonal model for every β, and its edge."""
