r"""The surmise for spacings from the GOE to the GUE.

Derivation. The levels of a 2×2 matrix $S + i\epsilon A$ are at a distance $\sigma \sqrt{a^2 + b^2 + \epsilon^2 c^2}$,
with independent standard normal numbers a, b and c. Let $t = s/\sigma$, $r = \sqrt{1 - \epsilon^2}$ and $y =
rt/\sqrt2\,\epsilon$. The integral over the directions gives

$$\sigma p(s) = \frac tr\,e^{-t^2/2}\,\mathrm{erf}\,y, \qquad
P(S > s) = e^{-t^2/2} \left[\frac{\mathrm{erf}\,y}r + e^{-y^2} \mathrm{erfcx}\frac t{\sqrt2\,\epsilon}\right],$$

and the mean is 1 for $1/\sigma = \sqrt{2/\pi}\,[\epsilon + \arccos(\epsilon)/r]$. Near 0 the complement of this tail
has no digits. There the density is integrated as long as y is not large. Where erf y is 1, the distribution function is

$$P(S \le s) = (1 - e^{-t^2/2}) - \frac{\epsilon^2}{r (1 + r)}\,e^{-t^2/2}, \qquad \epsilon \ll t .$$
"""

import math
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._promotion import aligned, like
from rmtjax._typing import KeyScalar, RealScalarLike
from rmtjax.laws._core import positive_axis
from rmtjax.laws._core.log_space import AbstractLogarithmicLaw
from rmtjax.special.internal import erf_ratio, erfcx, exp_slope, gauss_legendre, log_one_minus_exp

# From this y on erf y is 1 to all digits. Below it a rule of so many nodes integrates the density.
_LARGE, _NUM_NODES = 6.5, 40
# Number of terms of the series of arcsin(r)/r, which is used up to r² = 1/4.
_NUM_TERMS = 24


