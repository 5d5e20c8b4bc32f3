"""Unfolding: levels of mean spacing 1, whatever their density."""
