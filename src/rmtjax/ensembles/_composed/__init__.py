"""Ensembles made of another one: deformed, spiked, of mixed order."""
