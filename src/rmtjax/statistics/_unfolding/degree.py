"""The degree of a polynomial staircase, by its residuals in spectra that it was not fitted to."""

import itertools
from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._module import AbstractModule
from rmtjax._promotion import like
from rmtjax._typing import RealScalarLike
from rmtjax.spectra.internal import Levels, LevelsLike, checked
from rmtjax.statistics._unfolding.polynomial import ENOUGH, back, fitted, normalised_staircase, pool_of, scaled
from rmtjax.statistics._unfolding.unfolded import DROP, middle, off_circle


class PolynomialDegree(AbstractModule):
    """Degrees by cross-validation.

    Args:
        degree: the smallest degree whose score is less than one standard error above the best one.
        best: the degree of the best score; of several that differ by rounding, the smallest.
        scores: of each degree, the mean squared residual of the spectra left out.
        standard_errors: of the difference of each score from the best one, over spectra.

    Example:
        >>> import jax.numpy as jnp, rmtjax as rmt
        >>> levels = jnp.linspace(0.0, 1.0, 20)[None] + jnp.array([[0.0], [0.01]])
        >>> print(rmt.statistics.polynomial_degree(levels, (1, 2), folds=2).degree)
        1
    """

    degree: Int[Array, ""]
    best: Int[Array, ""]
    scores: Float[Array, " k"]
    standard_errors: Float[Array, " k"]


def polynomial_degree(
    levels: LevelsLike, degrees: Sequence[int], *, folds: int = 5, drop: RealScalarLike = 0.0
) -> PolynomialDegree:
    r"""The degree for a pooled `unfold_polynomial`, by cross-validation over spectra.

    For each fold in turn, the polynomial is fitted to the pooled staircase of all other spectra, and compared with the
    staircases of the spectra in the fold. A degree that is too low misses the mean density. One that is too high
    follows the fluctuations of the spectra that it was fitted to, which the others do not share. The score of degree d,

    $$\frac1m \sum_{s = 1}^m \frac1{n_s} \sum_i \big[\bar N_d^{(\neq s)}(x_{si}) - (i - \tfrac12)\big]^2 ,$$

    contains the fluctuations of the staircase itself, so only differences of scores matter. They are compared spectrum
    by spectrum, and the smallest of the degrees that cannot be told apart is taken. The pooled staircase is the
    normalised one of `unfold_polynomial`, times the $n_s$ of the spectrum left out. All degrees come from one
    orthogonal basis, so all of them together take no more time than the last, and O(m n) memory.

    Args:
        levels: ascending levels of m independent spectra of one ensemble, `(m, n)`, or a `Spectrum`.
        degrees: ascending candidates from 1 to n - 1; static.
        folds: number of parts that are left out in turn, from 2 to m; static. Spectrum s is in part s mod `folds`.
        drop: share of each spectrum at either end that does not enter the scores; in [0, 1/2). Take the one that
            `unfold_polynomial` will drop.

    Returns:
        `PolynomialDegree`. Under `jit` its `degree` is a traced number, which `unfold_polynomial` cannot take.

    Raises:
        ValueError: an argument is outside its range, or all folds but one have no more distinct levels than the last
            degree.

    Example:
        >>> import jax, rmtjax as rmt
        >>> levels = jax.vmap(rmt.CUE(30).eigenphases)(jax.random.split(jax.random.key(0), 50))
        >>> print(polynomial_degree(levels, range(1, 8)).degree)  # their density is constant
        1

    References:
        Stone (1974), J. R. Stat. Soc. B 36, 111; Breiman, Friedman, Olshen and Stone (1984), Classification and
        Regression Trees, section 3.4.3, for the rule of one standard error.
    """
    spectra = off_circle(checked(levels))
    if spectra.values.ndim != 2:
        raise _checks.refusal("levels", "have an axis of spectra and one of levels", spectra.values.shape)
    number, n = spectra.values.shape
    if not isinstance(degrees, Iterable):
        raise _checks.refusal("degrees", "be a sequence of candidates, such as `range(1, 11)`", degrees)
    ladder = tuple(_checks.integer("degrees", degree, at_least=1) for degree in degrees)
    if not ladder or ladder[-1] >= n or any(b <= a for a, b in itertools.pairwise(ladder)):
        raise _checks.refusal("degrees", f"ascend, and be below the number of levels, {n}", ladder)
    folds = _checks.integer("folds", folds, at_least=2)
    if folds > number:
        raise _checks.refusal("folds", f"be at most the number of spectra, {number}", folds)
    share = DROP("drop", _checks.scalar("drop", drop))
    choice, fewest = _choice(spectra, share, ladder, folds)
    enough = ENOUGH.kept("degrees", np.array(ladder[-1]), fewest)
    valid = spectra.valid if spectra.valid is True else spectra.valid.all()
    return _checks.masked(_checks.all_kept(valid, enough), choice)


