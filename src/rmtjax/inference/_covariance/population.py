"""The levels of the population behind the levels of a sample covariance matrix."""

from functools import partial
from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._module import AbstractModule
from rmtjax._promotion import like
from rmtjax._typing import RealLike, RealOrComplex
from rmtjax._units import unit_of
from rmtjax.inference._core.data import masked_each
from rmtjax.inference._covariance.silverstein_fit import distribution, fitted_law
from rmtjax.inference._fits.batch import for_each, levels_of_sample
from rmtjax.laws import GeneralMarchenkoPastur


class PopulationSpectrum(AbstractModule):
    """The levels of a population covariance matrix, as `population_spectrum` estimates them, and a check.

    Args:
        levels: p ascending levels.
        distance: the largest distance between the distribution functions of the sample levels and of `law`.
        n: number of observations; static.

    Example:
        >>> import jax, rmtjax as rmt
        >>> found = population_spectrum(rmt.Wishart(30, 90).eigenvalues(jax.random.key(0)), 90)
        >>> print(found.levels.shape, f"{found.law.mean():.1f}")
        (30,) 1.0
    """

    levels: Float[Array, "*batch p"]
    distance: Float[Array, "*batch"]
    n: int = eqx.field(static=True)

    @property
    def law(self) -> GeneralMarchenkoPastur:
        """The law of the sample levels that the population levels imply; of one spectrum, not of a batch."""
        return GeneralMarchenkoPastur(self.levels.shape[-1] / self.n, self.levels)


_NOT_ZERO = _checks.Rule(lambda levels: levels.max(-1) > 0, "not all be 0")


def population_spectrum(
    levels: Annotated[RealLike, "*batch k"], n: int, p: int | None = None, *, beta: RealOrComplex = 1
) -> PopulationSpectrum:
    r"""The levels of the population covariance matrix behind the levels of a sample covariance matrix.

    Levels of the sample are spread more widely than those of the population. For many variables their law is that of
    `laws.GeneralMarchenkoPastur` for the ratio c = p/n and the law H of the population levels t. With the Stieltjes
    transform v of the matrix $XX^*/n$ and $\omega = -1/v(z)$ it solves

    $$z = \omega + c\,\omega \int \frac{t}{\omega - t}\,dH(t),$$

    which is linear in H for the ω that the sample gives. The weights of H on 128 nodes are the least squares of the
    error of this equation, in the inverse of its covariance for normal data. Nodes, covariance and the bias of order
    1/n follow H in five rounds. The levels are the quantiles of H at $(i - \frac12)/p$.

    These are not the levels of `shrink_covariance`, which are the variances along the vectors of the sample and less
    spread. An estimate of a matrix that keeps these vectors needs the latter.

    *Accuracy.* The mean distance from the true levels, in units of their mean, for p = 100 normal variables and c =
    1/10, 1/3, 1 and 2, is 0.02, 0.03, 0.06 and 0.07 for equal levels (sample: 0.27, 0.49, 0.83, 1.14), and 0.02, 0.05,
    0.18 and 0.27 for 20 % of 1, 40 % of 3 and 40 % of 10 (sample: 0.17, 0.31, 0.53, 0.78). Single precision is enough.

    *What cannot be seen.* Levels nearer to each other than the fluctuations allow come out as a few groups, so that a
    smooth law becomes a staircase. For p > n small levels cannot be told from levels of 0, and none is estimated as 0.

    *Check.* `distance` is on average 2/p (between 1.4/p and 2.5/p, for p = 100 and the ratios above). A larger one says
    that the fit failed. It is no test, and it says nothing about the data: for repeated or correlated rows some other H
    explains the levels just as well, with the same distance, and is wrong.

    Convention: levels of $X^*X/n$ with independent rows of mean 0. If a mean was taken away, n is one less than the
    rows.

    Args:
        levels: the min(n, p) levels that need not be 0, in any order, or all p levels, with p - n zeros if p > n;
            batched over leading axes. Further levels that are 0 to rounding count as levels of the population that
            are 0, but for one of them where n is p - 1, p or p + 1.
        n: number of observations, at least 2; static.
        p: number of variables, at least 2; the number of levels if None; static.
        beta: 1 for real and 2 for complex data, whose levels fluctuate less; static.

    Returns:
        A `PopulationSpectrum`: p ascending levels, the law that they imply for the sample, and its distance from the
        given levels. All are constants to derivatives: the fit holds most weights at 0, and others jump there.

    Raises:
        ValueError: `levels` are neither min(n, p) nor p levels, or fewer than 2.
        ValueError: `levels` are negative, not finite or all 0.
        ValueError: the p - n smallest of p levels are not 0.
        ValueError: another argument is outside its range.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> truth = jnp.repeat(jnp.array([1.0, 10.0]), 20)
        >>> data = jax.random.normal(jax.random.key(0), (400, 40)) @ jnp.diag(jnp.sqrt(truth))
        >>> found = population_spectrum(jnp.linalg.eigvalsh(data.T @ data / 400), 400)
        >>> print(f"{found.levels[:20].mean():.1f} {found.levels[20:].mean():.0f}")
        1.0 10

    References:
        Silverstein (1995), J. Multivariate Anal. 55, 331, for the equation; El Karoui (2008), Ann. Statist. 36, 2757,
        for its linear fit; Bai and Silverstein (2004), Ann. Probab. 32, 553, theorem 1.1, for covariance and bias;
        Ledoit and Wolf (2015), J. Multivariate Anal. 139, 360, for another estimate; Kong and Valiant (2017), Ann.
        Statist. 45, 2218, for a third.
    """
    n = _checks.integer("n", n, at_least=2)
    p = None if p is None else _checks.integer("p", p, at_least=2)
    beta = _checks.dyson_index(beta, RealOrComplex)
    values, p, valid = levels_of_sample(levels, n, p, 2)
    valid = _checks.all_kept(valid, _NOT_ZERO.kept("levels", values))
    return masked_each(valid, values.ndim - 1, _estimate(jax.lax.stop_gradient(values), n, p, beta))


