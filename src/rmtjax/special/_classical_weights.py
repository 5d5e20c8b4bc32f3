r"""The classical weights on the line, with the properties that level densities need.

A weight w has mass 1, and its orthonormal polynomials $p_k$, with positive leading coefficients, satisfy

$$b_{k+1} p_{k+1} = (x - a_k)\,p_k - b_k p_{k-1} .$$

With $f = 1$, $x$ or $x(1 - x)$ and $\varphi_k = \sqrt w\,p_k$ all three weights satisfy the skew relation

$$\sqrt f\,(\sqrt f \varphi_k)' = c_{k-1} \varphi_{k-1} - c_k \varphi_{k+1}, \qquad c_k = \kappa_k b_{k+1}$$

(Adler, Forrester, Nagao and van Moerbeke 2000, arXiv:solv-int/9907001), and $\varphi_k$ oscillates
or decays as $\exp \int \sqrt{-Q}/f$ with a quadratic Q.

Everything here runs either on the host, in NumPy, or on a device: `xp` is `numpy` or `jax.numpy`.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar

import jax.scipy.special as on_device
import numpy as np
import scipy  # loads `scipy.special` when it is first used

Values = Any  # a NumPy or JAX array


def functions(xp: ModuleType) -> ModuleType:
    """The special functions of SciPy or of JAX, for arrays of `xp`."""
    return scipy.special if xp is np else on_device


@dataclass(frozen=True)
class AbstractWeight(ABC):
    """A classical weight on an interval between two `ends`, static and hashable."""

    ends: ClassVar[tuple[float, float]]

    @abstractmethod
    def recurrence(self, m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The coefficients $a_k$, $b_k$ (with $b_0 = 0$) and κ_k for k < m."""

    @abstractmethod
    def log_density(self, xp: ModuleType, x: Values) -> Values:
        """The logarithm of w."""

    @abstractmethod
    def factor(self, x: Values) -> tuple[Values, Values]:
        """The value of f and its derivative."""

    @abstractmethod
    def well(self, m: int) -> tuple[float, float, float]:
        r"""The coefficients of 1, x and x² in Q for $\varphi_m$."""

    @abstractmethod
    def half_mass(self, xp: ModuleType, x: Values) -> Values:
        r"""The integral of $\sqrt{w/f}$ below x minus the integral above x, divided by `half_total`."""

    @abstractmethod
    def half_total(self) -> float:
        r"""The integral of $\sqrt{w/f}$ over the whole interval."""

    @abstractmethod
    def power(self) -> int:
        """The exponent of the distance from the lower end in w; 0 if that end is infinite."""


