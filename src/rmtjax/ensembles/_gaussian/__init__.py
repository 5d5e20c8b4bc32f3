"""The Gaussian ensembles: full matrices, the tridiagonal model for every β, its edge."""
