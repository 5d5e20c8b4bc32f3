"""Densities of spectra on bins, and how much they differ within an ensemble."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._promotion import aligned, like
from rmtjax._typing import RealLike
from rmtjax.spectra.internal import Levels, LevelsLike, checked

_DISTRIBUTION = _checks.Rule(lambda values: ~(values < 0).any(), "not be negative")


def level_density(levels: LevelsLike, edges: RealLike) -> Float[Array, "*batch k"]:
    r"""Density of the levels of each spectrum on bins, normalised by the number of levels.

    $$\rho(b_k) = \frac{N(b_k)}{n\,|b_k|}$$

    for N of n levels in the bin. Levels outside of the bins count in n, so the integral is the share of levels between
    the first edge and the last. Levels of one matrix depend on each other, so take errors over matrices, by
    `over_samples`. If levels repel each other, these errors are smaller than the square root of the count suggests, the
    more so the wider the bin.

    Args:
        levels: ascending levels, `(..., n)`, or a `Spectrum`.
        edges: at least two finite numbers, strictly ascending; compared in the dtype of the levels. A level on an edge
            belongs to the bin above it, and a level on the last edge to the last bin, as for `rmt.Histogram`.

    Returns:
        A value for each bin, on a last axis behind those of the batch; NaN where no level counts. The counts are exact,
        also in float32. The derivative in the levels is 0.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax, jax.numpy as jnp, rmtjax as rmt
        >>> levels = jax.vmap(rmt.GUE(50).eigenvalues)(jax.random.split(jax.random.key(0), 100))
        >>> of_each = lambda levels: rmt.statistics.level_density(levels, jnp.array([-0.5, 0.5]))
        >>> density = rmt.statistics.over_samples(of_each, levels)
        >>> print(f"{density.value[0]:.3f} ± {density.standard_error[0]:.3f}")  # the semicircle has 0.315
        0.317 ± 0.002

    References:
        Mehta (2004), Random Matrices, chapter 4; the theory is `laws.LevelDensity` and the law of the ensemble.
    """
    spectra, bins, valid = _checked(levels, edges)
    density = _density(spectra.compact, jnp.sum(spectra.mask, axis=-1), bins)
    return _checks.masked(valid, spectra.masked(density, 1))


def spectral_ergodicity(levels: LevelsLike, edges: RealLike) -> Float[Array, "*batch k"]:
    r"""The metric of Thirumalai and Mountain, the distance of single spectra from the average over their ensemble.

    $$\Omega(b_k) = \frac1M \sum_{j=1}^M n_j \big[p_j(b_k) - \bar p(b_k)\big]^2, \qquad
    p_j = \frac{N_j(b_k)}{n_j}, \quad \bar p = \frac{\sum_j N_j(b_k)}{\sum_j n_j}$$

    where $N_j$ of the $n_j$ levels of matrix j lie in the bin. For matrices of one order n this is
    $\frac1{Mn} \sum_j (N_j - \bar N)^2$, the variance of the count divided by the order. Its mean is

    - $(1 - \frac1M)\,p\,(1 - p)$ for independent levels of any orders, with the share p of a bin;
    - $(1 - \frac1M)\,\Sigma^2(n p)/n$ for circular ensembles, with `laws.circular_number_variance`. It falls as
      $\log n/n$: circular ensembles are ergodic.

    The factor $1 - \frac1M$ is the bias of few matrices.

    Matrices of mixed order can also be made comparable by repeating their levels periodically, as Süzen does:
    `spectral_ergodicity(spectra.periodic("random", key), edges)`. The result depends on the choice of the repeated
    levels, see `Spectrum.periodic`. Without repetition a large matrix weighs more.

    Convention: counts and not densities, as in Süzen's paper; the bins may differ in width.

    Args:
        levels: ascending levels of M ≥ 2 matrices, `(..., M, n)`, or a `Spectrum`. Axes before these two are a batch of
            ensembles. An error comes from several ensembles, by `over_samples`.
        edges: as in `level_density`.

    Returns:
        A value for each bin; NaN where fewer than two matrices have levels. The derivative in the levels is 0.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax.numpy as jnp
        >>> print(spectral_ergodicity(jnp.array([[0.1, 0.4, 0.6, 0.9], [0.1, 0.2, 0.3, 0.9]]), [0.0, 0.5, 1.0]))
        [0.0625 0.0625]

    References:
        Thirumalai and Mountain (1990), Phys. Rev. A 42, 4574; Süzen, Weber and Cerdà (2017), arXiv:1704.08303; Süzen,
        Cerdà and Weber (2019), arXiv:1911.07831, for periodic spectra.
    """
    spectra, bins, valid = _checked(levels, edges)
    if spectra.values.ndim < 2 or spectra.values.shape[-2] < 2:
        raise _checks.refusal("levels", "be those of at least two matrices, `(..., M, n)`", spectra.values.shape)
    of_all = spectra.valid if spectra.valid is True else spectra.valid.all(-1, keepdims=True)
    return _checks.masked(
        _checks.all_kept(valid, of_all), _ergodicity(spectra.compact, jnp.sum(spectra.mask, axis=-1), bins)
    )


def spectral_ergodicity_distance(ergodicity: RealLike, other: RealLike) -> Float[Array, "..."]:
    r"""The distance between two spectral ergodicities, such as those of matrices of two sizes.

    $$D = \sum_k \Big[\Omega_k \log_2 \frac{\Omega_k}{\Omega_k'} + \Omega_k' \log_2 \frac{\Omega_k'}{\Omega_k}\Big]
    = \sum_k (\Omega_k - \Omega_k') \log_2 \frac{\Omega_k}{\Omega_k'},$$

    the divergence of Kullback and Leibler in both directions. A bin where both are 0 adds 0. D is infinite if only one
    of them is 0 in a bin, so take the same bins for both, not wider than the spectra.

    Args:
        ergodicity: Ω ≥ 0 of the bins on the last axis, by `spectral_ergodicity`.
        other: Ω', broadcast against it.

    Returns:
        One number ≥ 0 for each batch; differentiable where it is finite.

    Raises:
        ValueError: a value is negative, or there is no axis of bins.

    Example:
        >>> print(spectral_ergodicity_distance([0.5, 0.25, 0.0], [0.25, 0.25, 0.0]))
        0.25

    References:
        Süzen, Weber and Cerdà (2017), arXiv:1704.08303.
    """
    one, two = _checks.real("ergodicity", ergodicity), _checks.real("other", other)
    for name, each in (("ergodicity", one), ("other", two)):
        if each.ndim == 0:
            raise _checks.refusal(name, "have an axis of bins", each)
    valid = _checks.all_kept(_DISTRIBUTION.kept("ergodicity", one), _DISTRIBUTION.kept("other", two))
    return _checks.masked(valid, _distance(*jnp.broadcast_arrays(*aligned(one, two))))


def _checked(levels: Any, edges: Any) -> tuple[Levels, Float[Array, " k+1"], Any]:
    """The levels, the edges in their dtype, and whether the edges are valid."""
    spectra = checked(levels)
    bins = _checks.edges("edges", edges).astype(spectra.values.dtype)
    return spectra, bins, _checks.STRICTLY_ASCENDING.kept("edges", bins)


def _counts(levels: Float[Array, "*batch n"], edges: Float[Array, " k+1"]) -> Float[Array, "*batch k"]:
    """How many of the ascending levels each bin holds. A bin holds its lower edge, and the last bin both edges."""

    def of_one(levels: Float[Array, " n"]) -> Int[Array, " k"]:
        below = jnp.searchsorted(levels, edges[:-1])
        return jnp.diff(below, append=like(below, jnp.sum(levels <= edges[-1], keepdims=True)))

    return like(levels, jnp.vectorize(of_one, signature="(n)->(k)")(levels))


@compiled
def _density(
    values: Float[Array, "*batch n"], number: Int[Array, "*batch"], edges: Float[Array, " k+1"]
) -> Float[Array, "*batch k"]:
    total = jnp.multiply(*aligned(like(values, number)[..., None], jnp.diff(edges)))
    return jnp.where(total > 0, _counts(values, edges) / jnp.where(total > 0, total, 1), jnp.nan)


@compiled
def _ergodicity(
    values: Float[Array, "*batch m n"], number: Int[Array, "*batch m"], edges: Float[Array, " k+1"]
) -> Float[Array, "*batch k"]:
    counts, size = _counts(values, edges), number[..., None].astype(values.dtype)
    total = jnp.maximum(size.sum(-2, keepdims=True), 1)
    deviation = counts - size * (counts.sum(-2, keepdims=True) / total)
    # The rounding error of a large mean count shifts all deviations alike: subtract their mean.
    deviation -= size * (deviation.sum(-2, keepdims=True) / total)
    matrices = like(size, jnp.sum(size > 0, axis=-2))
    sum_of_squares = jnp.sum(deviation**2 / jnp.maximum(size, 1), axis=-2)
    return jnp.where(matrices > 1, sum_of_squares / jnp.maximum(matrices, 1), jnp.nan)


@compiled
def _distance(one: Float[Array, "*batch k"], other: Float[Array, "*batch k"]) -> Float[Array, "*batch"]:
    empty = (one == 0) | (other == 0)
    full, full_other = jnp.where(empty, 1, one), jnp.where(empty, 1, other)
    differences = (full - full_other) * (jnp.log2(full) - jnp.log2(full_other))
    return jnp.sum(jnp.where(empty, jnp.where(one == other, 0, jnp.inf), differences), axis=-1)
