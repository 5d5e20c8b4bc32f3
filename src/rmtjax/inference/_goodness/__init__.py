"""Whether levels follow a law, and whether two sets of spectra follow the same one."""
