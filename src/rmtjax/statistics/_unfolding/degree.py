"""The degree of a polynomial staircase, by what it says about spectra that it was not fitted to."""

import itertools
from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._module import AbstractModule
from rmtjax._typing import RealScalarLike
from rmtjax.statistics._levels import Spectrum, checked, ranks
from rmtjax.statistics._unfolding.polynomial import ascending, chebyshev, pooled_ranks
from rmtjax.statistics._unfolding.unfolded import DROP, middle


class PolynomialDegree(AbstractModule):
    """Degrees by cross-validation.

    Args:
        degree: the smallest degree whose score is less than one standard error above the best one.
        best: the degree of the best score.
        scores: of each degree, the mean squared residual of the spectra left out.
        standard_errors: of the difference of each score from the best one, over spectra.

    Example:
        >>> import jax.numpy as jnp, rmtjax as rmt
        >>> levels = jnp.linspace(0.0, 1.0, 20) + jnp.array([[0.0], [0.01]])
        >>> print(rmt.statistics.polynomial_degree(levels, (1, 2), folds=2).degree)
        1
    """

    degree: Int[Array, ""]
    best: Int[Array, ""]
    scores: Float[Array, " k"]
    standard_errors: Float[Array, " k"]


def polynomial_degree(
    levels: Spectrum,
    degrees: Sequence[int],
    *,
    folds: int = 5,
    drop: RealScalarLike = 0.0,
    where: Bool[Array, "m n"] | None = None,
) -> PolynomialDegree:
    r"""The degree for a pooled `unfold_polynomial`, by cross-validation over spectra.

    The polynomial is fitted to the pooled staircase of all spectra but those of one fold, and their own staircases are
    held against it, fold by fold. A degree that is too low misses the mean density; one that is too high follows the
    fluctuations of the spectra that it was fitted to, which the others do not share. The score of degree d,

    $$\frac1m \sum_{s = 1}^m \frac1{n_s} \sum_i \big[\bar N_d^{(\neq s)}(x_{si}) - (i - \tfrac12)\big]^2 ,$$

    falls down to the fluctuations of the staircase itself, so differences count and not the size. They are compared
    spectrum by spectrum, and of degrees that cannot be told apart the smallest is taken. All degrees come from one
    orthogonal basis, so a ladder of them costs no more than the last.

    Args:
        levels: ascending levels of m independent spectra of one ensemble, `(m, n)`, a `PaddedSpectrum`, or
            `linalg.MaskedValues`.
        degrees: to choose from, ascending, at least 1; static.
        folds: number of parts that are left out in turn, from 2 to m; static. Spectrum s is in part s mod `folds`.
        drop: share of each spectrum at either end that does not enter the scores, as `unfold_polynomial` will drop it.
        where: which of the levels count.

    Returns:
        `PolynomialDegree`; its `degree` is a traced number under `jit`, where `unfold_polynomial` cannot take it.

    Raises:
        ValueError: the levels are not ascending numbers or have not two axes, `degrees` do not ascend from 1 or more to
            n - 1 or less, `folds` is out of range, or `drop` is.

    Example:
        >>> import jax, rmtjax as rmt
        >>> levels = jax.vmap(rmt.CUE(30).eigenphases)(jax.random.split(jax.random.key(0), 50))
        >>> print(polynomial_degree(levels, range(1, 8)).degree)  # their density is constant
        1

    References:
        Stone (1974), J. R. Stat. Soc. B 36, 111; Breiman, Friedman, Olshen and Stone (1984), Classification and
        Regression Trees, section 3.4.3, for the rule of one standard error.
    """
    spectra = checked(levels, where)
    if spectra.values.ndim != 2:
        raise _checks.refusal("levels", "have an axis of spectra and one of levels", spectra.values.shape)
    number, n = spectra.values.shape
    ladder = tuple(_checks.integer("degrees", degree, at_least=1) for degree in degrees)
    if not ladder or ladder[-1] >= n or any(b <= a for a, b in itertools.pairwise(ladder)):
        raise _checks.refusal("degrees", f"ascend, and be below the number of levels, {n}", ladder)
    folds = _checks.integer("folds", folds, at_least=2)
    if folds > number:
        raise _checks.refusal("folds", f"be at most the number of spectra, {number}", folds)
    share = DROP("drop", _checks.scalar("drop", drop))
    inside = middle(spectra.mask, share)
    found = _choice(spectra.values, spectra.mask, inside, ladder, folds)
    valid = spectra.valid if spectra.valid is True else spectra.valid.all()
    return _checks.masked(valid, PolynomialDegree(*found))