@dataclass(frozen=True)
class HermiteWeight(AbstractWeight):
    r"""The weight $e^{-x^2}/\sqrt\pi$."""

    ends = (-math.inf, math.inf)

    def power(self) -> int:
        return 0

    def recurrence(self, m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        k = np.arange(m)
        return np.zeros(m), np.sqrt(k / 2), np.ones(m)

    def log_density(self, xp: ModuleType, x: Values) -> Values:
        return -(x**2) - math.log(math.pi) / 2

    def factor(self, x: Values) -> tuple[Values, Values]:
        return 1 + 0 * x, 0 * x

    def well(self, m: int) -> tuple[float, float, float]:
        return 2 * m + 1, 0.0, -1.0

    def half_mass(self, xp: ModuleType, x: Values) -> Values:
        return functions(xp).erf(x / math.sqrt(2))

    def half_total(self) -> float:
        return (4 * math.pi) ** 0.25


@dataclass(frozen=True)
class LaguerreWeight(AbstractWeight):
    r"""The weight $x^a e^{-x}/\Gamma(a + 1)$."""

    a: int

    ends = (0.0, math.inf)

    def power(self) -> int:
        return self.a

    def recurrence(self, m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        k = np.arange(m)
        return 2.0 * k + self.a + 1, np.sqrt(k * (k + float(self.a))), np.full(m, 0.5)

    def log_density(self, xp: ModuleType, x: Values) -> Values:
        if not self.a:
            return -x
        return self.a * _log_quotient(xp, x, self.a) - (x - self.a) + _log_height(self.a)

    def factor(self, x: Values) -> tuple[Values, Values]:
        return x, 1 + 0 * x

    def well(self, m: int) -> tuple[float, float, float]:
        return -(self.a**2) / 4, (2 * m + self.a + 1) / 2, -0.25

    def half_mass(self, xp: ModuleType, x: Values) -> Values:
        return 2 * functions(xp).gammainc((self.a + 1) / 2, x / 2) - 1

    def half_total(self) -> float:
        # The duplication formula avoids the difference of large logarithms.
        return math.sqrt(2 * math.sqrt(math.pi) / scipy.special.poch((self.a + 1) / 2, 0.5))


@dataclass(frozen=True)
class JacobiWeight(AbstractWeight):
    r"""The weight $x^a (1 - x)^b/B(a + 1, b + 1)$."""

    a: int
    b: int

    ends = (0.0, 1.0)

    def power(self) -> int:
        return self.a

    def recurrence(self, m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        a, b, k = float(self.a), float(self.b), np.arange(m, dtype=float)
        total = 2 * k + a + b
        # For k = 0 and 1, numerator and denominator have a common factor that vanishes for a + b = 0; it is cancelled.
        centre = np.where(k == 0, (a - b) / (a + b + 2), (a - b) * (a + b) / np.maximum(total, 1) / (total + 2))
        cancelled = np.where(k <= 1, 1, (k + a + b) / np.maximum(total - 1, 1))
        squared = k * (k + a) * (k + b) * cancelled / np.maximum(total, 1) ** 2 / (total + 1)
        return (1 + centre) / 2, np.sqrt(squared), total / 2 + 1

    def log_density(self, xp: ModuleType, x: Values) -> Values:
        a, b = self.a, self.b
        logarithm = math.log(a + b + 1) + _log_height(a) + _log_height(b) - _log_height(a + b)
        # The powers are taken relative to the peak of the weight: otherwise large exponents a, b give large terms.
        logarithm += a * _log_quotient(xp, x, a / (a + b)) if a else 0
        return logarithm + (b * _log_quotient(xp, 1 - x, b / (a + b)) if b else 0)

    def factor(self, x: Values) -> tuple[Values, Values]:
        return x * (1 - x), 1 - 2 * x

    def well(self, m: int) -> tuple[float, float, float]:
        squared = (m + (self.a + self.b + 1) / 2) ** 2
        return -(self.a**2) / 4, squared + (self.a**2 - self.b**2) / 4, -squared

    def half_mass(self, xp: ModuleType, x: Values) -> Values:
        return 2 * functions(xp).betainc((self.a + 1) / 2, (self.b + 1) / 2, x) - 1

    def half_total(self) -> float:
        p, q = (self.a + 1) / 2, (self.b + 1) / 2
        halves = scipy.special.poch(p + q, 0.5) / (scipy.special.poch(p, 0.5) * scipy.special.poch(q, 0.5))
        return math.sqrt(2 * math.sqrt(math.pi) * halves)


def _log_quotient(xp: ModuleType, x: Values, peak: float) -> Values:
    """The logarithm of x/peak, free of the rounding of the quotient where it is near 1."""
    near = abs(x - peak) < peak / 2
    return xp.where(near, xp.log1p(xp.where(near, x - peak, 0) / peak), xp.log(x / peak))


def _log_height(a: int) -> float:
    r"""The logarithm of $a^a e^{-a}/a!$."""
    if a < 16:
        return a * math.log(max(a, 1)) - a - math.lgamma(a + 1)
    # Stirling's series, in which nothing large is subtracted.
    series = (1 / 12 - (1 / 360 - (1 / 1260 - 1 / 1680 / a**2) / a**2) / a**2) / a
    return -math.log(2 * math.pi * a) / 2 - series
