"""The abstract law of complex eigenvalues: every public method, defined once, and the hooks of a planar law."""

from abc import abstractmethod

import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float

from rmtjax import _checks
from rmtjax._promotion import common_dtype
from rmtjax._typing import KeyScalar, RealLike
from rmtjax._units import times
from rmtjax.laws._core.scaled import AbstractScaledLaw
from rmtjax.special.internal import logarithm


class AbstractPlanarLaw(AbstractScaledLaw):
    """A probability distribution in the complex plane with a density.

    A subclass defines `_pdf`, `_radial_cdf`, `_radial_ppf` and `_sample`. The public methods are final. NaN arguments
    give NaN. Results have the dtype of the argument, promoted with the dtype of the parameters; Python numbers as
    parameters do not change it.
    """

    @abstractmethod
    def _pdf(self, x: Float[Array, "..."], y: Float[Array, "..."]) -> Float[Array, "..."]:
        """Density at x + iy, 0 outside the support."""

    def _logpdf(self, x: Float[Array, "..."], y: Float[Array, "..."]) -> Float[Array, "..."]:
        return logarithm(self._pdf(x, y))

    @abstractmethod
    def _radial_cdf(self, r: Float[Array, "..."]) -> Float[Array, "..."]:
        """Mass of the disc of radius r; 0 for r ≤ 0."""

    @abstractmethod
    def _radial_ppf(self, p: Float[Array, "..."]) -> Float[Array, "..."]:
        """Radius of the disc of mass p in [0, 1]."""

    @abstractmethod
    def _sample(self, key: KeyScalar, shape: tuple[int, ...], dtype: jnp.dtype) -> Complex[Array, "..."]:
        """Independent draws of the complex dtype that has the precision of the given dtype."""

    def pdf(self, z: RealLike) -> Float[Array, "..."]:
        """Probability density per unit area at each z, 0 outside the support.

        Args:
            z: complex or real points of any shape.
        """
        return self._run(self._promised_pdf, *_parts(z))

    def logpdf(self, z: RealLike) -> Float[Array, "..."]:
        """Logarithm of the density; -inf where the density is 0."""
        return self._run(self._promised_logpdf, *_parts(z))

    def radial_cdf(self, r: RealLike) -> Float[Array, "..."]:
        """Distribution function of the modulus, P(|Z| ≤ r)."""
        return self._run(self._promised_radial_cdf, _checks.real("r", r))

    def radial_ppf(self, p: RealLike) -> Float[Array, "..."]:
        """Quantile of the modulus, the radius r with P(|Z| ≤ r) = p; NaN for p outside [0, 1]."""
        return self._run(self._promised_radial_ppf, _checks.real("p", p))

    def sample(self, key: KeyScalar, shape: int | tuple[int, ...] = ()) -> Complex[Array, "..."]:
        """Independent draws.

        Args:
            key: a typed key.
            shape: shape of the array of draws; an integer gives a vector of that length.
        """
        return self._run(self._promised_sample, _checks.typed_key(key), shape=_checks.shape(shape))

    # As in `AbstractLaw`, these methods call the hooks of the law in its own unit.

    def _promised_pdf(self, x: Float[Array, "..."], y: Float[Array, "..."]) -> Float[Array, "..."]:
        law, unit = self._in_unit()
        density = law._pdf(x * (1 / unit), y * (1 / unit)) * (1 / unit) * (1 / unit)
        return jnp.where(jnp.isnan(x) | jnp.isnan(y), jnp.nan, density)

    def _promised_logpdf(self, x: Float[Array, "..."], y: Float[Array, "..."]) -> Float[Array, "..."]:
        law, unit = self._in_unit()
        density = law._logpdf(x * (1 / unit), y * (1 / unit)) - 2 * jnp.log(unit)
        return jnp.where(jnp.isnan(x) | jnp.isnan(y), jnp.nan, density)

    def _promised_radial_cdf(self, r: Float[Array, "..."]) -> Float[Array, "..."]:
        law, unit = self._in_unit()
        return jnp.where(jnp.isnan(r), r, law._radial_cdf(r * (1 / unit)))

    def _promised_radial_ppf(self, p: Float[Array, "..."]) -> Float[Array, "..."]:
        law, unit = self._in_unit()
        return jnp.where((p >= 0) & (p <= 1), law._radial_ppf(jnp.clip(p, 0, 1)) * unit, jnp.nan)

    def _promised_sample(self, key: KeyScalar, *, shape: tuple[int, ...]) -> Complex[Array, "..."]:
        law, unit = self._in_unit()
        return times(law._sample(key, shape, common_dtype(*jax.tree.leaves(self))), unit)


def _parts(z: RealLike) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    z = _checks.numbers("z", z)
    return z.real, z.imag


def polar_sample(key: KeyScalar, shape: tuple[int, ...], dtype: jnp.dtype) -> tuple[Array, Array, Array]:
    """Cosine and sine of a uniform angle, and an independent uniform variate on (0, 1)."""
    key_angle, key_uniform = jax.random.split(key)
    angle = jax.random.uniform(key_angle, shape, dtype, minval=-jnp.pi, maxval=jnp.pi)
    uniform = jax.random.uniform(key_uniform, shape, dtype, minval=jnp.finfo(dtype).tiny)
    return jnp.cos(angle), jnp.sin(angle), uniform
