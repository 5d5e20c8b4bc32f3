"""Compiled evaluation of the methods of a law."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from rmtjax.testing._compare import host, is_inexact

METHODS = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf")


def tabulated(law: Any, x: jax.Array) -> dict[str, jax.Array]:
    """All methods at all points."""
    return {name: getattr(law, name)(x) for name in METHODS}


class Evaluation:
    """A law at numpy arrays of points: all calls have one shape, so that each method is compiled once.

    Nearly all of the time of a check is compilation.
    """

    def __init__(self, law: Any, size: int):
        self.law = law
        self.size = size
        parameters, rest = eqx.partition(law, is_inexact)
        total = lambda name: lambda p, y: jnp.sum(getattr(eqx.combine(p, rest), name)(y))
        slopes = jax.jit(lambda p, x: {name: jax.grad(total(name), argnums=(1, 0))(p, x) for name in METHODS})
        table = jax.jit(tabulated)
        pdf = jax.jit(lambda law, x: law.pdf(x))
        self._table = lambda x: table(law, x)
        self._pdf = lambda x: pdf(law, x)
        self._slopes = lambda x: slopes(parameters, x)

    def filled(self, x: np.ndarray) -> jax.Array:
        """At most `size` points, the first of them repeated behind the last."""
        return jnp.asarray(np.concatenate([x, np.full(self.size - x.size, x[0])]))

    def table(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """All methods."""
        return {name: host(values)[: x.size] for name, values in self._table(self.filled(x)).items()}

    def cdf(self, x: np.ndarray) -> np.ndarray:
        """The distribution function."""
        return self.table(x)["cdf"]

    def pdf(self, x: np.ndarray) -> np.ndarray:
        """The density, at any number of points."""
        pieces = np.split(x, range(self.size, x.size, self.size))
        return np.concatenate([host(self._pdf(self.filled(piece)))[: piece.size] for piece in pieces])

    def quantile(self, p: np.ndarray) -> np.ndarray:
        """The quantiles, not compiled here: `quantile` and `isf` of a law share one compiled program of their own."""
        return host(self.law.quantile(self.filled(p)))[: p.size]

    def isf(self, q: np.ndarray) -> np.ndarray:
        """The inverse of the survival function."""
        return host(self.law.isf(self.filled(q)))[: q.size]

    def derivatives(self, x: np.ndarray) -> dict[str, tuple[np.ndarray, Any]]:
        """Of each method by x, and of its sum over the points by the parameters, in reverse mode."""
        found = self._slopes(self.filled(x))
        return {name: (host(by_x)[: x.size], by_parameters) for name, (by_x, by_parameters) in found.items()}