@partial(compiled, static_argnums=(3, 4))
def _choice(
    x: Float[Array, "m n"], mask: Bool[Array, "m n"], inside: Bool[Array, "m n"], degrees: tuple[int, ...], folds: int
) -> tuple[Int[Array, ""], Int[Array, ""], Float[Array, " k"], Float[Array, " k"]]:
    residuals = _residuals(x, mask, degrees, folds)
    counted = jnp.sum(inside, axis=-1)
    each = jnp.sum(jnp.where(inside[..., None], residuals, 0) ** 2, axis=1) / jnp.maximum(counted, 1)[:, None]
    spectra = counted > 0
    number = jnp.sum(spectra)
    mean = lambda values: jnp.sum(jnp.where(spectra[:, None], values, 0), axis=0) / number
    scores, ladder = mean(each), jnp.asarray(np.array(degrees))
    best = jnp.argmin(scores)
    differences = each - each[:, best][:, None]
    spread = mean((differences - mean(differences)) ** 2) / jnp.maximum(number - 1, 1)
    errors = jnp.sqrt(jnp.where(spread > 0, spread, 0))
    near = jnp.argmax((scores < scores[best] + errors) | (scores <= scores[best]))
    return ladder[near], ladder[best], scores, errors


def _residuals(
    x: Float[Array, "m n"], mask: Bool[Array, "m n"], degrees: tuple[int, ...], folds: int
) -> Float[Array, "m n k"]:
    """What each degree misses of the staircase of each spectrum, by the fit to the other folds."""
    pool, counted = x.reshape(-1), mask.reshape(-1)
    basis, _ = jnp.linalg.qr(chebyshev(pool, counted, degrees[-1]))
    fold = jnp.arange(x.shape[0]) % folds
    predict = partial(_predictions, basis, mask, ascending(pool, counted), fold, degrees)
    by_others = jnp.sum(jax.lax.map(predict, jnp.arange(folds)), axis=0)
    return by_others.reshape(*x.shape, -1) - ranks(mask)[..., None]


def _predictions(
    basis: Float[Array, "p q"],
    mask: Bool[Array, "m n"],
    order: Int[Array, " p"],
    fold: Int[Array, " m"],
    degrees: tuple[int, ...],
    left_out: Int[Array, ""],
) -> Float[Array, "p k"]:
    """The fits of all degrees at the levels of one fold, which they do not know; 0 elsewhere."""
    here = (fold == left_out)[:, None]
    others = mask & ~here
    used, spectra = others.reshape(-1), jnp.maximum(jnp.sum(jnp.any(others, axis=-1)), 1)
    staircase = jnp.where(used, pooled_ranks(used, order), 0) / spectra
    # The basis is orthonormal on all levels, and nearly so, up to a number, on those of the other folds. Cholesky's
    # factor makes it so in the order of the degrees: the fit of each degree is the sum of the terms up to it.
    columns = jnp.where(used[:, None], basis, 0)
    solve = partial(jax.scipy.linalg.solve_triangular, jnp.linalg.cholesky(columns.T @ columns), lower=True)
    terms = solve(jnp.where((mask & here).reshape(-1, 1), basis, 0).T) * solve(columns.T @ staircase)[:, None]
    return jnp.cumsum(terms, axis=0)[jnp.array(degrees)].T
