"""Lévy matrices: symmetric, with independent stable entries of infinite variance."""

from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._promotion import common_dtype
from rmtjax._typing import KeyScalar, RealScalarLike
from rmtjax.ensembles._core.base import AbstractEnsemble
from rmtjax.ensembles._core.symmetric import mirrored
from rmtjax.laws import AbstractLaw
from rmtjax.special.internal import log_one_plus


class Levy(AbstractEnsemble):
    r"""Lévy matrices: real symmetric, with independent symmetric α-stable entries.

    $H_{ij} = H_{ji} = s\,n^{-1/\alpha} X_{ij}$ for i ≤ j with $E e^{itX} = e^{-|t|^\alpha}$, the Cauchy law for
    α = 1. At a fixed key a draw is a smooth function of α.

    Convention: the entries have the scale parameter $s\,n^{-1/\alpha}$ on and off the diagonal, so
    $\operatorname{tr} H$ has the law of $s X$ at every n. As α → 2 they become normal with variance $2 s^2/n$. Because
    $P(|X| > x) \sim \frac{2}{\pi} \Gamma(\alpha) \sin\frac{\pi\alpha}{2}\,x^{-\alpha}$, no moment of order α exists,
    and the largest level is of order $s\,n^{1/\alpha}$. There is no `law()`: the limit has heavy tails and no closed
    form.

    Args:
        n: size of the matrix, n ≥ 1; static.
        alpha: the index α, 0 < α < 2, differentiable. As α → 0 the largest entry, about $n^{1/\alpha}$, overflows, and
            the levels are NaN.
        scale: s > 0, differentiable.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax
        >>> print(Levy(3, alpha=1.5).eigenvalues(jax.random.key(0)).shape)
        (3,)

    References:
        Cizeau and Bouchaud (1994), Phys. Rev. E 50, 1810; Ben Arous and Guionnet (2008), Commun. Math. Phys. 278, 715;
        Chambers, Mallows and Stuck (1976), J. Amer. Statist. Assoc. 71, 340, for the draws.
    """

    n: int = eqx.field(static=True)
    alpha: Annotated[Float[Array, ""], _checks.Rule(lambda a: (a > 0) & (a < 2), "lie in (0, 2)")]
    scale: Annotated[Float[Array, ""], _checks.POSITIVE]

    def __init__(self, n: int, alpha: RealScalarLike, scale: RealScalarLike = 1.0):
        self.n = _checks.integer("n", n, at_least=1)
        self.alpha = _checks.scalar("alpha", alpha)
        self.scale = _checks.scalar("scale", scale, nonzero=True)

    def _sample(self, key: KeyScalar) -> Float[Array, "n n"]:
        dtype = common_dtype(self.alpha, self.scale)
        return self.scale * mirrored(_stable(key, self.alpha, self.n, dtype))

    def _degree_in_scale(self) -> int:
        return 1

    def _law(self) -> AbstractLaw:
        raise NotImplementedError("The limiting law of Lévy matrices has heavy tails and no closed form.")


def _stable(key: KeyScalar, alpha: Float[Array, ""], n: int, dtype: jnp.dtype) -> Float[Array, "n n"]:
    r"""Independent variates $n^{-1/\alpha} X$ by the method of Chambers, Mallows and Stuck.

    $X = \sin(\alpha V)\,(\cos V)^{-1/\alpha}\,[\cos((1 - \alpha) V)/W]^{(1-\alpha)/\alpha}$ with V uniform on
    (-π/2, π/2) and W exponential. At α = 1 this is tan V.
    """
    key_angle, key_sign, key_exponential = jax.random.split(key, 3)
    below, _ = _uniform(key_angle, n, dtype)
    sign = jax.random.rademacher(key_sign, (n, n), dtype)
    # The tails come from the ends of the interval of V, so the distance from an end is drawn, with all its digits.
    angle, cosine = jnp.pi / 2 * (1 - below), jnp.sin(jnp.pi / 2 * below)
    below, above = _uniform(key_exponential, n, dtype)
    exponential = jnp.where(below < above, -log_one_plus(-below), -jnp.log(above))
    ratio = jnp.log(jnp.cos((1 - alpha) * angle)) - jnp.log(exponential)
    # In logarithms the product overflows only where the entry itself does.
    log_size = ((1 - alpha) * ratio - jnp.log(cosine) - jnp.log(jnp.asarray(n, dtype))) / alpha
    return sign * jnp.sin(alpha * angle) * jnp.exp(log_size)


def _uniform(key: KeyScalar, n: int, dtype: jnp.dtype) -> tuple[Float[Array, "n n"], Float[Array, "n n"]]:
    """Uniform variates u and 1 - u, each from all bits of a word: neither is 0, and small numbers keep their digits."""
    bits = jnp.finfo(dtype).bits
    word = jax.random.bits(key, (n, n), f"uint{bits}")
    scaled = lambda w: (w.astype(dtype) + 0.5) * 2.0**-bits
    return scaled(word), scaled(~word)
