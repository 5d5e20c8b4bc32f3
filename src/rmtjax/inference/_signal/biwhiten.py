r"""Counts, and other data whose noise has a known variance in each entry, in scales in which the noise is white.

Let $K_{ij} = u_i V_{ij} v_j$ for the variances V. Its rows shall have the sum p and its columns the sum n. The two
conditions are met in turn, $u = p/(Vv)$ and $v = n/(V^T u)$, until the first one changes u no more (Sinkhorn and
Knopp). They fix u and v up to a common factor, $(tu, v/t)$, which no product $u_i v_j$ contains, if the table does not
fall apart into blocks. Each block of such a table has a factor of its own: the scaled data and their derivatives are
determined, and the scales are not.

**Derivative.** With $a = \log u$, $b = \log v$ the conditions have the differentials
$p\,\dot a + K \dot b = -r$ and $n\,\dot b + K^T \dot a = -c$, where r and c are the sums over the rows and columns of
$u_i \dot V_{ij} v_j$. So $(n - K^T K/p)\,\dot b = K^T r/p - c$ and $\dot a = -(r + K \dot b)/p$. The matrix has the
vector $(1, \dots, 1)$ as its null space, the factor t; adding $n/p$ to all entries makes it regular.
"""

from functools import partial
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact, Int

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._module import AbstractModule
from rmtjax._promotion import aligned, in_one_precision, like
from rmtjax._typing import ArrayLike, RealLike
from rmtjax.inference._core.data import in_unit, masked_each, observations, to_leave_out

# Counts of 1000 cells and 2000 genes take 10 to 30 steps. Where there is no solution the steps never end.
_MOST_STEPS = 5000


class Biwhitened(AbstractModule):
    r"""Data in scales in which their noise is white, as `biwhiten` returns them.

    Args:
        scaled: the data times both scales, with noise of level 1 to the methods that look at singular values.
        row_scale: $\sqrt{u_i}$, by which each row was multiplied.
        column_scale: $\sqrt{v_j}$, by which each column was multiplied.
        steps: how many times rows and columns were scaled in turn.

    Example:
        >>> import numpy as np
        >>> counts = np.random.default_rng(0).poisson(np.outer(np.arange(1, 41), np.linspace(1, 5, 30)))
        >>> white = biwhiten(counts)
        >>> print(bool(np.allclose(white.back(white.scaled), counts, rtol=1e-5)))
        True
    """

    scaled: Inexact[Array, "*batch n p"]
    row_scale: Float[Array, "*batch n"]
    column_scale: Float[Array, "*batch p"]
    steps: Int[Array, "*batch"]

    def back(self, matrix: Annotated[ArrayLike, "*batch n p"]) -> Inexact[Array, "*batch n p"]:
        """A matrix in the scales of the data, from one in white scales, such as `denoise(white.scaled).matrix`.

        Args:
            matrix: of the shape of `scaled`.

        Raises:
            ValueError: `matrix` has another shape.
        """
        array = _checks.numbers("matrix", matrix)
        if array.shape != self.scaled.shape:
            raise _checks.refusal("matrix", f"have the shape {self.scaled.shape} of `scaled`", array.shape)
        rows, columns = self.row_scale[..., :, None], self.column_scale[..., None, :]
        array, rows, columns = aligned(array, rows, columns)
        return array / rows / columns


