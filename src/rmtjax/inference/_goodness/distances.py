"""Distances of values from a law: the statistics of Kolmogorov-Smirnov, Cramér-von Mises and Anderson-Darling."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from rmtjax._ordering import in_order
from rmtjax._promotion import aligned, like
from rmtjax.laws import AbstractLaw
from rmtjax.special.internal import logarithm


def distance(
    test: str, law: AbstractLaw, values: Float[Array, "*batch n"], mask: Bool[Array, "*batch n"]
) -> tuple[Float[Array, ""], Int[Array, ""]]:
    """The statistic of all values that count, as one sample, and their number; NaN without any."""
    mask = mask & ~_at_atoms(law, values, mask)
    number = jnp.sum(mask)
    ascending = in_order(jnp.where(mask, values, jnp.inf).ravel())
    rank = jnp.arange(ascending.size)
    counts = rank < number
    # In the other places the law sees a point of the sample, so that no derivative becomes NaN.
    points = jnp.where(counts, ascending, jnp.where(number > 0, ascending[0], 0))
    masses, statistic = _STATISTICS[test]
    below, above = masses(law, points)
    found = statistic(below, above, counts, like(below, rank), like(below, jnp.maximum(number, 1)))
    return jnp.where(number > 0, found, jnp.nan), number


def _kolmogorov_smirnov(below: Array, _: Array, counts: Array, rank: Array, n: Array) -> Array:
    apart = jnp.maximum((rank + 1) / n - below, below - rank / n)
    return jnp.max(jnp.where(counts, apart, 0))


def _cramer_von_mises(below: Array, _: Array, counts: Array, rank: Array, n: Array) -> Array:
    return 1 / (12 * n) + jnp.sum(jnp.where(counts, (below - (rank + 0.5) / n) ** 2, 0))


def _anderson_darling(log_below: Array, log_above: Array, counts: Array, rank: Array, n: Array) -> Array:
    # A value outside of the support has an infinite logarithm and makes the statistic infinite.
    terms = (2 * rank + 1) / n * log_below + (2 * (n - rank) - 1) / n * log_above
    return -jnp.sum(jnp.where(counts, 1 + terms, 0))


def _at_atoms(law: AbstractLaw, values: Array, mask: Array) -> Array:
    """Which values are at a point mass, up to the rounding of eigenvalues, n eps times the largest."""
    locations, masses = law.atoms()
    if masses.size == 0:
        return jnp.zeros(values.shape, bool)
    eps = values.shape[-1] * float(jnp.finfo(values.dtype).eps)
    values, locations, masses = aligned(values[..., None], locations, masses)
    largest = jnp.maximum(jnp.max(jnp.where(mask[..., None], jnp.abs(values), 0)), jnp.max(jnp.abs(locations)))
    return (jnp.where(masses > 0, jnp.abs(values - locations), jnp.inf) <= eps * largest).any(-1)


def _masses(law: AbstractLaw, points: Array) -> tuple[Array, Array]:
    """The masses of the law without its atoms, below and above each point."""
    locations, masses = law.atoms()
    if masses.size == 0:
        return law.cdf(points), law.sf(points)
    rest = 1 - jnp.sum(masses)
    at, locations, masses = aligned(points[..., None], locations, masses)
    at_or_below = jnp.sum(jnp.where(locations <= at, masses, 0), axis=-1)
    at_above = jnp.sum(jnp.where(locations > at, masses, 0), axis=-1)
    below, above = law.cdf(points) - at_or_below, law.sf(points) - at_above
    return jnp.clip(below / rest, 0, 1), jnp.clip(above / rest, 0, 1)


def _log_masses(law: AbstractLaw, points: Array) -> tuple[Array, Array]:
    """The logarithms of both masses, with all digits if the law has no atoms."""
    if law.atoms()[1].size == 0:
        return law.logcdf(points), law.logsf(points)
    below, above = _masses(law, points)
    return logarithm(below), logarithm(above)


_STATISTICS = {
    "kolmogorov-smirnov": (_masses, _kolmogorov_smirnov),
    "cramer-von-mises": (_masses, _cramer_von_mises),
    "anderson-darling": (_log_masses, _anderson_darling),
}
