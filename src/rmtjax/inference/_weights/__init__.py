"""Spectra of the weights of networks."""