def biwhiten(
    data: Annotated[ArrayLike, "*batch n p"], *, variances: Annotated[RealLike, "*batch n p"] | None = None
) -> Biwhitened:
    r"""Counts times a scale for each row and each column, so that their noise has the singular values of white noise.

    An entry of a table of counts has noise of its own variance. With the estimates $V_{ij}$ of these variances, the
    positive scales $\sqrt{u_i}$, $\sqrt{v_j}$ are those for which

    $$\frac1p \sum_j u_i V_{ij} v_j = 1, \qquad \frac1n \sum_i u_i V_{ij} v_j = 1$$

    for all rows and columns. Then the singular values of the noise follow the law of Marčenko and Pastur for noise of
    level 1, and none is beyond $\sqrt n + \sqrt p$ in the limit of large tables (Landa, Zhang and Kluger 2022). So
    everything that is said of white noise holds for `scaled`:

    - `signal_rank(white.scaled, noise=1.0, center=False)` is the rank of the expected counts;
    - `white.back(denoise(white.scaled, noise=1.0).matrix)` estimates the expected counts, with the least sum of squared
      errors over variances. Nothing keeps small expected counts from becoming slightly negative.

    For Poisson counts the counts themselves are unbiased estimates of their variances. Where the variance is
    $a + b\mu + c\mu^2$ for the mean μ, `variances=(a + b * x + c * x**2) / (1 + c)` is unbiased:

    | counts | a | b | c |
    |---|---|---|---|
    | negative binomial of size r (overdispersion 1/r) | 0 | 1 | 1/r |
    | binomial of m trials | 0 | 1 | -1/m |
    | Poisson counts in units of s | 0 | s | 0 |

    The level is a check: `signal_rank(white.scaled, center=False).noise`, which is estimated, is near 1 if the
    variances are right. Counts with more variance than was said have a larger level, and false components.

    Rows and columns with few counts have noise far from normal. Leave out those with fewer than about ten. Do not take
    logarithms, and do not divide by the totals of the rows before: the scales do that.

    The scales depend on each other through few sums, so the noise of the scales hardly matters. The steps of Sinkhorn
    and Knopp go on until no scale changes by more than rounding. The gradient is that of the solution.

    Convention: u and v are determined up to a factor, if the table does not fall apart into blocks, and here have the
    same geometric mean.

    Args:
        data: counts, rows × columns, such as cells × genes; or any real or complex data with `variances`.
        variances: an estimate of the variance of each entry, not negative, of the shape of the data; the counts by
            default. Zeros are fine as far as a solution exists.

    Returns:
        A record with `scaled`, the scales, and a method `back`.

    Raises:
        ValueError: `data` are not a finite matrix of at least two rows, or are negative without `variances`.
        ValueError: `variances` are negative, or have another shape than the data.
        ValueError: a row or column has no counts or variances but 0, or so few that there is no solution.

    Example:
        >>> import numpy as np
        >>> from rmtjax.inference import signal_rank
        >>> rng = np.random.default_rng(0)
        >>> counts = rng.poisson(rng.gamma(1.0, 3.0, (300, 3)) @ rng.gamma(1.0, 3.0, (3, 100)))
        >>> print(signal_rank(biwhiten(counts).scaled, noise=1.0, center=False).rank)
        3

    References:
        Landa, Zhang and Kluger (2022), SIAM J. Math. Data Sci. 4, 1420, theorem 2 and algorithm 1, and section 4 for
        quadratic variances; Sinkhorn and Knopp (1967), Pacific J. Math. 21, 343.
    """
    array, valid = observations(data, hermitian=True)
    if variances is None:
        if jnp.iscomplexobj(array):
            raise _checks.refusal("data", "be real without `variances`", array.dtype)
        name, values = "data", array
    else:
        name, values = "variances", _checks.real("variances", variances)
        if values.shape != array.shape:
            raise _checks.refusal("variances", f"have the shape {array.shape} of the data", values.shape)
        array, values = in_one_precision((array, values))
    valid = _checks.all_kept(valid, _NOT_NEGATIVE.kept(name, values))
    valid = _checks.all_kept(valid, *(rule.kept(name, values) for rule in (_NO_ZERO_ROW, _NO_ZERO_COLUMN)))
    result, steps = _biwhitened(array, values)
    valid = _checks.all_kept(valid, _SOLVED.kept(name, steps))
    return masked_each(valid, array.ndim - 2, result)


_NOT_NEGATIVE = _checks.Rule(lambda values: ((values >= 0) & (values < jnp.inf)).all((-2, -1)), "not be negative")


