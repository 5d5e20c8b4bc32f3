"""Laws of the extreme eigenvalues at soft and hard edges."""
