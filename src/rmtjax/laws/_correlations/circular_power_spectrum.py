r"""Power spectrum of n levels on the circle, as a signal in discrete time.

Derivation. Let the levels have unit density, let $T_d$ be the distance from a level to the d-th level after it,
$V_d = E\,T_d^2$ and $z = e^{i\omega}$ with $z^n = 1$. On the circle the spacings are stationary, so $C_d = E\,s_1 s_{1
+ d} = \tfrac12(V_{d+1} - 2V_d + V_{d-1})$, plus n at d = 0, and $E\,T_{n-d} = n - E\,T_d = n - d$. Summation by parts
gives $f = \sum_d C_d z^d = n + (\cos\omega - 1)[\mathrm{Re} \sum_d V_d z^d + n^2/2]$.

Let $D(z; s) = E\,z^{N(s)}$ for the number N of levels in an arc of length s. The densities p of the distances are
$\sum_d z^{d-1} p_d(s) = D''(z; s)/(1 - z)^2$. With $D(z; n - s) = D(\bar z; s)$ two integrations by parts leave

$$S(\omega) = \frac f{4 \sin^2(\omega/2)}
= \frac1{2 \sin^2(\omega/2)} \int_0^{n/2} \mathrm{Re}\,D(e^{i\omega}; s)\,ds .$$

D is a determinant for β = 2, $D = D_+ D_-$ with $D_\pm(z) = \det(1 - (1 - z) K_\pm)$ for the kernel $S_n$ on even and
on odd functions on the arc. For β = 1 and 4 (Mehta 2004, sections 11.3 and 11.5)

$$D_1(z) = \frac{D_+(z^2) + z D_-(z^2)}{1 + z}, \qquad D_4(z; s) = \tfrac12 [D_+(z) + D_-(z)]_{2n, 2s} .$$

At z = -1 this $D_1$ is 0/0. With the eigenvalues $\lambda_\pm$ and $a_j, b_j = 1 - (1 - z^2) \lambda_{\pm, j}$ it is

$$D_1 = D_+ + z (1 - z) \sum_j a_1 \cdots a_{j-1} (\lambda_{+,j} - \lambda_{-,j})\,b_{j+1} \cdots .$$
"""

import functools
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._promotion import aligned, like
from rmtjax._typing import DysonIndexOrZero, RealLike
from rmtjax._varying import varying_like
from rmtjax.special.internal import gauss_legendre


def circular_power_spectrum(waves: RealLike, n: int, beta: DysonIndexOrZero) -> Float[Array, "..."]:
    r"""Power spectrum of the deviations of n levels on the circle from a picket fence, exactly.

    For the n spacings s in units of their mean, and ω = 2πk/n,

    $$S(\omega) = \frac1{4 n \sin^2(\omega/2)} E \Big|\sum_{l=1}^n s_l\,e^{i\omega l}\Big|^2
    = \frac1{2 \sin^2(\omega/2)} \int_0^{n/2} \mathrm{Re}\,E\,e^{i\omega N(s)}\,ds$$

    with the number N(s) of levels in an arc of length s. For many levels it tends to a function of ω, with an error of
    order 1/n². For small ω this limit is near $1/(\beta \pi \omega)$. For independent levels, β = 0, S is
    $\frac n{n + 1} \frac1{4 \sin^2(\omega/2)}$. The absolute error is some n ulp of S.

    Convention: density $\propto \prod_{j<k} |e^{i\theta_j} - e^{i\theta_k}|^\beta$, as for `COE`, `CUE` and `CSE`; at
    β = 4 each pair of equal levels counts as one.

    Args:
        waves: integers k from 1 to n - 1, of any real type; other numbers give NaN. Derivatives are 0.
        n: number of levels, at least 2; static. The first call takes O(n⁴): 0.1 s for n = 100.
        beta: 0, 1, 2 or 4; static.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> print([f"{s:.4f}" for s in circular_power_spectrum([1, 2, 3], n=4, beta=2)])
        ['0.1006', '0.0671', '0.1006']

    References:
        Riser, Osipov and Kanzieper (2017), Phys. Rev. Lett. 118, 204101, for β = 2; Riser, Osipov and Kanzieper (2020),
        Ann. Phys. 413, 168065, in more detail.
    """
    n, beta = _checks.integer("n", n, at_least=2), _checks.dyson_index(beta, DysonIndexOrZero)
    k = _checks.real("waves", waves)
    length, lengths, even, odd = (jnp.asarray(each, k.dtype) for each in (n, *_eigenvalues(2 * n if beta == 4 else n)))
    return _power_spectrum(k, length, lengths, even, odd, beta)


