"""Non-Hermitian matrices, with eigenvalues in the complex plane."""
