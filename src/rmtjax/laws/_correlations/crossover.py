r"""Form factor of the crossover from the GOE to the GUE.

Derivation. In units of the mean spacing the cluster function of Pandey and Mehta is

$$Y_2(r) = \Big(\frac{\sin \pi r}{\pi r}\Big)^2
- \frac1{\pi^2} \int_0^\pi k\,e^{2\Lambda k^2} \sin kr\,dk
\int_\pi^\infty \frac{\sin k'r}{k'}\,e^{-2\Lambda k'^2}\,dk' .$$

In the Fourier transform at $2\pi\tau$ the products of sines leave $k' \pm k = 2\pi\tau$, and with $k' = \pi x$ both
signs are one integral, over x from $\max(1, 2\tau - 1)$ to $2\tau + 1$.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._promotion import aligned
from rmtjax._typing import RealLike
from rmtjax.special.internal import gauss_laguerre, gauss_legendre

# Up to this exponent the exponential is integrated by a Gauss-Legendre rule. Beyond, it has decayed at the far end.
_DECAY = 40.0
_NUM_NODES = 40


def crossover_form_factor(times: RealLike, coupling: RealLike) -> Float[Array, "..."]:
    r"""Spectral form factor in the bulk while time-reversal symmetry is broken: from the GOE to the GUE.

    $$K(\tau) = \min(\tau, 1) + \frac12 \int_{\max(1, 2\tau - 1)}^{2\tau + 1}
    \Big(1 - \frac{2\tau}x\Big)\,e^{-8\pi^2 \Lambda\tau (x - \tau)}\,dx$$

    for τ ≥ 0, and K is even in τ. Λ = 0 gives `form_factor(times, 1)`. For large Λ it tends to `form_factor(times, 2)`.
    The symmetry is broken once Λ is of order 0.1. At short times the second term is $\tau e^{-8\pi^2\Lambda\tau}$. The
    error is a few ulp.

    Convention: τ is in units of the Heisenberg time, 2π times the density of the levels (ħ = 1). For a real symmetric
    matrix plus an imaginary antisymmetric one with elements of variance v², $\Lambda = v^2/D^2$, where D is the mean
    spacing of the levels. For $S + i\epsilon A$ with S a `GOE(n)` and A of the same variance off the diagonal, Λ is
    $n\epsilon^2/\pi^2$ in the middle of the spectrum.

    Args:
        times: τ, any real numbers.
        coupling: a finite Λ ≥ 0, broadcast against `times`.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> print(crossover_form_factor(0.5, jnp.array([0.0, 0.02, 1.0])).round(5))
        [0.65343 0.56412 0.5    ]

    References:
        Pandey and Mehta (1983), Commun. Math. Phys. 87, 449; Mehta (2004), Random Matrices, chapter 14.
    """
    times = _checks.real("times", times)
    coupling = _checks.NONNEGATIVE("coupling", _checks.real("coupling", coupling))
    return _form_factor(*jnp.broadcast_arrays(*aligned(times, coupling)))


@compiled
def _form_factor(tau: Float[Array, "..."], coupling: Float[Array, "..."]) -> Float[Array, "..."]:
    # Far out K is 1 to all digits; the caps keep the products finite.
    t = jnp.minimum(jnp.where(tau < 0, -tau, tau), 1e12)
    rate = 8 * jnp.pi**2 * jnp.minimum(coupling, 1e12) * t
    ramp = jnp.where(t > 1, 1, t)
    return ramp + jnp.exp(-rate * jnp.abs(1 - t)) * _symmetric(t, rate) / 2


def _symmetric(t: Float[Array, "..."], rate: Float[Array, "..."]) -> Float[Array, "..."]:
    """The integral over u = x minus its lower end, without the exponential at this end."""
    late = t > 1
    width, start, numerator = 2 * jnp.where(late, 1, t), jnp.where(late, 2 * t - 1, 1), jnp.where(late, -1, 1 - 2 * t)
    quotient = lambda u: (u + numerator[..., None]) / (start[..., None] + u)

    nodes, weights = (jnp.asarray(each, t.dtype) for each in gauss_legendre(_NUM_NODES))
    far = rate * width > _DECAY
    slow, fast = jnp.where(far, 0, rate)[..., None], jnp.where(far, rate, _DECAY)[..., None]
    u = jnp.multiply(*aligned(width[..., None], 1 + nodes)) / 2
    near = (jnp.exp(-slow * u) * quotient(u)) @ weights * width / 2
    y, masses = (jnp.asarray(each, t.dtype) for each in gauss_laguerre(_NUM_NODES))
    return jnp.where(far, quotient(jnp.divide(*aligned(y, fast))) @ masses / fast[..., 0], near)
