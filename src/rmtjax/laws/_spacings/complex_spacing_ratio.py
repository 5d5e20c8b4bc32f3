"""The complex ratio of the distances to the two nearest levels, from the table of `scripts/complex_ratio_table.py`."""

import functools
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float

from rmtjax._typing import KeyScalar
from rmtjax.laws._core.planar import AbstractPlanarLaw
from rmtjax.laws._core.tabulated import load
from rmtjax.special.internal import bracketed_root, chebyshev_series


@functools.cache
def _table() -> dict[str, np.ndarray]:
    return load(Path(__file__).with_suffix(".npz"))


def _series(name: str, unit: Float[Array, "..."]) -> Float[Array, "..."]:
    """The value of a series at a point of [0, 1]."""
    return chebyshev_series(_table()[name].tolist(), 2 * unit - 1)


def _modes(t: Float[Array, "..."]) -> list[Float[Array, "..."]]:
    """The functions h_m in the density t |1 - z|² Σ h_m Re z^m."""
    table = jnp.asarray(_table()["density"], t.dtype)
    values = chebyshev_series(table, 2 * t[..., None] - 1)
    return [values[..., m] for m in range(table.shape[1])]


def _clenshaw(
    coefficients: list[Float[Array, "..."]], x: Float[Array, "..."], t: Float[Array, "..."]
) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """The real part of the sum of c_m z^m over m ≥ 0, and its imaginary part divided by the imaginary part of z."""
    ahead = further = jnp.zeros_like(x)
    for each in coefficients[:0:-1]:
        ahead, further = each + 2 * x * ahead - t * further, ahead
    return coefficients[0] + x * ahead - t * further, ahead


class ComplexSpacingRatio(AbstractPlanarLaw):
    r"""The law of complex spacing ratios in the bulk of large Ginibre matrices.

    For a level λ, its nearest neighbour and the next one, $z = (\lambda^{(1)} - \lambda)/(\lambda^{(2)} - \lambda)$ has
    a density in the unit disc that vanishes at 0 and at 1,

    $$p(z) = \frac{|z|^2}\pi \int_0^\infty s^3 e^{-s(1 + |z|^2)} \prod_j \frac{\Gamma(j + 2, s)}{\Gamma(j + 2)}
    \sum_{j < k} \frac{s^{j + k}\,|z^j - z^k|^2}{\Gamma(j + 2, s)\,\Gamma(k + 2, s)}\,ds .$$

    For independent levels the density is uniform, `CircularLaw()`. The ratio needs no unfolding. The means of |z| and
    cos arg z are `mean_complex_spacing_ratio(2)`. The integral is tabulated. In float64 density, distribution function
    and quantile of the modulus are right to 1e-13.

    Convention: the limit at a level in the bulk of complex Ginibre matrices. A level at the edge of a spectrum has
    another law; means over all levels at finite n are `mean_complex_spacing_ratio(2, n)`.

    Example:
        >>> law = ComplexSpacingRatio()
        >>> print(f"{law.pdf(-0.5):.4f} {law.pdf(0.5):.4f} {law.radial_ppf(0.5):.4f}")
        0.3628 0.1202 0.7721

    References:
        Sá, Ribeiro and Prosen (2020), Phys. Rev. X 10, 021019; Dusa and Wettig (2022), Phys. Rev. E 105, 044144.
    """

    def _pdf(self, x: Float[Array, "..."], y: Float[Array, "..."]) -> Float[Array, "..."]:
        inside = x**2 + y**2 < 1
        x, y = jnp.where(inside, x, 0), jnp.where(inside, y, 0)
        t = x**2 + y**2
        total, _ = _clenshaw(_modes(t), x, t)
        return t * ((1 - x) ** 2 + y**2) * total

    def _radial_cdf(self, r: Float[Array, "..."]) -> Float[Array, "..."]:
        inside = (r > 0) & (r < 1)
        r = jnp.where(inside, r, jnp.where(r > 0, 1, 0))
        return jnp.where(inside, r**4 * _series("mass", r**2), r)

    def _radial_ppf(self, p: Float[Array, "..."]) -> Float[Array, "..."]:
        inside = (p > 0) & (p < 1)
        root = jnp.sqrt(jnp.where(inside, p, 0.25))
        return jnp.where(inside, jnp.sqrt(root * _series("quantile", root)), jnp.where(p > 0, 1, 0))

    def _sample(self, key: KeyScalar, shape: tuple[int, ...], dtype: jnp.dtype) -> Complex[Array, "..."]:
        key_radius, key_angle, key_side = jax.random.split(key, 3)
        p = jax.random.uniform(key_radius, shape, dtype, minval=jnp.finfo(dtype).tiny)
        share, upper = jax.random.uniform(key_angle, shape, dtype), jax.random.bernoulli(key_side, shape=shape)
        radius = self._radial_ppf(p)
        t = radius**2
        h = [*_modes(t), jnp.zeros_like(t), jnp.zeros_like(t)]
        # The coefficients of |1 - z|² Σ h_m Re z^m, and of its integral over the angle.
        whole = (1 + t) * h[0] - t * h[1]
        parts = [
            ((1 + t) * h[m] - (2 if m == 1 else 1) * h[m - 1] - t * h[m + 1]) / (m * whole)
            for m in range(1, len(h) - 1)
        ]

        def excess(angle: Float[Array, "..."]) -> Float[Array, "..."]:
            """The probability below the angle on the half circle, minus the share."""
            _, over_y = _clenshaw([jnp.zeros_like(t), *parts], radius * jnp.cos(angle), t)
            return (angle + radius * jnp.sin(angle) * over_y) / jnp.pi - share

        angle = bracketed_root(excess, jnp.zeros_like(t), jnp.full_like(t, jnp.pi))
        return jax.lax.complex(radius * jnp.cos(angle), radius * jnp.where(upper, 1, -1) * jnp.sin(angle))
