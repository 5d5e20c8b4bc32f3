r"""Variables of any bounded law in Dyson's equation of matrices.

A variable x with the matrix C contributes $T = C\,R(G C)$ with its R-transform R. It is found by subordination
(Belinschi, Mai and Speicher 2017): $G = E(\Omega - C x)^{-1}$ for $\Omega = G^{-1} + T$. With $N = \Omega^{-1}$ and the
function $h(w) = 1/G_x(w) - w$ of the law of x this is

$$N = (1 + G T)^{-1} G, \qquad T = q(C N)\,C, \qquad q(\nu) = -h(1/\nu), \quad q(0) = E x.$$

Nothing is divided by C or by G, which may be singular. Only the rows of C that are not 0 matter. The function q of a
matrix has the derivative $P\,(\Delta \circ P^{-1} \dot Q P)\,P^{-1}$ with its eigenvectors P and the divided
differences Δ of q (Daleckii and Krein; Higham 2008, Functions of Matrices, theorem 3.11). The eigenvalues ν lie in both
half planes, as many in each as C has eigenvalues of each sign, because $\Omega - C x$ is invertible for all real x.

The potential of the variable is $E \log \det(\Omega - C x) G = \log \det(1 + T G) + \operatorname{tr} \ell(C N)$ with
$\ell(\nu) = E \log(1 - \nu x) = U_x(1/\nu) + \log \nu$.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero
from jaxtyping import Array, Bool, Complex, Int

from rmtjax.laws._core.half_plane import in_plane, upper_logs
from rmtjax.laws._core.spectral import AbstractSpectralLaw
from rmtjax.linalg.internal import general_eigensystem, inverse_of_each, solve_each

Laws = tuple[AbstractSpectralLaw, ...]


class FreeLetters(NamedTuple):
    """All variables that are not semicircular. Their blocks have the same order s, filled with zeros."""

    laws: Laws
    blocks: Complex[Array, "l s s"]  # the rows and columns of each C
    rows: Int[np.ndarray, "l s"]  # and which these are; the order of C stands for none
    basis: Complex[Array, "m l s s"]  # the blocks of a basis of all T
    entries: Complex[Array, "m l s s"]  # the coordinates of T are tr(entries T)

    def _parts(self, g: Array, y: Array) -> tuple[Complex[Array, "... l s s"], ...]:
        """The matrices T, 1 + G T, C and N."""
        g, t = blocks_of(g, self.rows), jnp.einsum("...m,mlij->...lij", y, self.basis)
        one = g @ t + jnp.broadcast_to(jnp.eye(t.shape[-1], dtype=t.dtype), t.shape)
        return t, one, jnp.broadcast_to(self.blocks, g.shape), solve_each(one, g)

    def coordinates(self, g: Complex[Array, "... D D"], y: Complex[Array, "... m"]) -> Complex[Array, "... m"]:
        """Those of the next T, from G and those of the last one."""
        _, _, c, n = self._parts(g, y)
        return jnp.einsum("mlji,...lij->...m", self.entries, _function_of(self.laws, c, n) @ c)

    def coordinates_and_slopes(
        self, g: Complex[Array, "... D D"], y: Complex[Array, "... m"], turned: Complex[Array, "... k D D"]
    ) -> tuple[Complex[Array, "... m"], Complex[Array, "... m k"]]:
        """The coordinates of the next T, and their derivatives in k directions.

        Args:
            g: the matrix G.
            y: the coordinates of the last T.
            turned: the derivatives of G. The last m directions but one are those of y, and the others leave T alone.
        """
        t, one, c, n = self._parts(g, y)
        eigenvalues, vectors = general_eigensystem(c @ n)
        values, slopes = _q_of_all(self.laws, eigenvalues, _are_below(n, eigenvalues, vectors))
        left = inverse_of_each(jnp.stack([vectors, one]))
        inverse, left = left[0], left[1]
        through = inverse @ c
        next_t = (vectors * values[..., None, :]) @ through
        # With Q = C N and N = (1 + G T)⁻¹ G, dN = (1 + G T)⁻¹ dG (1 + T G)⁻¹ - N dT N, and (1 + T G)⁻¹ = 1 - T N.
        right = vectors - t @ n @ vectors
        of_g = jnp.einsum("...lab,...klbc,...lcd->...klad", through @ left, blocks_of(turned, self.rows), right)
        of_t = jnp.einsum("...lab,mlbc,...lcd->...mlad", through @ n, self.basis, n @ vectors)
        own = slice(turned.shape[-3] - 1 - self.basis.shape[0], -1)
        moved = of_g.at[..., own, :, :, :].add(-of_t)
        images = jnp.einsum("...lab,mlbc,...lcd->...mlad", through, self.entries, vectors)
        factors = jnp.swapaxes(images, -1, -2) * _divided(eigenvalues, values, slopes)[..., None, :, :, :]
        return (
            jnp.einsum("mlji,...lij->...m", self.entries, next_t),
            jnp.einsum("...mlij,...klij->...mk", factors, moved),
        )

    def potential(self, g: Complex[Array, "... D D"], y: Complex[Array, "... m"]) -> Complex[Array, "..."]:
        """The sum of the potentials. It is continuous, as no eigenvalue of 1 + G T crosses the negative axis."""
        _, one, c, n = self._parts(g, y)
        (factors, eigenvalues), (_, vectors) = general_eigensystem(jnp.stack([one, c @ n]))
        below = _are_below(n, eigenvalues, vectors)
        traces = [
            jnp.sum(_log_potential(law, eigenvalues[..., i, :], below[..., i, :]), axis=-1)
            for i, law in enumerate(self.laws)
        ]
        return sum(traces, jnp.sum(jnp.log(factors), axis=(-2, -1)))


def blocks_of(matrix: Complex[Array, "... D D"], rows: Int[np.ndarray, "l s"]) -> Complex[Array, "... l s s"]:
    """The blocks of a matrix with these rows and columns; zeros for the row D."""
    padded = jnp.pad(matrix, [*[(0, 0)] * (matrix.ndim - 2), (0, 1), (0, 1)])
    return padded[..., rows[:, :, None], rows[:, None, :]]


def _are_below(
    n: Complex[Array, "... s s"], eigenvalues: Complex[Array, "... s"], vectors: Complex[Array, "... s s"]
) -> Bool[Array, "... s"]:
    r"""Which 1/ν are in the lower half plane or come from there, for the eigenvalues ν and eigenvectors of C N.

    With $v = N u$ for an eigenvector u, $v^* \Omega v = \nu^{-1}\,v^* C v$, so that $v^* C v$ has the sign of the
    imaginary part of 1/ν. Where it is 0 and Ω is real, the eigenvalues are conjugate pairs.
    """
    v = n @ vectors
    signs = jnp.real(jnp.sum(jnp.conj(v) * vectors, axis=-2) * eigenvalues)
    rounding = float(jnp.finfo(signs.dtype).eps) ** 0.75 * jnp.sum(jnp.abs(v), axis=-2) * jnp.abs(eigenvalues)
    return jnp.where(jnp.abs(signs) > rounding, signs < 0, jnp.imag(eigenvalues) > 0)


def _reciprocal(eigenvalues: Complex[Array, "..."], below: Bool[Array, "..."]) -> tuple[Complex[Array, "..."], Array]:
    """The points 1/ν, mirrored into the upper half plane, and which ν are nearly 0."""
    # Its square does not underflow in single precision.
    tiny = float(jnp.finfo(eigenvalues.dtype).tiny) ** 0.25
    zero = jnp.abs(eigenvalues) < tiny
    points = 1 / jnp.where(zero, tiny, eigenvalues)
    points = jnp.where(below, jnp.conj(points), points)
    return jnp.where(jnp.imag(points) < 0, in_plane(jnp.real(points)), points), zero


def _q(law: AbstractSpectralLaw, eigenvalues: Complex[Array, "..."], below: Bool[Array, "..."]) -> tuple[Array, Array]:
    """The function q and its derivative."""
    w, _ = _reciprocal(eigenvalues, below)
    h, slope = law._subordination(w)
    value, slope = -h, slope * w**2
    return jnp.where(below, jnp.conj(value), value), jnp.where(below, jnp.conj(slope), slope)


def _log_potential(
    law: AbstractSpectralLaw, eigenvalues: Complex[Array, "..."], below: Bool[Array, "..."]
) -> Complex[Array, "..."]:
    """The function ℓ."""
    w, zero = _reciprocal(eigenvalues, below)
    value = law._log_potential(w)[0] - upper_logs(w)[0]
    return jnp.where(zero, 0, jnp.where(below, jnp.conj(value), value))


def _q_of_all(laws: Laws, eigenvalues: Complex[Array, "... l s"], below: Bool[Array, "... l s"]) -> tuple[Array, Array]:
    both = [_q(law, eigenvalues[..., i, :], below[..., i, :]) for i, law in enumerate(laws)]
    values, slopes = (jnp.stack(each, axis=-2) for each in zip(*both, strict=True))
    return values, slopes


def _divided(
    eigenvalues: Complex[Array, "... s"], values: Complex[Array, "... s"], slopes: Complex[Array, "... s"]
) -> Complex[Array, "... s s"]:
    """The divided differences of a function."""
    difference = eigenvalues[..., :, None] - eigenvalues[..., None, :]
    # The error of a mean of slopes is the square of the distance, that of a quotient the rounding over the distance.
    far = float(jnp.finfo(values.dtype).eps) ** (1 / 3) * jnp.max(jnp.abs(eigenvalues), axis=-1)[..., None, None]
    near = jnp.abs(difference) <= far
    means = (slopes[..., :, None] + slopes[..., None, :]) / 2
    return jnp.where(near, means, (values[..., :, None] - values[..., None, :]) / jnp.where(near, 1, difference))


@jax.custom_jvp
def _function_of(
    laws: Laws, c: Complex[Array, "... l s s"], n: Complex[Array, "... l s s"]
) -> Complex[Array, "... l s s"]:
    """The functions q of the matrices C N, one of each law."""
    eigenvalues, vectors = general_eigensystem(c @ n)
    values, _ = _q_of_all(laws, eigenvalues, _are_below(n, eigenvalues, vectors))
    return _with_vectors(vectors, vectors * values[..., None, :])


def _with_vectors(vectors: Complex[Array, "... s s"], product: Complex[Array, "... s s"]) -> Complex[Array, "... s s"]:
    """The product times the inverse of the eigenvectors."""
    transposed = lambda matrix: jnp.swapaxes(matrix, -1, -2)
    return transposed(solve_each(transposed(vectors), transposed(product)))


@partial(_function_of.defjvp, symbolic_zeros=True)
def _(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    laws, c, n = primals
    of_laws, of_c, of_n = tangents
    eigenvalues, vectors = general_eigensystem(c @ n)
    below = _are_below(n, eigenvalues, vectors)
    values, slopes = _q_of_all(laws, eigenvalues, below)
    change = _dense(c, of_c) @ n + c @ _dense(n, of_n)
    moved = _divided(eigenvalues, values, slopes) * solve_each(vectors, change @ vectors)
    # In Newton's method the laws stay the same, and their derivatives would be most of the program.
    if not all(isinstance(leaf, SymbolicZero) for leaf in jax.tree.leaves(of_laws)):
        moving = jax.tree.map(_dense, laws, of_laws)
        _, (changes, _) = jax.jvp(lambda laws: _q_of_all(laws, eigenvalues, below), (laws,), (moving,))
        one = jnp.eye(changes.shape[-1], dtype=changes.dtype)
        moved += changes[..., None] * jnp.broadcast_to(one, moved.shape)
    return _with_vectors(vectors, vectors * values[..., None, :]), _with_vectors(vectors, vectors @ moved)


def _dense(value: Array, tangent: Any) -> Array:
    return jnp.zeros_like(value) if isinstance(tangent, SymbolicZero) else tangent
