"""Checks of what is installed, how it is set, and whether it computes correctly: `python -m rmtjax.doctor`."""
