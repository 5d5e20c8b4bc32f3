"""Estimates of a covariance matrix from few observations."""
