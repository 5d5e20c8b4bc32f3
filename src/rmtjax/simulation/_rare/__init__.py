"""Probabilities of rare events, by importance sampling and by splitting."""
