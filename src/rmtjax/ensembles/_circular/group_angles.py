"""Spectra of the orthogonal and symplectic groups: Weyl's density of the angles, and its bidiagonal model."""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from rmtjax._ordering import in_order
from rmtjax._promotion import like
from rmtjax._typing import KeyScalar
from rmtjax.ensembles._core.unitary import AbstractUnitaryEnsemble
from rmtjax.ensembles._jacobi.bidiagonal import Entries, bidiagonals
from rmtjax.laws import Uniform
from rmtjax.linalg.internal import block_singular_counts, block_singular_values
from rmtjax.special.internal import log_circular_vandermonde


class Component(NamedTuple):
    """A component of a group: the number of conjugate pairs, whether 1 and -1 are eigenvalues, and p and q."""

    pairs: Int[Array, ""] | int
    one: Bool[Array, ""] | bool
    minus_one: Bool[Array, ""] | bool
    p: Float[Array, ""] | float
    q: Float[Array, ""] | float


class AbstractHaar(AbstractUnitaryEnsemble):
    r"""A group of real or quaternion unitary matrices with its Haar measure.

    The eigenvalues are conjugate pairs $e^{\pm i\theta_k}$, and also 1 or -1 if the determinant and the parity of n
    force them. By Weyl's formula the angles in (0, π) have the joint density

    $$\propto \prod_{j<k} (\cos\theta_j - \cos\theta_k)^2 \prod_k \cos^{2p-1}\tfrac{\theta_k}2
    \sin^{2q-1}\tfrac{\theta_k}2,$$

    so $\cos^2\tfrac{\theta_k}2$ are the levels of a Jacobi ensemble at β = 2. They are the squared singular values of a
    bidiagonal matrix C, and $\sin^2\tfrac{\theta_k}2$ are the squared singular values of its partner S. S keeps the
    digits of angles near 0, and C keeps the digits of angles near π. `eigenphases` takes O(n²) operations and O(n)
    memory, and `count_below` O(n) operations for each point.
    """

    def _determinant(self, key: KeyScalar) -> Int[Array, ""] | int:
        """The determinant of the draw."""
        return 1

    def _component(self, determinant: Int[Array, ""] | int) -> Component:
        """The component with this determinant: p is 3/2 if -1 is an eigenvalue, which repels others; so is q for 1."""
        one, minus_one = determinant == (-1) ** (self.n + 1), determinant == -1
        number = lambda present: int(present) if isinstance(present, bool) else present.astype(jnp.int32)
        exponent = lambda present: jnp.where(present, 1.5, 0.5)
        pairs = (self.n - number(one) - number(minus_one)) // 2
        return Component(pairs, one, minus_one, exponent(minus_one), exponent(one))

    def _model(self, key: KeyScalar) -> tuple[Component, Int[Array, ""], Entries]:
        """The component, the order of C and S, and the entries of both as one stack."""
        key_component, key_entries = jax.random.split(key)
        component = self._component(self._determinant(key_component))
        p, q, beta = (jnp.asarray(value, jnp.result_type(float)) for value in (component.p, component.q, 2.0))
        # The arrays have at least one row; without a pair, C and S are blocks of order 0 in them.
        c, s = bidiagonals(key_entries, max(self.n // 2, 1), component.pairs, p, q, beta)
        return component, jnp.int32(component.pairs), jax.tree.map(lambda *both: jnp.stack(both), c, s)

    def _eigenphases(self, key: KeyScalar) -> Float[Array, " n"]:
        component, order, entries = self._model(key)
        size = entries[0].shape[-1]
        cosine, sine = jax.vmap(lambda b, c: block_singular_values(0, size, b, c, order))(*entries)
        pi = jnp.asarray(math.pi, sine.dtype)
        # Cosines descend as sines ascend. Rounding must not turn a pair into ±π.
        angle = 2 * jnp.arctan2(sine, jnp.roll(cosine[::-1], order))
        angle = jnp.minimum(angle, jnp.nextafter(pi, jnp.zeros_like(pi)))
        present = jnp.arange(size, dtype=order.dtype) < order
        forced = jnp.where(jnp.array([component.one, component.minus_one]), jnp.stack([0 * pi, pi]), jnp.inf)
        every = [jnp.where(present, -angle, jnp.inf), jnp.where(present, angle, jnp.inf), forced]
        return in_order(jnp.concatenate(every))[: self.n]

    def _count_below(self, key: KeyScalar, x: Float[Array, "..."]) -> Int[Array, "..."]:
        component, order, entries = self._model(key)
        half = jnp.clip(jnp.abs(x.astype(entries[0].dtype)), 0, math.pi) / 2
        points = jnp.stack([jnp.cos(half), jnp.sin(half)])
        by_cosine, by_sine = jax.vmap(lambda b, c, x: block_singular_counts(b, c, order, x))(*entries, points)
        within = jnp.where(half < math.pi / 4, by_sine, order - by_cosine)
        pairs = jnp.where(x > 0, order + within, order - within)
        forced = component.one & (x > 0), component.minus_one & (x > math.pi)
        return pairs + like(pairs, forced[0]) + like(pairs, forced[1])

    def _law(self) -> Uniform:
        return Uniform(-math.pi, math.pi)

    def _independent_phases(self) -> int:
        return self.n // 2

    def _joint_logpdf(self, phases: Float[Array, " k"]) -> Float[Array, ""]:
        return log_weyl(phases, self._component(1))


def log_weyl(angles: Float[Array, " k"], component: Component) -> Float[Array, ""]:
    r"""Logarithm of Weyl's density in the angles of a component with k pairs.

    It is $|W|^{-1} (2\pi)^{-k} \cdot 2^k \prod_{j<k} |2\cos\theta_j - 2\cos\theta_k|^2 \prod_k
    |2\cos\tfrac{\theta_k}2|^{2p-1} |2\sin\tfrac{\theta_k}2|^{2q-1}$ over (0, π), where the order of Weyl's group is
    $|W| = 2^k k!$, or $2^{k-1} k!$ if p = q = 1/2. The first product is the product of the distances between all
    $e^{\pm i\theta}$ except the distances within a pair, $4 \sin\tfrac\theta2 \cos\tfrac\theta2$.
    """
    k = angles.size
    inside = jnp.all((angles > 0) & (angles < math.pi))
    angles = jnp.where(inside, angles, jnp.arange(1, k + 1, dtype=angles.dtype) * math.pi / (k + 1))
    cosine, sine = jnp.log(2 * jnp.cos(angles / 2)), jnp.log(2 * jnp.sin(angles / 2))
    height = log_circular_vandermonde(jnp.concatenate([angles, -angles]))
    height += jnp.sum(2 * (component.p - 1) * cosine + 2 * (component.q - 1) * sine)
    doubled = jnp.where(component.p + component.q == 1, math.log(2), 0.0)
    constant = k * math.log(2 * math.pi) + math.lgamma(k + 1) - doubled
    return jnp.where(inside, height - constant, -jnp.inf)
