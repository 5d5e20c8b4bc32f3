"""How eigenvectors are spread over the components of a basis."""
