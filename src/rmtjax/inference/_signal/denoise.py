"""A matrix of low rank without the noise that was added to it."""

from functools import partial
from typing import Annotated, Literal

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact, Int

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._module import AbstractModule
from rmtjax._typing import ArrayLike, RealLike
from rmtjax._units import times
from rmtjax.inference._core.data import in_unit, masked_each, mean_row, observations, of_mean_zero, without_mean
from rmtjax.inference._core.noise_law import median_level
from rmtjax.inference._signal.noise_argument import noise_level
from rmtjax.inference._signal.noise_covariance import covariance_of_noise, roots, with_least_squared_error
from rmtjax.inference._signal.singular_values import Loss, Shrunk, with_shrunk_values


class Denoised(AbstractModule):
    """A matrix without its noise, as `denoise` returns it.

    Args:
        matrix: the estimate of the signal, of the shape of the data.
        singular_values: singular values of the data (without its mean, if `center`), descending. With
            `noise_covariance` both fields of singular values are those of the matrix with white noise.
        shrunk_values: singular values of the signal; 0 where there is none.
        rank: the number of shrunk values that are not 0.
        noise: the noise level σ, given or estimated; with `noise_covariance` the noise of a row has the covariance σ²Σ.
        n: number of rows of the data, also with `center`, unlike in `SignalRank`; static.
        p: number of variables; static.

    Example:
        >>> import jax
        >>> noise = jax.random.normal(jax.random.key(0), (60, 30))
        >>> clean = denoise(noise.at[:, 0].add(5.0), noise=1.0)
        >>> print(clean.rank, clean.n, clean.p)
        1 60 30
    """

    matrix: Inexact[Array, "*batch n p"]
    singular_values: Float[Array, "*batch k"]
    shrunk_values: Float[Array, "*batch k"]
    rank: Int[Array, "*batch"]
    noise: Float[Array, "*batch"]
    n: int = eqx.field(static=True)
    p: int = eqx.field(static=True)


def denoise(
    data: Annotated[ArrayLike, "*batch n p"],
    *,
    loss: Loss = "frobenius",
    noise: Annotated[RealLike, "*batch"] | None = None,
    noise_covariance: Annotated[ArrayLike, "*batch p p"] | None = None,
    center: bool = False,
) -> Denoised:
    r"""An estimate of a matrix of low rank that was observed in white noise, by the best shrinkage of singular values.

    For $Y = X + \sigma Z$ with X of low rank and independent entries $E Z_{ij} = 0$, $E|Z_{ij}|^2 = 1$, the estimate
    keeps the singular vectors of Y and replaces its singular values s by η(s). In the limit of large matrices one η
    is best for all signals. With $\beta = \min(n, p)/\max(n, p)$, $c = \max(n, p)\,\sigma^2$ and
    $s_\pm = (1 \pm \sqrt\beta)\sqrt c$, it is 0 up to $s_+$, and beyond

    $$\eta_{\text{frobenius}} = \frac{\sqrt{(s^2 - s_+^2)(s^2 - s_-^2)}}{s}, \qquad
    \eta_{\text{operator}} = \frac{x^2 + \beta c}{s}, \qquad
    \eta_{\text{nuclear}} = \Big(\eta_{\text{frobenius}} - \frac{\sqrt\beta\,c}{x}\Big)_+,$$

    where $x^2 = \frac12\big(s^2 - (1 + \beta)c + s\,\eta_{\text{frobenius}}\big)$ is the square of the singular value
    of X that shows as s. `"hard"` has the loss of `"frobenius"` but only keeps or drops a singular value, at the
    threshold of `optimal_hard_threshold`. A transposed matrix has the transposed estimate. A symmetric matrix has a
    symmetric estimate, because symmetric noise of independent entries has the same limit. But noise that repeats along
    the diagonals of a Hankel matrix has singular values beyond $s_+$.

    An unknown σ is estimated from the median singular value of the data,
    $\hat\sigma = s_{\text{median}}/\sqrt{\max(n, p)\,\mu_\beta}$ with the median $\mu_\beta$ of
    `laws.MarchenkoPastur`. A signal of rank r makes it larger by a relative amount of the order of $r/\min(n, p)$.
    Singular values below $2\sqrt{\max(n, p)}$ eps of the largest are rounding and no signal, also where there is no
    other noise.

    The matrix itself is decomposed, not its square, so that in single precision weak components survive beside
    components ten thousand times as strong. The gradient is right where singular values are equal, and includes the
    gradient of the estimated σ. At $s_+$ the Frobenius shrinker begins like a square root: its slope is 0 at $s_+$ and
    large beyond. `"operator"` and `"hard"` jump, and the jump has no derivative.

    With `noise_covariance` the rows are made white, their singular values are shrunk, and the result is brought back.
    For `"frobenius"` what is best before the way back is not best after it: the shrinker then knows how long each
    singular vector becomes, and is the best one for the squared error of the result (Leeb 2021). The other losses are
    those of the white matrix.

    Convention: σ² is $E|z|^2$ of an entry z of the noise, both parts together where the data are complex. As in
    `numpy.cov`, $\Sigma_{jk} = E z_j \bar z_k$.

    Args:
        data: observations × variables, `(..., n, p)`, real or complex, finite. It may be Hermitian, so that a
            covariance matrix is not refused here.
        loss: `"frobenius"`, `"operator"`, `"nuclear"` or `"hard"`; static.
        noise: σ > 0, a number or one for each matrix, of the shape of the batch; estimated if None.
        noise_covariance: Σ, where the entries of a row have correlated noise or noise of different levels. The noise of
            a row then has the covariance σ²Σ: pass `noise=1.0` too if Σ is the covariance itself and not only its
            shape. Positive definite, `(p, p)`, or one for each matrix, such as `shrink_covariance` of measurements of
            noise alone.
        center: whether to take the mean over the observations away and add it again; the noise has n - 1 rows. Static.

    Returns:
        A `Denoised`; its field `matrix` is the estimate.

    Raises:
        ValueError: `data` are not a finite matrix of at least two rows (three with `center`).
        ValueError: `loss` is unknown, or `noise` is not positive.
        ValueError: `noise_covariance` is not positive definite, or has another shape.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> signal = jnp.outer(jnp.linspace(0, 1, 200), jnp.ones(100))
        >>> clean = denoise(signal + 0.5 * jax.random.normal(jax.random.key(0), signal.shape))
        >>> print(clean.rank, bool(jnp.mean((clean.matrix - signal) ** 2) < 0.01))
        1 True

    References:
        Gavish and Donoho (2017), IEEE Trans. Inf. Theory 63, 2137, for squares and the nuclear norm, and for the
        operator norm of square matrices; Leeb (2022), Stat. Probab. Lett. 186, 109472, for the operator norm of others;
        Leeb and Romanov (2021), IEEE Trans. Inf. Theory 67, 3009, for correlated noise; Leeb (2021), SIAM J. Math. Data
        Sci. 3, 987, for weighted losses.
    """
    _checks.choice("loss", loss, Loss)
    center = bool(_checks.choice("center", center, Literal[False, True]))
    data, valid = observations(data, hermitian=True)
    data, covariance, definite = covariance_of_noise(noise_covariance, data, data.shape[:-2])
    n, p = data.shape[-2:]
    if center and n < 3:
        raise _checks.refusal("data", "have at least 3 rows if its mean is taken away", data.shape)
    dtype = jnp.finfo(data.dtype).dtype
    rows, batch = n - center, data.shape[:-2]
    sigma, positive = noise_level(noise, batch, dtype)
    if noise is None:
        level = jnp.broadcast_to(1 / jnp.sqrt(_median_level(jnp.asarray(min(rows, p) / max(rows, p), dtype))), batch)
    else:
        level = sigma * max(rows, p) ** 0.5
    result = _denoised(data, level, covariance, loss, noise is not None, center)
    return masked_each(_checks.all_kept(valid, positive, definite), len(batch), result)


