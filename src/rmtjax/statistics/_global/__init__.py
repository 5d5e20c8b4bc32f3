"""Functions of whole spectra: densities, sums over the levels, how far a spectrum is from its ensemble."""
