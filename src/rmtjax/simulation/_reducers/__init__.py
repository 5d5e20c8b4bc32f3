"""Reducers: what is kept of each draw, one file each."""
