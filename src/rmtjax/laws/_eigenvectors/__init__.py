"""Laws of the components of eigenvectors."""
