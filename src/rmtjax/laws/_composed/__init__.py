"""Laws made of other laws: mixtures, mirror images, spectra of mixed order."""