@functools.partial(compiled, static_argnums=5)
def _power_spectrum(
    waves: Float[Array, "..."], n: Float[Array, ""], weights: Array, even: Array, odd: Array, beta: int
) -> Float[Array, "..."]:
    k = jax.lax.stop_gradient(waves)
    valid = (k >= 1) & (k <= n - 1) & (jnp.round(k) == k)
    half = jnp.pi / n * jnp.where(valid, jnp.minimum(k, n - k), 1)  # ω/2 in (0, π/2]
    if beta == 0:
        integral = n / (n + 1) / 2
    else:
        turn = jnp.exp(jax.lax.complex(jnp.zeros_like(half), half))[..., None]
        z = turn**2
        # The numbers 1 - z and 1 - z², without cancellation for small ω.
        gap = -2j * like(z, jnp.sin(half)[..., None]) * turn
        lost = gap * (1 + z) if beta == 1 else gap

        def factor(state: tuple[Array, Array, Array], pair: Sequence[Array]) -> tuple[tuple, None]:
            plus, minus, difference = state
            pair = [jax.lax.broadcast_to_rank(like(z, each), z.ndim) for each in pair]
            a, b = (1 - lost * each for each in pair)
            return (plus * a, minus * b, difference * b + plus * (pair[0] - pair[1])), None

        one = varying_like(jnp.ones(jnp.broadcast_shapes(z.shape, weights.shape), z.dtype), z)
        (plus, minus, difference), _ = jax.lax.scan(factor, (one, one, 0 * one), (even, odd))
        if beta == 1:
            generating = plus + z * gap * difference
        else:
            generating = plus * minus if beta == 2 else (plus + minus) / 2
        integral = jnp.sum(jnp.multiply(*aligned(weights, generating.real)), axis=-1) / (2 if beta == 4 else 1)
    return jnp.where(valid, integral / (2 * jnp.sin(half) ** 2), jnp.nan)


@functools.cache
def _eigenvalues(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Weights of a rule on (0, n/2), and the eigenvalues of the kernel on even and odd functions at its nodes.

    The determinant is a sum of waves $e^{i(\omega + 2\pi j)s}$, whose amplitudes fall as s to the power
    $-(\omega + 2\pi j)^2/2\pi^2$. Some 1.2 n nodes are enough for the waves with $|\omega + 2\pi j| \le 3\pi$.
    """
    nodes, weights = gauss_legendre(n + n // 4 + 40)
    p = (np.arange(n) - (n - 1) / 2)[n // 2 :]  # not negative
    share = np.where(p == 0, 0.5**0.5, 1)
    even, odd = [], []
    for fraction in (1 + np.asarray(nodes)) / 4:
        kernel = lambda q, fraction=fraction: fraction * np.sinc(fraction * q)
        difference, total = kernel(p[:, None] - p), kernel(p[:, None] + p)
        even.append(np.linalg.eigvalsh(share[:, None] * share * (difference + total)))
        odd.append(np.linalg.eigvalsh(difference - total))
    # For an odd n the constant has no partner among the odd functions; its row there is 0.
    return n / 4 * np.asarray(weights), np.array(even).T, np.array(odd).T