class CrossoverSurmise(AbstractLogarithmicLaw):
    r"""The surmise for spacings while time-reversal symmetry is broken, from the GOE to the GUE.

    $$p(s) = \frac{s}{\sigma^2 r}\,e^{-s^2/2\sigma^2}\,\mathrm{erf}\frac{r s}{\sqrt2\,\epsilon\sigma}, \qquad
    r = \sqrt{1 - \epsilon^2}, \qquad
    \frac1\sigma = \sqrt{\frac2\pi} \left[\epsilon + \frac{\arccos \epsilon}r\right] .$$

    It is exact for the two levels of $S + i\epsilon A$, where S is a `GOE(2)` and A is antisymmetric, of the same
    variance off the diagonal. ε = 0 is `WignerSurmise(1)` and ε = 1 is `WignerSurmise(2)`. Levels repel quadratically
    for every ε > 0. In large spectra a perturbation of order $\epsilon \sim 1/\sqrt n$ breaks the symmetry, and ε is to
    be fitted. All formulas hold to some ten ulp, both tails in relative error.

    Convention: mean 1.

    Args:
        coupling: ε in [0, 1].

    Raises:
        ValueError: `coupling` is outside its range.

    Example:
        >>> law = CrossoverSurmise(coupling=0.25)
        >>> print(f"{law.pdf(0.1):.5f} {law.pdf(1.0):.5f} {law.sf(2.0):.5f}")
        0.06459 0.74703 0.03787

    References:
        Lenz and Haake (1990), Phys. Rev. Lett. 65, 2325.
    """

    coupling: Annotated[Float[Array, ""], _checks.Rule(lambda e: (e >= 0) & (e <= 1), "lie in [0, 1]")]

    def __init__(self, coupling: RealScalarLike):
        self.coupling = _checks.scalar("coupling", coupling)

    def _root(self) -> Float[Array, ""]:
        """The number r, for ε below 0.9; its derivative at ε = 1 is infinite."""
        return jnp.sqrt(jnp.where(self.coupling < 0.9, 1 - self.coupling**2, 0.19))

    def _unit(self) -> Float[Array, ""]:
        """The number σ."""
        square = 1 - self.coupling**2
        near = jnp.where(square < 0.25, square, 0)
        series = jnp.zeros_like(near)
        for k in range(_NUM_TERMS, -1, -1):
            series = series * near + math.comb(2 * k, k) / (4**k * (2 * k + 1))
        root = jnp.sqrt(jnp.where(square < 0.25, 0.25, square))
        angle = jnp.where(square < 0.25, series, jnp.arctan2(root, jnp.where(square < 0.25, 0.5, self.coupling)) / root)
        return math.sqrt(math.pi / 2) / (self.coupling + angle)

    def _support(self) -> tuple[Array, Array]:
        return 0 * self.coupling, jnp.inf + 0 * self.coupling

    def _breakpoints(self) -> Float[Array, " k"]:
        # At every ε the density has a hole of width ε at 0.
        return jnp.append(0 * self.coupling, like(self.coupling, 48 * 2.0 ** np.arange(-24, 1)) + 0 * self.coupling)

    def _pdf_at_ends(self) -> tuple[Array | float, Array | float]:
        return 0.0, 0.0

    def _saturated(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        """Whether erf y is 1 to all digits."""
        e = self.coupling
        return (e < 0.9) & (t * self._root() > _LARGE * math.sqrt(2) * e)

    def _slopes(self, t: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """The square of y, and z = t/√2 ε, where y is not large, so that ε is not tiny against t."""
        saturated = self._saturated(t)
        e = jnp.where(saturated, 1, self.coupling)
        z = jnp.where(saturated, 1, t) / (math.sqrt(2) * e)
        return (1 - e**2) * z**2, z

    def _logpdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        t = x / self._unit()
        square, z = self._slopes(t)
        factor = jnp.where(self._saturated(t), -jnp.log(self._root()), jnp.log(z * erf_ratio(square)))
        return jnp.log(t) - jnp.log(self._unit()) - t**2 / 2 + factor

    def _logsf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        t = x / self._unit()
        far = t > 1
        s = jnp.where(far, t, 1)
        square, z = self._slopes(s)
        bracket = jnp.log(z * erf_ratio(square) + jnp.exp(-square) * erfcx(z))
        tail = jnp.where(self._saturated(s), -jnp.log(self._root()), bracket)
        return jnp.where(far, tail - s**2 / 2, log_one_minus_exp(self._lower(jnp.where(far, 1, t))))

    def _logcdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        t = x / self._unit()
        far = t > 1
        above = self._logsf(jnp.where(far, x, 2 * self._unit()))
        return jnp.where(far, log_one_minus_exp(above), self._lower(jnp.where(far, 1, t)))

    def _lower(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        """The logarithm of the distribution function for t ≤ 1."""
        nodes, weights = (jnp.asarray(each, t.dtype) for each in gauss_legendre(_NUM_NODES))
        v = (nodes + 1) / 2
        square, z = self._slopes(t)
        points, squares, v = aligned(t[..., None], square[..., None], v)
        density = v**2 * jnp.exp(-((points * v) ** 2) / 2) * erf_ratio(squares * v**2)
        near = jnp.log(z) + jnp.log(density @ weights / 2)
        r, half = self._root(), t**2 / 2
        ratio = jnp.where(self._saturated(t), self.coupling / t, 0)
        saturated = jnp.log(exp_slope(-half) / 2 - ratio**2 / (r * (1 + r)) * jnp.exp(-half))
        return 2 * jnp.log(t) + jnp.where(self._saturated(t), saturated, near)

    def _ppf(self, p: Float[Array, "..."], q: Float[Array, "..."]) -> Float[Array, "..."]:
        return positive_axis.ppf(self, p, q, 64 + 0 * self.coupling)

    def _sample(self, key: KeyScalar, shape: tuple[int, ...]) -> Float[Array, "..."]:
        x, y, z = jax.random.normal(key, (3, *shape), jnp.result_type(self.coupling))
        return self._unit() * jnp.sqrt(x**2 + y**2 + (self.coupling * z) ** 2)

    def _moment(self, k: int) -> Float[Array, ""]:
        if k == 2:
            return self._unit() ** 2 * (2 + self.coupling**2)
        return self.coupling**0 if k < 2 else super()._moment(k)
