"""Faces for other packages, one module for each, imported by name: `from rmtjax.adapters import scipy_stats`."""
