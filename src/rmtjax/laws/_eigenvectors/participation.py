"""Means over vectors that are uniform on the sphere: moments of their intensities, and their entropy."""

import jax.numpy as jnp
import scipy  # loads `scipy.special` when it is first used
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._typing import DysonIndex, RealLike
from rmtjax.special.internal import log_gamma_quotient

_WITH_A_MEAN = _checks.Rule(
    lambda q, beta: ((q > -beta / 2) & (abs(q) < float("inf"))).all(), "be finite and above -beta/2"
)


def mean_inverse_participation_ratio(n: int, beta: DysonIndex, q: RealLike = 2.0) -> Float[Array, "..."]:
    r"""Mean of $\sum_i |v_i|^{2q}$ for eigenvectors of invariant ensembles, exactly at every n.

    $$E\,I_q = n\,\frac{\Gamma(\beta/2 + q)\,\Gamma(\beta n/2)}{\Gamma(\beta/2)\,\Gamma(\beta n/2 + q)} .$$

    This is the moment of `EigenvectorIntensity` times $n^{1 - q}$. For q = 2 it is 3/(n + 2) for real, 2/(n + 1) for
    complex, and 3/(2n + 1) for quaternion components. The relative error is within 30 (1 + |q|) ulp.

    Convention: unit vectors of n components; for a quaternion, |v|² is the sum of four squares.

    Args:
        n: number of components, at least 1; static.
        beta: 1, 2 or 4: real, complex or quaternion components; static.
        q: exponents above -β/2, of any shape; differentiable.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> print(f"{mean_inverse_participation_ratio(8, beta=1):.4f} {mean_inverse_participation_ratio(9, 2):.4f}")
        0.3000 0.2000

    References:
        Brody et al. (1981), Rev. Mod. Phys. 53, 385, section VII.A; Haake (2010), Quantum signatures of chaos, chapter
        4.
    """
    n, beta = _checks.integer("n", n, at_least=1), _checks.dyson_index(beta)
    exponents = _checks.real("q", q)
    return _mean(n, jnp.asarray(beta / 2, exponents.dtype), _WITH_A_MEAN("q", exponents, beta))


def mean_participation_entropy(n: int, beta: DysonIndex) -> float:
    r"""Mean of the entropy $-\sum_i |v_i|^2 \log |v_i|^2$ for eigenvectors of invariant ensembles, exactly at every n.

    $$E\,S_1 = \psi\Big(\frac{\beta n}2 + 1\Big) - \psi\Big(\frac\beta2 + 1\Big) .$$

    As n → ∞ it is below log n by 0.7296 (β = 1), 0.4228 (β = 2) or 0.2296 (β = 4).

    Convention: unit vectors of n components; for a quaternion, |v|² is the sum of four squares.

    Args:
        n: number of components, at least 1.
        beta: 1, 2 or 4: real, complex or quaternion components.

    Returns:
        The mean in nats, with all digits of float64.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> print(f"{mean_participation_entropy(3, beta=2):.4f}")  # 1/2 + 1/3
        0.8333

    References:
        Jones (1990), J. Phys. A 23, L1251.
    """
    n, beta = _checks.integer("n", n, at_least=1), _checks.dyson_index(beta)
    return float(scipy.special.digamma(beta * n / 2 + 1) - scipy.special.digamma(beta / 2 + 1))


@compiled
def _mean(n: int, half: Float[Array, ""], q: Float[Array, "..."]) -> Float[Array, "..."]:
    return n * jnp.exp(log_gamma_quotient(half, q) - log_gamma_quotient(n * half, q))
