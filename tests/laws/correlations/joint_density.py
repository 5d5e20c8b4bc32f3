"""Averages over the joint density of a few levels of a Gaussian ensemble, by Gauss rules on ascending levels."""

import itertools
import math

import numpy as np


def ascending(count: int, start: float, end: float, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes, in rows, and weights for ascending points in an interval; each point is a fraction of the next one."""
    t, w = np.polynomial.legendre.leggauss(nodes)
    points, weights = np.zeros((1, 0)), np.ones(1)
    for _ in range(count):
        top = points[:, :1] if points.shape[1] else np.full((1, 1), end)
        below = start + (top - start) * (t + 1) / 2
        weights = (weights[:, None] * (top - start) / 2 * w).ravel()
        points = np.hstack([below.reshape(-1, 1), np.repeat(points, nodes, axis=0)])
    return points, weights


def rule(n: int, beta: int, ends: tuple[float, ...] = (), nodes: int = 32) -> tuple[np.ndarray, np.ndarray]:
    """Levels, in rows, and their probabilities; functions may jump where a level passes one of the `ends`."""
    edge = 14 / math.sqrt(beta * n)  # where the weight exp(-β n x²/4) is e^-49
    panels = list(itertools.pairwise([-edge, *ends, edge]))
    all_points, masses = [], []
    for counts in itertools.product(range(n + 1), repeat=len(panels)):
        if sum(counts) != n:
            continue
        points, weights = np.zeros((1, 0)), np.ones(1)
        for count, panel in zip(counts, panels, strict=True):
            more, factors = ascending(count, *panel, nodes)
            points = np.hstack([np.repeat(points, len(more), axis=0), np.tile(more, (len(points), 1))])
            weights = np.outer(weights, factors).ravel()
        density = np.exp(-beta * n / 4 * (points**2).sum(1))
        for i, j in itertools.combinations(range(n), 2):
            density = density * (points[:, j] - points[:, i]) ** beta
        all_points.append(points)
        masses.append(weights * density)
    mass = np.concatenate(masses)
    return np.vstack(all_points), mass / mass.sum()
