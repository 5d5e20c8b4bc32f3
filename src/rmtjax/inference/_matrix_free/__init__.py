"""Spectra of operators that are only known by their products with vectors."""
