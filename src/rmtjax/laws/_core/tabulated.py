"""Laws given by tables and expansions of the logarithm of the smaller tail and of the logarithm of its slope."""

from abc import abstractmethod
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from rmtjax.laws._core.base import AbstractLaw
from rmtjax.special.internal import log_one_minus_exp


class AbstractTabulatedLaw(AbstractLaw):
    """A law given by log F up to a point, the switch, and by log(1 - F) above it, both with their slopes.

    All else follows from these to full relative accuracy in both tails. Both logarithms are concave. Laws of this kind
    have no differentiable parameters.
    """

    @abstractmethod
    def _switch(self) -> float:
        """The point, near the median, where the tabulated tail changes."""

    @abstractmethod
    def _tail_and_slope(self, x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """Log F below the switch and log(1 - F) from there on, and the logarithm of the size of the derivative."""

    def _smaller_tail(self, x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """Same as `_tail_and_slope`, but safe where its powers overflow."""
        lower = self._support()[0].astype(x.dtype)
        return self._tail_and_slope(jnp.maximum(not_too_far(x), lower + 4 * jnp.finfo(x.dtype).tiny))

    @abstractmethod
    def _guess(self, below: Float[Array, "..."], above: Float[Array, "..."]) -> tuple[Array, Array]:
        """Starting points for Newton's method: near where log F equals `below`, and where log(1 - F) equals `above`."""

    def _logpdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        tail, slope = self._smaller_tail(x)
        return tail + slope

    def _pdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.exp(self._logpdf(x))

    def _log_tails(self, x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """Log F and log(1 - F)."""

        @jax.custom_jvp
        def log_tails(x: Float[Array, "..."]) -> tuple[Array, Array]:
            tail, _ = self._smaller_tail(x)
            below, other = x < self._switch(), log_one_minus_exp(tail)
            return jnp.where(below, tail, other), jnp.where(below, other, tail)

        @log_tails.defjvp
        def _(primals: tuple, tangents: tuple) -> tuple[tuple, tuple]:
            (x,), (dx,) = primals, tangents
            log_f, log_sf = log_tails(x)
            tail, slope = self._smaller_tail(x)
            # The slope of the larger tail comes from the slope of the smaller one, so large logarithms do not cancel.
            below, other = x < self._switch(), log_one_minus_exp(tail)
            near, far = jnp.exp(slope) * dx, jnp.exp(slope + tail - other) * dx
            return (log_f, log_sf), (jnp.where(below, near, far), -jnp.where(below, far, near))

        return log_tails(x)

    def _tails(self, x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """F and 1 - F."""

        @jax.custom_jvp
        def tails(x: Float[Array, "..."]) -> tuple[Array, Array]:
            tail, _ = self._smaller_tail(x)
            below = x < self._switch()
            return jnp.where(below, jnp.exp(tail), -jnp.expm1(tail)), jnp.where(below, -jnp.expm1(tail), jnp.exp(tail))

        @tails.defjvp
        def _(primals: tuple, tangents: tuple) -> tuple[tuple, tuple]:
            # Automatic differentiation of expm1 rounds slopes below 1e-16 to 0.
            change = self._pdf(*primals) * tangents[0]
            return tails(*primals), (change, -change)

        return tails(x)

    def _logcdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return self._log_tails(x)[0]

    def _logsf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return self._log_tails(x)[1]

    def _ppf(self, p: Float[Array, "..."], q: Float[Array, "..."]) -> Float[Array, "..."]:
        @jax.custom_jvp
        def quantile(p: Float[Array, "..."], q: Float[Array, "..."]) -> Float[Array, "..."]:
            return self._invert(p, q)

        @quantile.defjvp
        def _(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
            x = quantile(*primals)
            return x, jnp.exp(-self._logpdf(x)) * tangents[0]

        return quantile(p, q)

    def _invert(self, p: Float[Array, "..."], q: Float[Array, "..."]) -> Float[Array, "..."]:
        """Newton's method on the logarithm of the smaller tail."""
        switch = jnp.asarray(self._switch(), p.dtype)
        just_below = jnp.nextafter(switch, jnp.asarray(-jnp.inf, p.dtype))
        log_f, log_sf = jnp.log(p), jnp.log(q)
        below = log_f < self._smaller_tail(just_below)[0]

        def step(_: int, x: Float[Array, "..."]) -> Float[Array, "..."]:
            tail, slope = self._smaller_tail(x)
            change = jnp.where(below, log_f - tail, tail - log_sf) * jnp.exp(-slope)
            # Every iterate stays on its own side of the switch.
            return jnp.where(below, jnp.minimum(x + change, just_below), jnp.maximum(x + change, switch))

        lower, upper = self._guess(log_f, log_sf)
        start = jnp.where(below, jnp.minimum(lower, just_below), jnp.maximum(upper, switch))
        # Newton's method overshoots the root of a concave function at most once. It reaches rounding in four steps from
        # the chord of a panel, and in five from the leading terms.
        return jax.lax.fori_loop(0, 5, step, start)


def smaller_tail(law: AbstractTabulatedLaw, x: Float[Array, "..."]) -> tuple[Array, Array, Array]:
    r"""The smaller tail t of the law and its second derivative, to all digits, from one look at the table.

    Returns:
        Whether the smaller tail is F and not 1 - F; the logarithm of t; and $t''/t$.
    """
    (tail, slope), changes = jax.jvp(law._smaller_tail, (x,), (jnp.ones_like(x),))
    below = x < law._switch()
    # The density is exp(tail + slope), and t' is plus or minus the density.
    return below, tail, jnp.where(below, 1, -1) * jnp.exp(slope) * (changes[0] + changes[1])


def not_too_far(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """The points x clipped to ±1e77 (float32: ±4e9), whose cubes do not overflow."""
    farthest = float(jnp.finfo(x.dtype).max) ** 0.25
    return jnp.clip(x, -farthest, farthest)


def load(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a table."""
    with np.load(path) as arrays:
        return dict(arrays)


def at_ends(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values at -1, where T_k is (-1)^k, and at 1 of Chebyshev series with coefficients along the last axis."""
    return rows @ (-1.0) ** np.arange(rows.shape[-1]), rows.sum(-1)