_median_level = compiled(median_level)


@partial(compiled, static_argnums=(3, 4, 5))
def _denoised(
    data: Inexact[Array, "*batch n p"],
    level: Float[Array, "*batch"],
    covariance: Inexact[Array, "..."] | None,
    loss: str,
    known: bool,
    center: bool,
) -> Denoised:
    n, p = data.shape[-2:]
    data, unit = in_unit(data)
    rows = without_mean(data) if center else data
    larger, smaller = max(rows.shape[-2:]), min(rows.shape[-2:])
    level = level / unit[..., 0, 0] if known else level
    results = "(n,p),(k),(k),()"
    if covariance is None:
        of_one = partial(with_shrunk_values, beta=smaller / larger, loss=loss, known=known)
        matrix, before, after, scale = jnp.vectorize(of_one, signature=f"(n,p),()->{results}")(rows, level)
    else:
        white, back = roots(covariance)
        of_one = partial(_brought_back, beta=smaller / larger, loss=loss, known=known)
        each = jnp.vectorize(of_one, signature=f"(n,p),(),(p,p)->{results}")
        matrix, before, after, scale = each(rows @ white, level, back)
    if center:
        matrix = of_mean_zero(matrix) + mean_row(data)
    rank, noise = jnp.sum(after > 0, axis=-1), scale / larger**0.5 * unit[..., 0, 0]
    return Denoised(times(matrix, unit), before * unit[..., 0], after * unit[..., 0], rank, noise, n, p)


def _brought_back(
    white: Inexact[Array, "n p"],
    level: Float[Array, ""],
    back: Inexact[Array, "p p"],
    beta: float,
    loss: str,
    known: bool,
) -> Shrunk:
    """The result of `with_shrunk_values` for rows of white noise, with the matrix multiplied by `back`."""
    if loss == "frobenius":
        return with_least_squared_error(white, level, back, beta, known)
    matrix, *values = with_shrunk_values(white, level, beta, loss, known)
    return matrix @ back, *values
