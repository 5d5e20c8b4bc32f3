"""Several levels at once: numbers in intervals, pairs, form factor and power spectrum."""
