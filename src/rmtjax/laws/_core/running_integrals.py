"""A rule on the unit interval, and integrals up to each of its nodes."""

import functools

import numpy as np

from rmtjax.special.internal import gauss_legendre


def unit_rule(num_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """The nodes and weights of Gauss and Legendre on [0, 1]."""
    nodes, weights = gauss_legendre(num_nodes)
    return (nodes + 1) / 2, weights / 2


@functools.cache
def running_integrals(num_nodes: int) -> np.ndarray:
    """The matrix from values at the Gauss-Legendre nodes, mapped to [0, 1], to the integrals from 0 up to each node."""
    nodes, weights = gauss_legendre(num_nodes)
    # (2k + 1) P_k is the derivative of P_{k+1} - P_{k-1}.
    legendre = np.polynomial.legendre.legvander(nodes, num_nodes)
    steps = legendre[:, 2:] - legendre[:, :-2]
    return (np.outer(nodes + 1, weights) + steps @ (legendre[:, 1:-1].T * weights)) / 4
