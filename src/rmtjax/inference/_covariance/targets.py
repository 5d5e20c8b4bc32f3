r"""Linear shrinkage towards a target of few parameters: $\hat\Sigma = (1 - \rho) S + \rho T$.

The target T is a function of the sample matrix S. The intensity that is optimal for large n is (Ledoit and Wolf 2003,
section 2.4)

$$\rho = \frac{\pi - \varrho}{n \gamma}, \quad \pi = \frac1n \sum_t \|D_t\|^2, \quad
\varrho = \frac1n \sum_t \operatorname{Re} \langle T'(S) D_t, D_t \rangle, \quad \gamma = \|T - S\|^2,$$

between 0 and 1, with $D_t = x_t x_t^* - S$ and the derivative $T'(S) D$ of the target in the direction D. So π is the
variance of the entries of S, and ϱ is their covariance with those of T. The formulas below are these sums for each
target. None needs the p² numbers of $D_t$, so everything but S and γ costs O(np). Derivatives and inner products are
those of Hermitian matrices, so complex data need no other formulas.

Constant columns are no variables: they have variance and covariances 0 in S and in T, and no mean counts them.

References:
    Ledoit and Wolf (2003), J. Empir. Finance 10, 603; (2004), J. Portf. Manag. 30(4), 110, appendices A and B.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Inexact

from rmtjax._promotion import like
from rmtjax._typing import ShrinkageTarget
from rmtjax._units import times
from rmtjax.inference._core.sample_spectrum import each_alone, sample_covariance


class _Sample(NamedTuple):
    """Observations of mean 0 and what all targets need of them."""

    rows: Inexact[Array, "*batch n p"]
    squares: Float[Array, "*batch n p"]  # |x_ti|²
    lengths: Float[Array, "*batch n"]  # |x_t|²
    variances: Float[Array, "*batch p"]  # the diagonal of S, which is S's own mean of the squares
    present: Bool[Array, "*batch p"]  # which columns are not constant


# The target, and ϱ.
_Target = tuple[Inexact[Array, "*batch p p"], Float[Array, "*batch"]]


def towards(
    target: ShrinkageTarget, data: Inexact[Array, "*batch n p"], *, center: bool
) -> Inexact[Array, "*batch p p"]:
    """The sample matrix shrunk towards a target, with the intensity of the matrix that is divided by n."""
    n = data.shape[-2]
    rows = data - jnp.mean(data, axis=-2, keepdims=True) if center else data
    squares = jnp.real(rows * jnp.conj(rows))
    variances = jnp.mean(squares, -2)
    sample = _Sample(rows, squares, jnp.sum(squares, -1), variances, variances > 0)
    matrix = each_alone(sample_covariance, rows)
    end, covariance = _TARGETS[target](sample)
    second = lambda a: jnp.sum(jnp.real(a * jnp.conj(a)), (-2, -1))
    noise = (jnp.mean(sample.lengths**2, -1) - second(matrix) - covariance) / n
    spread = second(end - matrix)
    partial = (noise < spread) & (spread > 0)
    intensity = like(matrix, jnp.where(partial, jnp.maximum(noise, 0) / jnp.where(partial, spread, 1), 1))
    shrunk = matrix + intensity[..., None, None] * (end - matrix)
    return times(shrunk, n / (n - 1)) if center else shrunk


def _diagonal(sample: _Sample) -> _Target:
    """The variances of the sample, and covariances 0."""
    return _with_variances(jnp.zeros((), sample.rows.dtype), sample), _of_variances(sample)


def _constant_correlation(sample: _Sample) -> _Target:
    r"""The variances $s_i$ of the sample, and the mean correlation r̄ for all pairs.

    As in the source, r̄ counts as a constant: $\varrho = \varrho_{\rm diagonal} + \bar r \sum_{i \ne j}
    \sqrt{s_j/s_i}\, (\overline{|x_i|^2 \operatorname{Re} x_i \bar x_j} - s_i \operatorname{Re} S_{ij})$.
    """
    variances = jnp.where(sample.present, sample.variances, 1)
    deviations = jnp.where(sample.present, jnp.sqrt(variances), 0)
    inverse = jnp.where(sample.present, 1 / jnp.sqrt(variances), 0)
    along = lambda values, weights: jnp.sum(values * like(values, weights)[..., None, :], -1)
    # Sums over all pairs are products of sums over i and over j.
    standard, scaled = along(sample.rows, inverse), along(sample.rows, deviations)
    p = _number(sample)
    correlation = (jnp.mean(_real(standard, standard), -1) - p) / jnp.maximum(p * (p - 1), 1)
    cubes = along(sample.rows * like(sample.rows, sample.squares), inverse)
    pairs = jnp.mean(_real(cubes, scaled), -1) - jnp.mean(_real(scaled, scaled), -1)
    own = _of_variances(sample)
    matrix = correlation[..., None, None] * (deviations[..., :, None] * deviations[..., None, :])
    return _with_variances(like(sample.rows, matrix), sample), own + correlation * (pairs - own)


def _one_factor(sample: _Sample) -> _Target:
    r"""The variances of the sample, and the covariances $c_i \bar c_j / v$ that come from the mean $m = \bar x$ alone.

    m is the mean of the columns, c_i its covariance with column i, and v its variance. The derivative of $cc^*/v$ is
    $(\dot c c^* + c \dot c^*)/v - cc^* \dot v/v^2$ with $\dot c = x \bar m - c$ and $\dot v = |m|^2 - v$.
    """
    rows = sample.rows
    market = jnp.mean(rows, -1)
    variance = jnp.mean(_real(market, market), -1)
    safe = jnp.where(variance > 0, variance, 1)
    covariances = jnp.mean(rows * jnp.conj(market)[..., None], -2)
    squared = jnp.real(covariances * jnp.conj(covariances))
    ratio = _real(market, market) / safe[..., None]  # 1 + v̇/v
    own = _real(covariances[..., None, :], jnp.conj(market)[..., None] * rows)  # Re of x_i m̄ c̄_i
    # Of all pairs, and of the diagonal, which the target has from the sample.
    along = jnp.sum(jnp.conj(rows) * covariances[..., None, :], -1)
    length = _real(along, along)
    every = jnp.mean(2 * sample.lengths * jnp.real(market * along) - length * (1 + ratio), -1)
    change = 2 * own - squared[..., None, :] * (1 + ratio[..., None])
    diagonal = jnp.sum(jnp.mean(sample.squares * change, -2), -1)
    matrix = covariances[..., :, None] * jnp.conj(covariances)[..., None, :] / like(rows, safe)[..., None, None]
    return _with_variances(matrix, sample), _of_variances(sample) + (every - diagonal) / safe


def _two_parameter(sample: _Sample) -> _Target:
    """The mean variance for all variables, and the mean covariance for all pairs."""
    p = _number(sample)
    pairs = jnp.maximum(p * (p - 1), 1)
    total = jnp.sum(sample.rows, -1)
    between = _real(total, total) - sample.lengths  # the sum over all pairs
    mean = lambda x: jnp.mean(x, -1)
    variance, covariance = mean(sample.lengths) / jnp.maximum(p, 1), mean(between) / pairs
    squared = mean(sample.lengths**2) / jnp.maximum(p, 1) - variance**2 * p
    squared = squared + mean(between**2) / pairs - covariance**2 * pairs
    present = sample.present[..., :, None] & sample.present[..., None, :]
    matrix = jnp.where(present, covariance[..., None, None], 0)
    diagonal = jnp.where(sample.present, variance[..., None], 0)
    return _with_diagonal(like(sample.rows, matrix), like(sample.rows, diagonal)), squared


_TARGETS: dict[ShrinkageTarget, Callable[[_Sample], _Target]] = {
    "diagonal": _diagonal,
    "constant-correlation": _constant_correlation,
    "one-factor": _one_factor,
    "two-parameter": _two_parameter,
}


def _of_variances(sample: _Sample) -> Float[Array, "*batch"]:
    """The part of ϱ of a target that has the variances of the sample."""
    return jnp.sum(jnp.mean(sample.squares**2, -2) - sample.variances**2, -1)


def _number(sample: _Sample) -> Float[Array, "*batch"]:
    """How many variables there are."""
    return jnp.sum(sample.present, -1, dtype=sample.variances.dtype)


def _with_variances(matrix: Inexact[Array, "..."], sample: _Sample) -> Inexact[Array, "*batch p p"]:
    return _with_diagonal(matrix, like(matrix, sample.variances))


def _with_diagonal(matrix: Inexact[Array, "..."], diagonal: Inexact[Array, "*batch p"]) -> Inexact[Array, "*batch p p"]:
    return jnp.where(jnp.eye(diagonal.shape[-1], dtype=bool), diagonal[..., None, :], matrix)


def _real(a: Inexact[Array, "..."], b: Inexact[Array, "..."]) -> Float[Array, "..."]:
    """The real part of a b̄."""
    return jnp.real(a * jnp.conj(b))
