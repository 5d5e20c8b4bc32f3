r"""p-values of the largest level among the largest levels of the same entries, permuted or with random signs.

Entries of the noise need not be normal here. Permutations within each column keep the law of each column; random signs
keep the size of each entry. Both destroy what the columns have in common, and that is what a signal is.

*Behind k signals* the residual $R = X(1 - V V^*)$ without the first k components takes the place of X. It has
$(n - k)(p - k)$ of the $np$ degrees of freedom of noise, but permuted entries fill n × p places again. So their largest
level is near $\frac{(n - k)(p - k)}{np}\,\mu_{n,p}$ where level k + 1 is near $\mu_{n-k,p-k}$, with the centres μ of
`largest_level`. The levels of the draws are multiplied by the ratio of the two.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact

from rmtjax._typing import KeyScalar
from rmtjax.ensembles.internal import largest_laguerre_level
from rmtjax.inference._core.data import of_mean_zero
from rmtjax.inference._core.sample_spectrum import smaller_side
from rmtjax.inference._goodness.p_value import monte_carlo_p_value
from rmtjax.linalg.internal import adjoint, hermitian_eigenvalues

Draw = Callable[[KeyScalar, Inexact[Array, "n p"], bool], Inexact[Array, "n p"]]


class Draws(NamedTuple):
    """How many draws are made, from which key, and whether the mean of each column was taken away."""

    key: KeyScalar
    number: int
    center: bool


def permuted(key: KeyScalar, entries: Inexact[Array, "n p"], center: bool) -> Inexact[Array, "n p"]:
    """The entries of each column in a random order of its own, which leaves its mean."""
    # `jax.random.permutation` sorts several times, so that 32 bits suffice for more rows than there can be.
    return jax.lax.sort((jax.random.bits(key, entries.shape), entries), dimension=0, num_keys=1, is_stable=False)[1]


def with_signs(key: KeyScalar, entries: Inexact[Array, "n p"], center: bool) -> Inexact[Array, "n p"]:
    """The entries with independent random signs, and without the new mean of each column if the old one was unknown.

    Deviations from a mean have 1 - 1/n of the variance of the entries, and lose this share again.
    """
    turned = jnp.where(jax.random.bits(key, entries.shape, jnp.uint8) < 128, entries, -entries)
    n = entries.shape[0]
    if not center:
        return turned
    mean = jnp.ones((1, n), turned.dtype) @ turned / n  # as a product, which needs no kernels to be compiled
    return (turned - mean) * (n / (n - 1)) ** 0.5


ROUNDING = 4 * float(jnp.finfo(jnp.float32).eps)


def is_significant(p_values: Any, alpha: Any) -> Any:
    """Whether p-values that are shares of draws are at most alpha: alpha itself is, whatever its rounding is."""
    return p_values <= alpha * (1 + ROUNDING)


class _State(NamedTuple):
    k: Array
    passed: Array  # whether all levels so far are signal
    p_values: Float[Array, " t"]
    centres: Float[Array, " t"]


def resampled(
    draw: Draw,
    draws: Draws,
    levels: Float[Array, "*batch t"],
    vectors: Inexact[Array, "*batch p k"],
    rows: Inexact[Array, "*batch n p"],
    alpha: Float[Array, ""],
) -> tuple[Float[Array, "*batch t"], Float[Array, "*batch t"]]:
    """The p-values of descending levels of S and the medians of the draws, up to the first p-value above alpha.

    The others are NaN. The p-values are constants to derivatives.
    """
    batch, t = levels.shape[:-1], levels.shape[-1]
    flat = lambda x, axes: jax.lax.stop_gradient(x).reshape(-1, *x.shape[x.ndim - axes :])
    levels, vectors, rows = flat(levels, 1), flat(vectors, 2), flat(rows, 2)
    each = partial(_of_one, draw, draws, jax.lax.stop_gradient(alpha))
    p_values, centres = jax.lax.map(lambda one: each(*one), (jnp.arange(levels.shape[0]), levels, vectors, rows))
    return p_values.reshape(*batch, t), centres.reshape(*batch, t)


def _of_one(
    draw: Draw,
    draws: Draws,
    alpha: Float[Array, ""],
    number: Array,
    levels: Float[Array, " t"],
    vectors: Inexact[Array, "p k"],
    rows: Inexact[Array, "n p"],
) -> tuple[Float[Array, " t"], Float[Array, " t"]]:
    (n, p), t = rows.shape, levels.size
    beta = 2 if jnp.iscomplexobj(rows) else 1
    entries = of_mean_zero(rows) if draws.center else rows
    before = jnp.arange(t, dtype=levels.dtype)
    share = (n - before) * (p - before) / (n * p)
    centre = largest_laguerre_level(n - before, p - before, beta)[0]
    grown = centre / (centre[0] * share)
    position = jnp.arange(vectors.shape[-1])[::-1]
    key = jax.random.fold_in(draws.key, number)

    def step(state: _State) -> _State:
        k = state.k
        # The vectors of S are the conjugates of the right singular vectors of the rows.
        signals = jnp.conj(jnp.where(position[None] < k, vectors, 0))
        left = entries - (entries @ signals) @ adjoint(signals)
        key_of_level = jax.random.fold_in(key, k)

        def largest(i: Array) -> Float[Array, ""]:
            drawn = draw(jax.random.fold_in(key_of_level, i), left, draws.center)
            return hermitian_eigenvalues(smaller_side(drawn))[-1] * (drawn.shape[0] / n)

        null = grown[k] * jax.lax.map(largest, jnp.arange(draws.number))
        p_value = monte_carlo_p_value(levels[k], null)
        return _State(
            k + 1,
            is_significant(p_value, alpha),
            state.p_values.at[k].set(p_value),
            state.centres.at[k].set(jnp.median(null)),
        )

    unknown = jnp.full(t, jnp.nan, levels.dtype)
    start = _State(jnp.asarray(0), jnp.asarray(True), unknown, unknown)
    found = jax.lax.while_loop(lambda state: state.passed & (state.k < t), step, start)
    return found.p_values, found.centres
