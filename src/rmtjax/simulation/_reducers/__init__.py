"""Reducers, which decide what is kept of each draw; one file for each."""
