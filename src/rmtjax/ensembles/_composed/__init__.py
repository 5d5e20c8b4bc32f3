"""Ensembles built on another ensemble: deformed, spiked and of mixed order."""
