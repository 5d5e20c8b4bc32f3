"""Spectra of the orthogonal and symplectic groups: Weyl's density of the angles, and its bidiagonal model."""

import math
from abc import abstractmethod
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from rmtjax._typing import KeyScalar
from rmtjax.ensembles._core.unitary import AbstractUnitaryEnsemble
from rmtjax.ensembles._jacobi.bidiagonal import Entries, bidiagonals
from rmtjax.laws import AbstractLaw, Uniform
from rmtjax.linalg.internal import block_singular_counts, block_singular_values
from rmtjax.special.internal import log_circular_vandermonde


class Component(NamedTuple):
    """A component of a group: the number of conjugate pairs, which of 1 and -1 are eigenvalues besides, p and q."""

    pairs: Int[Array, ""] | int
    one: Bool[Array, ""] | bool
    minus_one: Bool[Array, ""] | bool
    p: Float[Array, ""] | float
    q: Float[Array, ""] | float


def orthogonal_component(n: int, determinant: Int[Array, ""] | int) -> Component:
    """An eigenvalue of every matrix repels the others: p is 3/2 where -1 is one, and q where 1 is; else 1/2."""
    one, minus_one = determinant == (-1) ** (n + 1), determinant == -1
    exponent = lambda present: 0.5 + present
    return Component((n - one - minus_one) // 2, one, minus_one, exponent(minus_one), exponent(one))


def symplectic_component(pairs: int) -> Component:
    """The group is connected: neither 1 nor -1 is an eigenvalue, but both repel."""
    return Component(pairs, False, False, 1.5, 1.5)


class AbstractHaar(AbstractUnitaryEnsemble):
    r"""A group of real or quaternion unitary matrices with its Haar measure.

    The eigenvalues are m conjugate pairs $e^{\pm i\theta_k}$, and 1 or -1 where the determinant and the parity of n
    force it. By Weyl's formula the angles in (0, π) have the joint density

    $$\propto \prod_{j<k} (\cos\theta_j - \cos\theta_k)^2 \prod_k \cos^{2p-1}\tfrac{\theta_k}2
    \sin^{2q-1}\tfrac{\theta_k}2,$$

    so $\cos^2\tfrac{\theta_k}2$ are the levels of a Jacobi ensemble at β = 2: squares of the singular values of a
    bidiagonal matrix C, and $\sin^2\tfrac{\theta_k}2$ those of its partner S. `eigenphases` takes O(n²) operations and
    O(n) memory, `count_below` O(n) for each point. The angles have their digits near 0, where S is asked, and near π,
    by C.
    """

    @abstractmethod
    def _component(self, key: KeyScalar) -> Component:
        """The component of the group in which the draw lies."""

    def _model(self, key: KeyScalar) -> tuple[Component, Int[Array, ""], Entries]:
        """The component, the order of C and S, and their entries in one stack."""
        key_component, key_entries = jax.random.split(key)
        component = self._component(key_component)
        p, q, beta = (jnp.asarray(value, jnp.result_type(float)) for value in (component.p, component.q, 2.0))
        # At least one row: a matrix without a pair is one of order 0.
        c, s = bidiagonals(key_entries, max(self.n // 2, 1), p, q, beta, component.pairs)
        return component, jnp.int32(component.pairs), jax.tree.map(lambda *both: jnp.stack(both), c, s)

    def _eigenphases(self, key: KeyScalar) -> Float[Array, " n"]:
        component, order, entries = self._model(key)
        size = entries[0].shape[-1]
        cosine, sine = jax.vmap(lambda b, c: block_singular_values(0, size, b, c, order))(*entries)
        pi = jnp.asarray(math.pi, sine.dtype)
        # Cosines descend where sines ascend. No rounding may make a pair of ±π.
        angle = 2 * jnp.arctan2(sine, jnp.roll(cosine[::-1], order))
        angle = jnp.minimum(angle, jnp.nextafter(pi, jnp.zeros_like(pi)))
        present = jnp.arange(size) < order
        forced = jnp.where(jnp.array([component.one, component.minus_one]), jnp.stack([0 * pi, pi]), jnp.inf)
        every = [jnp.where(present, -angle, jnp.inf), jnp.where(present, angle, jnp.inf), forced]
        return jnp.sort(jnp.concatenate(every))[: self.n]

    def _count_below(self, key: KeyScalar, x: Float[Array, "..."]) -> Int[Array, "..."]:
        component, order, entries = self._model(key)
        half = jnp.clip(jnp.abs(x.astype(entries[0].dtype)), 0, math.pi) / 2
        points = jnp.stack([jnp.cos(half), jnp.sin(half)])
        by_cosine, by_sine = jax.vmap(lambda b, c, x: block_singular_counts(b, c, order, x))(*entries, points)
        within = jnp.where(half < math.pi / 4, by_sine, order - by_cosine)
        pairs = jnp.where(x > 0, order + within, order - within)
        return pairs + component.one * (x > 0) + component.minus_one * (x > math.pi)

    def _law(self) -> AbstractLaw:
        return Uniform(-math.pi, math.pi)

    def _independent_phases(self) -> int:
        return self.n // 2


def log_weyl(angles: Float[Array, " k"], component: Component) -> Float[Array, ""]:
    r"""Logarithm of Weyl's density in the angles of a component with k pairs.

    It is $|W|^{-1} (2\pi)^{-k} \cdot 2^k \prod_{j<k} |2\cos\theta_j - 2\cos\theta_k|^2 \prod_k
    |2\cos\tfrac{\theta_k}2|^{2p-1} |2\sin\tfrac{\theta_k}2|^{2q-1}$ over (0, π), with the order of Weyl's group
    $|W| = 2^k k!$, or $2^{k-1} k!$ where p = q = 1/2. The first product is that of the distances of all
    $e^{\pm i\theta}$ up to those within a pair, $4 \sin\tfrac\theta2 \cos\tfrac\theta2$.
    """
    k = angles.size
    inside = jnp.all((angles > 0) & (angles < math.pi))
    angles = jnp.where(inside, angles, jnp.arange(1, k + 1, dtype=angles.dtype) * math.pi / (k + 1))
    cosine, sine = jnp.log(2 * jnp.cos(angles / 2)), jnp.log(2 * jnp.sin(angles / 2))
    height = log_circular_vandermonde(jnp.concatenate([angles, -angles]))
    height += jnp.sum(2 * (component.p - 1) * cosine + 2 * (component.q - 1) * sine)
    constant = k * math.log(2 * math.pi) + math.lgamma(k + 1) - math.log(2) * (component.p + component.q == 1)
    return jnp.where(inside, height - constant, -jnp.inf)