@partial(compiled, static_argnums=(2, 3))
def _choice(
    spectra: Levels, share: Float[Array, ""], degrees: tuple[int, ...], folds: int
) -> tuple[PolynomialDegree, Int[Array, ""]]:
    """The choice, and the smallest number of distinct levels that a polynomial is fitted to."""
    x, mask = spectra.values, spectra.mask
    inside = middle(spectra, share)
    counted = like(x, jnp.sum(inside, axis=-1))
    fold = jnp.broadcast_to((jnp.arange(x.shape[0]) % folds)[:, None], x.shape)
    data = _Data(spectra, scaled(x, mask, (0, 1), mask), inside, fold, *pool_of(spectra))
    by_fold, numbers = jax.lax.map(partial(_scores, data, degrees[-1]), jnp.arange(folds))
    ladder = np.array(degrees)
    each = jnp.sum(by_fold, axis=0)[ladder] / jnp.maximum(counted, 1)[None]
    some = counted > 0
    spectra_left = like(x, jnp.sum(some))
    mean = lambda values: jnp.sum(jnp.where(some, values, 0), axis=-1) / spectra_left
    scores = mean(each)
    # Residuals that differ by less than their rounding are equal, and the lowest of their degrees is the best.
    rounding = 4 * jnp.finfo(x.dtype).eps * jnp.max(counted)
    best = jnp.argmax(jnp.sqrt(scores) <= jnp.sqrt(jnp.min(scores)) + rounding)
    differences = each - each[best][None]
    spread = mean((differences - mean(differences)[:, None]) ** 2) / jnp.maximum(spectra_left - 1, 1)
    errors = jnp.where(spread > 0, jnp.sqrt(jnp.where(spread > 0, spread, 1)), 0)
    near = jnp.argmax((scores < scores[best] + errors) | (jnp.arange(ladder.size) == best))
    return PolynomialDegree(jnp.asarray(ladder)[near], jnp.asarray(ladder)[best], scores, errors), jnp.min(numbers)


class _Data(NamedTuple):
    spectra: Levels
    t: Float[Array, "m n"]  # the levels on [-1, 1]
    inside: Bool[Array, "m n"]  # those that enter the scores
    fold: Int[Array, "m n"]
    pool: Levels
    order: Int[Array, " p"]


def _scores(data: _Data, degree: int, left_out: Int[Array, ""]) -> tuple[Float[Array, "k m"], Int[Array, "1 1"]]:
    """Sums of squared residuals of one fold for fits to the others, and the number of polynomials in these fits."""
    here = data.fold == left_out
    used = data.spectra.mask & ~here
    others = Levels(data.pool.values, used.ravel()[data.order], True, at_end=False)
    staircase = back(normalised_staircase(others), data.order, used.shape)
    missed = partial(_missed, data.spectra, data.inside & here)
    _, number, each = fitted(data.t, used, staircase, degree, (0, 1), seen=missed)
    return each, number


def _missed(spectra: Levels, scored: Bool[Array, "m n"], fit: Float[Array, "m n"]) -> Float[Array, " m"]:
    return jnp.sum(jnp.where(scored, spectra.number * fit - spectra.ranks, 0) ** 2, axis=-1)
