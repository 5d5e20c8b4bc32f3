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
from typing import Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Complex, Float

from rmtjax._promotion import like
from rmtjax.laws._core.half_plane import in_plane, quotient_of_one, upper_logs
from rmtjax.laws._core.orders import no_more_than
from rmtjax.laws._free.dyson_equation import dyson_solution
from rmtjax.laws._free.from_transforms import AbstractLawOfTransforms
from rmtjax.laws._free.gaps import Lanes, bisected, in_gap, with_quantiles
from rmtjax.laws._free.soft_ends import soft_ends


class AbstractDysonLaw(AbstractLawOfTransforms):
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

    def _stieltjes(self, z: Complex[Array, "..."]) -> Complex[Array, "..."]:
        return dyson_solution(self, z) @ like(z, self.weights)

    def _subordination(self, w: Complex[Array, "..."]) -> tuple[Complex[Array, "..."], Complex[Array, "..."]]:
        """The function h is the mean of -a - σ with the weights g, and nothing cancels."""
        g, slopes = jax.jvp(lambda w: dyson_solution(self, w), (w,), (jnp.ones_like(w),))
        masses = like(w, self.weights)
        f = quotient_of_one(g @ masses)
        return -(g * self._shifts(g)) @ masses * f, -(slopes @ masses) * f**2 - 1

    def _log_potential(self, w: Complex[Array, "..."]) -> Complex[Array, "2 ..."]:
        return self._log_potential_of(w, jax.lax.stop_gradient(dyson_solution(self, w)))

    def _log_potential_of(self, w: Complex[Array, "..."], g: Complex[Array, "... n"]) -> Complex[Array, "2 ..."]:
        """The potentials at w, from the solution g there."""
        return upper_logs(w[..., None] - self._shifts(g)) @ like(w, self.weights) + self._functional(g)[None]

    def _moment(self, k: int) -> Float[Array, ""]:
        no_more_than(100, k)
        return self._moments_about(0.0, k)[k]

    def _central_moments(self, *orders: int) -> tuple[Float[Array, ""], ...]:
        moments = self._moments_about(self._moments_about(0.0, 1)[1], max(orders))
        return tuple(moments[k] for k in orders)

    def _ends(self, levels: Float[Array, " k"]) -> Float[Array, " 2k+2"]:
        constant = jax.tree.map(jax.lax.stop_gradient, self)
        lower, upper = constant._carrier()
        size = upper - lower
        eps = float(jnp.finfo(size.dtype).eps)

        def probe(x: Float[Array, " m"], levels: Float[Array, " m"]) -> tuple[Array, Array, Array]:
            g = dyson_solution(constant, in_plane(x))
            is_real = jnp.all(jnp.imag(g) == 0, axis=-1)
            return *in_gap(is_real, constant._log_potential_of(in_plane(x), g), levels), x

        def is_narrow(lanes: Lanes) -> Bool[Array, " m"]:
            """Whether the width is small against the size of the law and against the gap, if there is one."""
            width, middle = lanes.upper - lanes.lower, lanes.middle()
            # A lower end close to 0 has an atom or a hard edge at 0 beside it.
            lowest = jnp.where(lower == 0, jnp.abs(middle[:1]), size)
            gaps = jnp.concatenate([lowest, jnp.repeat(middle[2::2] - middle[1:-1:2], 2), size[None]])
            bands = jnp.repeat(middle[1::2] - middle[::2], 2)
            near = lanes.found & (width <= jnp.minimum(eps**0.5 * size, jnp.minimum(gaps, bands) / 64))
            return near | (~lanes.found & (width <= eps**0.75 * size)) | (width <= 4 * eps * size)

        lanes = bisected(probe, levels, lower - size / 64, upper + size / 64, is_narrow)
        return with_quantiles(self, self._polished(constant, lanes), lanes, levels)

    def _polished(self, constant: Self, lanes: Lanes) -> Float[Array, " m"]:
        """The ends by interpolation in the squared density, with their derivatives by the parameters."""

        def solution(x: Float[Array, "... m"]) -> tuple[Array, Array, Array]:
            g = dyson_solution(constant, in_plane(x))
            return -jnp.imag(g) @ constant.weights, jnp.real(g), -jnp.imag(g)

        def excess(x: Float[Array, " m"], g: Float[Array, "m n"], v: Float[Array, "m n"]) -> Float[Array, " m"]:
            direction = v * like(v, constant.weights)[None]
            residual = x[:, None] - jnp.real(self._shifts(in_plane(g))) - 1 / g
            total = jnp.sum(direction, axis=-1)
            return jnp.sum(direction * residual, axis=-1) / jnp.where(total == 0, 1, total)

        return soft_ends(lanes, solution, excess)
