r"""Laws of matrices with independent entries of several variances, by Dyson's equation of vectors.

With the frequencies w of the types of rows, $G = \sum_i w_i g_i$ where g solves $1/g_i = z - a_i - \sigma_i(g)$. If
$w_k \sigma_k = \partial \Psi/\partial g_k$, the potential is
$U = \sum_i w_i \log(z - a_i - \sigma_i) + \Phi$ with $\Phi = \sum_i w_i g_i \sigma_i - \Psi$, because it is stationary
in g: the derivative of the logarithms is $-\sum_i w_i g_i\,d\sigma_i$, that of Φ is the same without the sign, and
$dU/dz = \sum_i w_i g_i$.

At the end of a band (`soft_ends`) the direction v of Im g is that in which the equation
$F(x, g) = x - a - \sigma(g) - 1/g = 0$ cannot be solved for g, since $w v$ is orthogonal to all
$\partial F/\partial g$. Therefore $x - \sum w v F/\sum w v$ is right to the square of the error of g, and its
derivatives by the parameters are those of the end.
"""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Complex, Float

from rmtjax._promotion import like
from rmtjax.laws._core.half_plane import in_plane, quotient_of_one, upper_logs
from rmtjax.laws._core.orders import no_more_than
from rmtjax.laws._free.dyson_equation import dyson_solution
from rmtjax.laws._free.gaps import Lanes
from rmtjax.laws._free.law_of_equation import AbstractLawOfEquation


class AbstractDysonLaw(AbstractLawOfEquation):
    """A law with the transform of an equation of vectors."""

    weights: eqx.AbstractVar[Float[Array, " n"]]  # the frequencies of the types of rows

    @abstractmethod
    def _self_energy(self, g: Complex[Array, "... n"]) -> Complex[Array, "... n"]:
        """The function σ(g), which maps the lower half plane into itself."""

    @abstractmethod
    def _energy_matrix(self, g: Complex[Array, "... n"]) -> Complex[Array, "... n n"]:
        """The derivative of σ."""

    @abstractmethod
    def _functional(self, g: Complex[Array, "... n"]) -> Complex[Array, "..."]:
        """The function Φ(g)."""

    @abstractmethod
    def _moments_about(self, centre: Array | float, k: int) -> Float[Array, " k+1"]:
        """The moments about a point, up to the order k."""

    def _shifts(self, g: Complex[Array, "... n"]) -> Complex[Array, "... n"]:
        """The sum a + σ(g), without expectations a unless a law says otherwise."""
        return self._self_energy(g)

    def _start(self, z: Complex[Array, "..."]) -> Complex[Array, "..."]:
        """Where the search for g begins, in the lower half plane."""
        lower, upper = self._carrier()
        return 1 / jax.lax.complex(jnp.real(z), jnp.imag(z) + like(jnp.real(z), upper - lower))

    def _dyson_map(self, z: Complex[Array, "..."], g: Complex[Array, "... n"]) -> Complex[Array, "... n"]:
        return 1 / (z[..., None] - self._shifts(g))

    def _solution(self, z: Complex[Array, "..."]) -> Complex[Array, "... n"]:
        return dyson_solution(self, z)

    def _stieltjes_of(self, z: Complex[Array, "..."], y: Complex[Array, "... n"]) -> Complex[Array, "..."]:
        return y @ like(z, self.weights)

    def _subordination(self, w: Complex[Array, "..."]) -> tuple[Complex[Array, "..."], Complex[Array, "..."]]:
        """The function h is the mean of -a - σ with the weights g, and nothing cancels."""
        g, slopes = jax.jvp(lambda w: dyson_solution(self, w), (w,), (jnp.ones_like(w),))
        masses = like(w, self.weights)
        f = quotient_of_one(g @ masses)
        return -(g * self._shifts(g)) @ masses * f, -(slopes @ masses) * f**2 - 1

    def _log_potential_of(self, z: Complex[Array, "..."], y: Complex[Array, "... n"]) -> Complex[Array, "2 ..."]:
        return upper_logs(z[..., None] - self._shifts(y)) @ like(z, self.weights) + self._functional(y)[None]

    def _moment(self, k: int) -> Float[Array, ""]:
        no_more_than(100, k)
        return self._moments_about(0.0, k)[k]

    def _central_moments(self, *orders: int) -> tuple[Float[Array, ""], ...]:
        moments = self._moments_about(self._moments_about(0.0, 1)[1], max(orders))
        return tuple(moments[k] for k in orders)

    def _is_narrow(self, size: Float[Array, ""], lanes: Lanes) -> Bool[Array, " k"]:
        """Whether the width is small against the size of the law and against the gap, if there is one."""
        eps = float(jnp.finfo(size.dtype).eps)
        width, middle = lanes.upper - lanes.lower, lanes.middle()
        # A lower end close to 0 has an atom or a hard edge at 0 beside it.
        lowest = jnp.where(self._carrier()[0] == 0, jnp.abs(middle[:1]), size)
        gaps = jnp.concatenate([lowest, jnp.repeat(middle[2::2] - middle[1:-1:2], 2), size[None]])
        bands = jnp.repeat(middle[1::2] - middle[::2], 2)
        near = lanes.found & (width <= jnp.minimum(eps**0.5 * size, jnp.minimum(gaps, bands) / 64))
        return near | (width <= 4 * eps * size)

    def _excess(self, x: Float[Array, " k"], y: Float[Array, "k n"], odd: Float[Array, "k n"]) -> Float[Array, " k"]:
        direction = odd * like(odd, self.weights)[None]
        residual = x[:, None] - jnp.real(self._shifts(in_plane(y))) - 1 / y
        total = jnp.sum(direction, axis=-1)
        return jnp.sum(direction * residual, axis=-1) / jnp.where(total == 0, 1, total)