@partial(compiled, static_argnums=(1, 2, 3))
def _estimate(levels: Float[Array, "*batch k"], n: int, p: int, beta: int) -> PopulationSpectrum:
    return for_each(_estimate_one, levels, n, p, beta)


def _estimate_one(levels: Float[Array, " k"], n: int, p: int, beta: int) -> PopulationSpectrum:
    k, unit = levels.size, unit_of(levels[-1])
    scaled = levels / unit
    positive = scaled > 16 * jnp.finfo(levels.dtype).eps * scaled[-1]
    zeros = k - jnp.sum(positive)
    # With as many observations as variables the smallest level of any population may be 0 to rounding.
    full = zeros <= (1 if abs(n - p) < 2 else 0)
    # Further levels of 0 are levels of the population.
    variables = jnp.where(full, p, k - zeros).astype(levels.dtype)
    ratio = variables / n
    lowest = jnp.min(jnp.where(positive, scaled, jnp.inf)) / jnp.maximum(ratio, 1)
    nodes, weights = fitted_law(scaled, lowest, ratio, n, beta)
    shares = variables / p * weights
    found = _quantiles(nodes, shares, p)
    distance = _distance(scaled, found, n)
    return PopulationSpectrum(found * unit, distance, n)


def _quantiles(nodes: Float[Array, " g"], shares: Float[Array, " g"], p: int) -> Float[Array, " p"]:
    """The quantiles at (i - 1/2)/p; what the shares lack is at 0.

    A mean over each p-th part instead would mix a spike into the next level, if its share is not quite 1/p.
    """
    null = jnp.maximum(1 - jnp.sum(shares), 0)
    middles = null + jnp.cumsum(shares) - shares / 2
    places = jnp.concatenate([jnp.stack([0 * null, null, null]), middles])
    values = jnp.concatenate([jnp.stack([0 * null, 0 * null, nodes[0]]), nodes])
    return jnp.interp(jnp.asarray((np.arange(p) + 0.5) / p, nodes.dtype), places, values)


def _distance(levels: Float[Array, " k"], population: Float[Array, " p"], n: int) -> Float[Array, ""]:
    k, p = levels.size, population.size
    below = distribution(levels, population, jnp.full_like(population, 1 / p), p / n)
    steps = like(levels, p - k + np.arange(k))
    return jnp.max(jnp.maximum(jnp.abs(below - steps / p), jnp.abs(below - (steps + 1) / p)))
