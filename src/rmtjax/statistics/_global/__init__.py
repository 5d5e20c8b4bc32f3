"""Functions of whole spectra: densities, sums over the levels, distances of spectra from their ensemble."""
