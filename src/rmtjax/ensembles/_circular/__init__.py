"""Unitary matrices: circular ensembles and the Haar measures of the classical groups."""
