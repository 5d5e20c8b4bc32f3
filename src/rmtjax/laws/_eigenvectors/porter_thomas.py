"""Laws of the components of eigenvectors."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._promotion import like
from rmtjax._typing import DysonIndex, KeyScalar
from rmtjax.laws._core import positive_axis
from rmtjax.laws._core.generalized_gamma import AbstractGeneralizedGamma
from rmtjax.laws._core.log_space import AbstractLogarithmicLaw
from rmtjax.random import gamma
from rmtjax.special.internal import log_beta_density, log_beta_tails


class PorterThomas(AbstractGeneralizedGamma):
    r"""The law of Porter and Thomas, for a component of an eigenvector of a large random matrix.

    $$p(x) = \frac{(\beta/2)^{\beta/2}}{\Gamma(\beta/2)}\,x^{\beta/2 - 1} e^{-\beta x/2}, \qquad x > 0 .$$

    The product βx has the χ² law with β degrees of freedom. The mean is 1 and the variance 2/β. All formulas hold to
    some ten ulp, the tails in relative error. For β = 1 the density diverges at 0.

    Convention: the law of $n |v_i|^2$ as n → ∞ for a unit vector v; for a quaternion, |v|² is the sum of four squares.
    `EigenvectorIntensity` is the law at finite n.

    Args:
        beta: 1, 2 or 4: real, complex or quaternion components; static.

    Raises:
        ValueError: `beta` is outside its range.

    Example:
        >>> print(f"{PorterThomas(beta=1).sf(4.0):.5f} {PorterThomas(beta=2).sf(4.0):.5f}")
        0.04550 0.01832

    References:
        Porter and Thomas (1956), Phys. Rev. 104, 483; Haake (2010), Quantum signatures of chaos, chapter 4.
    """

    beta: DysonIndex = eqx.field(static=True)

    def __init__(self, beta: DysonIndex):
        self.beta = _checks.dyson_index(beta)

    def _shape_power_scale(self) -> tuple[Array, Array | float, Array | float]:
        return jnp.asarray(self.beta / 2), 1.0, 2 / self.beta

    def _pdf_at_ends(self) -> tuple[Array | float, Array | float]:
        return (1.0 if self.beta == 2 else 0.0), 0.0


class EigenvectorIntensity(AbstractLogarithmicLaw):
    r"""The law of a component of an eigenvector of an n×n matrix from an invariant ensemble.

    For v uniform on the unit sphere, $y = |v_i|^2 = x/n$ is a beta variate,

    $$p(x) = \frac{y^{\beta/2 - 1} (1 - y)^{\beta(n-1)/2 - 1}}{n\,B(\beta/2, \beta(n-1)/2)}, \qquad 0 < x < n .$$

    The mean is 1 and the variance $2(n-1)/(\beta n + 2)$. The law tends to `PorterThomas(beta)` as n → ∞. All formulas
    hold to some ten ulp, the tails in relative error.

    Convention: the law of $n |v_i|^2$ for a unit vector v.

    Args:
        n: number of components, at least 2; static.
        beta: 1, 2 or 4: real, complex or quaternion components; static.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> law = EigenvectorIntensity(n=10, beta=2)
        >>> print(f"{law.sf(4.0):.5f} {law.var():.5f}")
        0.01008 0.81818

    References:
        Brody et al. (1981), Rev. Mod. Phys. 53, 385, section VII.A; Haake (2010), Quantum signatures of chaos, chapter
        4.
    """

    n: int = eqx.field(static=True)
    beta: DysonIndex = eqx.field(static=True)

    def __init__(self, n: int, beta: DysonIndex):
        self.n = _checks.integer("n", n, at_least=2)
        self.beta = _checks.dyson_index(beta)

    def _parameters(self) -> tuple[Array, Array]:
        """The parameters of the beta law of x/n."""
        return jnp.asarray(self.beta / 2), jnp.asarray(self.beta * (self.n - 1) / 2)

    def _beta_variate(self, x: Float[Array, "..."]) -> tuple[Array, Array, Array, Array, Array]:
        """The two parameters of the beta law; at x the beta variate, its complement to 1, and its logarithm."""
        y = x / self.n
        return *self._parameters(), y, (self.n - x) / self.n, jnp.log(y)

    def _support(self) -> tuple[Array, Array]:
        return jnp.asarray(0.0), jnp.asarray(float(self.n))

    def _breakpoints(self) -> Float[Array, " k"]:
        # The panels shrink towards 0, where the mass lies for large n.
        lower, upper = self._support()
        return jnp.append(lower, upper * like(upper, 2.0 ** np.arange(-self.n.bit_length(), 1)))

    def _pdf_at_ends(self) -> tuple[Array | float, Array | float]:
        # At an end where the exponent of y or of 1 - y is 0, the density is finite and not 0.
        at_lower = (self.n - 1) / self.n if self.beta == 2 else 0.0
        return at_lower, (self.beta / (2 * self.n) if self.beta * (self.n - 1) == 2 else 0.0)

    def _logpdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return log_beta_density(*self._beta_variate(x)) - jnp.log(x) - jnp.log((self.n - x) / self.n)

    def _logcdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return log_beta_tails(*self._beta_variate(x))[0]

    def _logsf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return log_beta_tails(*self._beta_variate(x))[1]

    def _ppf(self, p: Float[Array, "..."], q: Float[Array, "..."]) -> Float[Array, "..."]:
        return positive_axis.ppf(self, p, q, float(self.n))

    def _sample(self, key: KeyScalar, shape: tuple[int, ...]) -> Float[Array, "..."]:
        dtype = jnp.result_type(float)
        one, rest = (
            gamma(k, a.astype(dtype), shape) for k, a in zip(jax.random.split(key), self._parameters(), strict=True)
        )
        return self.n * (one / (one + rest))

    def _moment(self, k: int) -> Float[Array, ""]:
        a, b = self._parameters()
        j = jnp.arange(float(k))
        return jnp.prod(self.n * (a + j) / (a + b + j))

    def _var(self) -> Float[Array, ""]:
        return jnp.asarray(2 * (self.n - 1) / (self.beta * self.n + 2))

    def _central_moments(self, *orders: int) -> tuple[Float[Array, ""], ...]:
        a, b = self.beta / 2, self.beta * (self.n - 1) / 2
        total, moments = a + b, [1.0, 0.0]
        for j in range(1, max(orders)):
            step = (b - a) / total * moments[j] + a / total * (b / total) * moments[j - 1]
            moments.append(j / (total + j) * step)
        return tuple(jnp.asarray(self.n**k * moments[k]) for k in orders)