def _no_zero(kind: str, axis: int) -> _checks.Rule:
    def found(values: np.ndarray) -> str:
        zero: Any = (values <= 0).all(axis)
        numbers = np.flatnonzero(zero.reshape(-1, zero.shape[-1]).any(0))
        return to_leave_out(kind, numbers)

    return _checks.Rule(lambda values: (values > 0).any(axis).all(-1), f"have no {kind} of zeros", found)


_NO_ZERO_ROW, _NO_ZERO_COLUMN = _no_zero("row", -1), _no_zero("column", -2)
_SOLVED = _checks.Rule(
    lambda steps: steps < _MOST_STEPS,
    "have scales with which all rows and all columns have variance 1",
    lambda steps: (
        "a row, a column or a block of them with too few counts in common with the rest; leave it out, or take it alone"
    ),
)


@partial(compiled, nan_is_an_answer=True)
def _biwhitened(
    data: Inexact[Array, "*batch n p"], variances: Float[Array, "*batch n p"]
) -> tuple[Biwhitened, Int[Array, "*batch"]]:
    variances, unit = in_unit(variances)
    rows, columns, steps = jnp.vectorize(_scales, signature="(n,p)->(n),(p),()")(variances)
    # The unit of the variances is a power of two, but its root need not be one: each side takes a half of it.
    half = jnp.sqrt(jnp.sqrt(unit[..., 0]))
    rows, columns = jnp.exp(rows / 2) / half, jnp.exp(columns / 2) / half
    scaled = data * like(data, rows)[..., :, None] * like(data, columns)[..., None, :]
    return Biwhitened(scaled, rows, columns, steps), steps


@jax.custom_jvp
def _scales(variances: Float[Array, "n p"]) -> tuple[Float[Array, " n"], Float[Array, " p"], Int[Array, ""]]:
    """Logarithms of u and v of equal mean, and the number of steps."""
    n, p = variances.shape
    # Rounding moves a scale by less than this: sums of thousands of terms are right to a few hundred eps.
    tolerance = 2 * max(n, p) ** 0.5 * float(jnp.finfo(variances.dtype).eps)

    def going_on(state: tuple[Array, ...]) -> Array:
        *_, change, steps = state
        # Where there is no solution the scales of a block may leave the range of numbers: NaN goes on to the end.
        return ~(change <= tolerance) & (steps < _MOST_STEPS)

    def step(state: tuple[Array, ...]) -> tuple[Array, ...]:
        u, v, _, steps = state
        v = n / (u @ variances)
        new = p / (variances @ v)
        return new, v, jnp.max(jnp.abs(new / u - 1)), steps + 1

    first = p / jnp.sum(variances, axis=1)
    start = first, jnp.ones(p, first.dtype) + 0 * variances[0], jnp.asarray(jnp.inf, first.dtype) + 0 * first[0]
    u, v, _, steps = jax.lax.while_loop(going_on, step, (*start, 0 * first[0].astype(int)))
    a, b = jnp.log(u), jnp.log(v)
    middle = (jnp.mean(a) - jnp.mean(b)) / 2
    return a - middle, b + middle, steps


@_scales.defjvp
def _scales_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Any, Any]:
    (variances,), (tangent,) = primals, tangents
    n, p = variances.shape
    a, b, steps = _scales(variances)
    weights = jnp.exp(a)[:, None] * jnp.exp(b)[None]
    k, change = weights * variances, weights * tangent
    rows, columns = jnp.sum(change, axis=1), jnp.sum(change, axis=0)
    matrix = n * jnp.eye(p, dtype=k.dtype) - k.T @ k / p + n / p
    db = jnp.linalg.solve(matrix, k.T @ rows / p - columns)
    da = -(rows + k @ db) / p
    middle = (jnp.mean(da) - jnp.mean(db)) / 2
    return (a, b, steps), (da - middle, db + middle, np.zeros((), jax.dtypes.float0))
