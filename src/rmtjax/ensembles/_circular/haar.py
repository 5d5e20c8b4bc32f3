"""The Haar measures of the orthogonal and symplectic groups, and of isometries."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float, Inexact, Int

from rmtjax import _checks
from rmtjax._module import AbstractModule
from rmtjax._typing import DysonIndex, KeyScalar
from rmtjax.ensembles._circular.group_angles import AbstractHaar, Component
from rmtjax.random.internal import haar_isometry, special_orthogonal


class HaarOrthogonal(AbstractHaar):
    r"""Orthogonal matrices with the Haar measure of O(n), the circular real ensemble.

    The determinant is 1 or -1, each with probability 1/2. If it is 1, the eigenphases are those of
    `HaarSpecialOrthogonal`; if it is -1, the angles have another density and other eigenvalues are forced.

    Convention: invariant under $O \to V O W$ for orthogonal V and W. For odd n the phases are (n - 1)/2 pairs ±θ, and 0
    if the determinant is 1 or π if it is -1. For even n they are n/2 pairs if the determinant is 1, and n/2 - 1 pairs,
    0 and π if it is -1.

    Args:
        n: size of the matrix, n ≥ 1; static.

    Raises:
        ValueError: `n` is outside its range.

    Example:
        >>> import jax
        >>> phases = HaarOrthogonal(3).eigenphases(jax.random.key(0))
        >>> print(phases.shape, bool(phases[0] == -phases[-1] or phases[-1] == jax.numpy.pi))
        (3,) True

    References:
        Weyl (1939), The Classical Groups, chapter VII; Katz and Sarnak (1999), Random Matrices, Frobenius Eigenvalues,
        and Monodromy, chapter 5; Edelman and Sutton (2008), Found. Comput. Math. 8, 259, theorem 1.5.
    """

    n: int = eqx.field(static=True)

    def __init__(self, n: int):
        self.n = _checks.integer("n", n, at_least=1)

    def _determinant(self, key: KeyScalar) -> Int[Array, ""]:
        return jax.random.rademacher(key, (), jnp.int32)

    def _sample(self, key: KeyScalar) -> Float[Array, "n n"]:
        return haar_isometry(key, self.n, self.n, 1, jnp.result_type(float))

    def _joint_logpdf(self, phases: Float[Array, " k"]) -> Float[Array, ""]:
        raise NotImplementedError(
            "The angles of HaarOrthogonal have a joint density given the determinant only: see HaarSpecialOrthogonal."
        )


class HaarSpecialOrthogonal(AbstractHaar):
    r"""Rotations: orthogonal matrices of determinant 1 with the Haar measure of SO(n).

    The angles of the ⌊n/2⌋ pairs have the joint density $\propto \prod_{j<k} (\cos\theta_j - \cos\theta_k)^2$ over
    (0, π), times $\prod_k \sin^2\tfrac{\theta_k}2$ if n is odd; `joint_logpdf` takes these angles.

    Convention: invariant under $O \to V O W$ for rotations V and W. The phases are ⌊n/2⌋ pairs ±θ, and 0 if n is odd.

    Args:
        n: size of the matrix, n ≥ 1; static.

    Raises:
        ValueError: `n` is outside its range.

    Example:
        >>> import jax
        >>> phases = HaarSpecialOrthogonal(3).eigenphases(jax.random.key(0))  # -θ, 0, θ
        >>> print(float(phases[1]), bool(phases[0] == -phases[2]))
        0.0 True

    References:
        Weyl (1939), The Classical Groups, chapter VII; Katz and Sarnak (1999), Random Matrices, Frobenius Eigenvalues,
        and Monodromy, chapter 5; Edelman and Sutton (2008), Found. Comput. Math. 8, 259, theorem 1.5.
    """

    n: int = eqx.field(static=True)

    def __init__(self, n: int):
        self.n = _checks.integer("n", n, at_least=1)

    def _sample(self, key: KeyScalar) -> Float[Array, "n n"]:
        return special_orthogonal(key, self.n, jnp.result_type(float))


class HaarSymplectic(AbstractHaar):
    r"""Unitary symplectic matrices with the Haar measure of USp(n), the circular quaternion ensemble.

    The angles of the n/2 pairs have the joint density $\propto \prod_{j<k} (\cos\theta_j - \cos\theta_k)^2
    \prod_k \sin^2\theta_k$ over (0, π); `joint_logpdf` takes these angles.

    Convention: n is the size of the complex matrix, whose rows hold n/2 quaternions; much of the literature writes
    USp(2N) or Sp(N). $U^T Z U = Z$ if Z has n/2 blocks $\begin{pmatrix} 0 & 1 \\ -1 & 0 \end{pmatrix}$. Each 2×2 block
    of U is a quaternion $\begin{pmatrix} a & b \\ -\bar b & \bar a \end{pmatrix}$. Invariant under $U \to V U W$ for
    such V and W.

    Args:
        n: size of the matrix, n ≥ 2 and even; static.

    Raises:
        ValueError: `n` is outside its range.

    Example:
        >>> import jax
        >>> phases = HaarSymplectic(4).eigenphases(jax.random.key(0))
        >>> print(phases.shape, bool((phases == -phases[::-1]).all()))
        (4,) True

    References:
        Weyl (1939), The Classical Groups, chapter VII; Katz and Sarnak (1999), Random Matrices, Frobenius Eigenvalues,
        and Monodromy, chapter 5; Edelman and Sutton (2008), Found. Comput. Math. 8, 259, theorem 1.5.
    """

    n: int = eqx.field(static=True)

    def __init__(self, n: int):
        self.n = _checks.integer("n", n, at_least=2)
        if self.n % 2:
            raise _checks.refusal("n", "be even", n)

    def _component(self, determinant: Int[Array, ""] | int) -> Component:
        # The group is connected. Neither 1 nor -1 is a forced eigenvalue, but both repel eigenvalues.
        return Component(self.n // 2, False, False, 1.5, 1.5)

    def _sample(self, key: KeyScalar) -> Complex[Array, "n n"]:
        return haar_isometry(key, self.n // 2, self.n // 2, 4, jnp.result_type(float))


class HaarIsometry(AbstractModule):
    r"""Orthonormal frames: the uniform measure on the Stiefel manifold of n×k isometries, $V^* V = 1$.

    A frame consists of the first k columns of a matrix with the Haar measure of O(n), U(n) or USp(2n); only these
    columns are drawn.

    Convention: invariant under $V \to A V B$ for orthogonal, unitary or symplectic A and B. For β = 4 a draw is a 2n×2k
    complex matrix of quaternions $\begin{pmatrix} a & b \\ -\bar b & \bar a \end{pmatrix}$. At k = n and β = 1 both
    determinants occur, as in `HaarOrthogonal`.

    Args:
        n: length of a column, n ≥ 1; static.
        k: number of columns, 1 ≤ k ≤ n; static.
        beta: 1 (real), 2 (complex) or 4 (quaternions); static.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax
        >>> v = HaarIsometry(5, 2).sample(jax.random.key(0))
        >>> print(v.shape, bool(abs(v.T @ v - jax.numpy.eye(2)).max() < 1e-6))
        (5, 2) True

    References:
        Muirhead (1982), Aspects of Multivariate Statistical Theory, section 2.1; Stewart (1980), SIAM J. Numer. Anal.
        17, 403, section 3.
    """

    n: int = eqx.field(static=True)
    k: int = eqx.field(static=True)
    beta: DysonIndex = eqx.field(static=True)

    def __init__(self, n: int, k: int, beta: DysonIndex = 1):
        self.n = _checks.integer("n", n, at_least=1)
        self.k = _checks.integer("k", k, at_least=1)
        if self.k > self.n:
            raise _checks.refusal("k", f"be at most n = {self.n}", k)
        self.beta = _checks.dyson_index(beta)

    def sample(self, key: KeyScalar) -> Inexact[Array, "rows columns"]:
        """A frame drawn from the uniform measure."""
        return self._run(self._sample, _checks.typed_key(key))

    def _sample(self, key: KeyScalar) -> Inexact[Array, "rows columns"]:
        return haar_isometry(key, self.n, self.k, self.beta, jnp.result_type(float))
