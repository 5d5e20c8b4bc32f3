"""Wigner's surmise."""

from typing import Annotated

import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._typing import RealScalarLike
from rmtjax.laws._core.generalized_gamma import AbstractGeneralizedGamma
from rmtjax.special.internal import log_gamma_step


class WignerSurmise(AbstractGeneralizedGamma):
    r"""Wigner's surmise, the spacing of the two levels of a 2×2 matrix, for any β.

    $$p(s) = a\,s^\beta e^{-b s^2}, \qquad
    b = \left[\frac{\Gamma(\frac\beta2 + 1)}{\Gamma(\frac{\beta+1}2)}\right]^2, \qquad
    a = \frac{2\,b^{(\beta+1)/2}}{\Gamma(\frac{\beta+1}2)} .$$

    It is exact for Gaussian β-ensembles of two levels. For β = 1, 2 and 4 it is within about 0.01 of `Spacing`, the law
    of large spectra. $b\,s^2$ is a gamma variate of shape (β+1)/2. Logarithms hold to some ten ulp at every finite s,
    and probabilities to this relative error times the size of their logarithm.

    Convention: mean 1, for spacings of an unfolded spectrum. The law of independent levels is `PoissonSpacing`.

    Args:
        beta: a finite β > 0, the exponent of the level repulsion.

    Raises:
        ValueError: `beta` is outside its range.

    Example:
        >>> law = WignerSurmise(beta=1)
        >>> print(f"{law.pdf(1.0):.5f} {law.sf(2.0):.5f} {law.var():.5f}")
        0.71619 0.04321 0.27324

    References:
        Wigner (1957), Conference on Neutron Physics by Time-of-Flight; Mehta (2004), Random Matrices, equation 1.5.1 (β
        = 1); Forrester (2010), Log-gases and random matrices, section 1.8.
    """

    beta: Annotated[Float[Array, ""], _checks.POSITIVE]

    def __init__(self, beta: RealScalarLike):
        self.beta = _checks.scalar("beta", beta, nonzero=True)

    def _shape_power_scale(self) -> tuple[Array, Array | float, Array | float]:
        shape = (self.beta + 1) / 2
        return shape, 2.0, jnp.exp(-log_gamma_step(shape))
