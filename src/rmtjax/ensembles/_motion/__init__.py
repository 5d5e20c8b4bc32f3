"""Matrices that move: Dyson's Brownian motion on the line and on the circle."""
