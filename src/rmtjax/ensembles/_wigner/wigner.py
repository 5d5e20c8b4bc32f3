"""Wigner matrices: real symmetric matrices with independent entries."""

from collections.abc import Callable
from typing import Annotated, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int
from typing_extensions import TypeAliasType

from rmtjax import _checks
from rmtjax._threefry import looped
from rmtjax._typing import KeyScalar, RealScalarLike
from rmtjax.ensembles._core.semicircular import AbstractSemicircular
from rmtjax.ensembles._core.symmetric import mirrored
from rmtjax.linalg.internal import hermitian_eigenvalues, leading_block_spectrum
from rmtjax.special.internal import square_root
from rmtjax.spectra import Spectrum

Name = Literal["normal", "rademacher", "uniform"]
_Draw = Callable[[KeyScalar, tuple[int, ...]], Array]
Entries = TypeAliasType("Entries", Name | _Draw)


def _rademacher(key: KeyScalar, shape: tuple[int, ...]) -> Float[Array, "..."]:
    return jax.random.rademacher(key, shape, float)


def _uniform(key: KeyScalar, shape: tuple[int, ...]) -> Float[Array, "..."]:
    return jax.random.uniform(key, shape, minval=-(3**0.5), maxval=3**0.5)


_ENTRIES: dict[Name, _Draw] = {"normal": jax.random.normal, "rademacher": _rademacher, "uniform": _uniform}


class Wigner(AbstractSemicircular):
    r"""Real symmetric matrices with independent entries on and above the diagonal.

    $H_{ij} = H_{ji} = \frac{s}{\sqrt n}\,\xi_{ij}$ for i < j and $H_{ii} = s\sqrt{d/n}\;\xi_{ii}$ with independent
    ξ of mean 0 and variance 1.

    Convention: $E H_{ij}^2 = s^2/n$ off the diagonal and $E H_{ii}^2 = d s^2/n$ on it. The spectrum fills [-2s, 2s] as
    n → ∞ for every d. The default, d = 1, is the textbook matrix with iid N(0, 1/n) on and above the diagonal; the GOE
    has d = 2.

    Args:
        n: size of the matrix, n ≥ 1; static.
        scale: s > 0, differentiable.
        diagonal_variance: d ≥ 0, variance of the diagonal entries relative to the others, differentiable.
        entries: law of ξ: `"normal"`, `"rademacher"` (±1), `"uniform"` (on ±√3), or a function of (key, shape) that
            returns real entries of mean 0 and variance 1 (this is not checked); static. A compiled program is kept for
            each function, so define it once and not in a loop.

    Raises:
        ValueError: an argument is outside its range, or the output of `entries` has another shape or is complex.
            Entries that are not finite give NaN.

    Example:
        >>> import jax
        >>> sign_matrix = Wigner(3, scale=3**0.5, entries="rademacher").sample(jax.random.key(0))
        >>> print(abs(sign_matrix[0]).round(5))
        [1. 1. 1.]

    References:
        Wigner (1955), Ann. Math. 62, 548; Anderson, Guionnet and Zeitouni (2010), An Introduction to Random Matrices,
        section 2.1.
    """

    n: int = eqx.field(static=True)
    scale: Annotated[Float[Array, ""], _checks.POSITIVE]
    diagonal_variance: Annotated[Float[Array, ""], _checks.NONNEGATIVE]
    entries: Entries = eqx.field(static=True)

    def __init__(
        self, n: int, scale: RealScalarLike = 1.0, diagonal_variance: RealScalarLike = 1.0, entries: Entries = "normal"
    ):
        self.n = _checks.integer("n", n, at_least=1)
        self.scale = _checks.scalar("scale", scale, nonzero=True)
        self.diagonal_variance = _checks.scalar("diagonal_variance", diagonal_variance)
        if not callable(entries) and not isinstance(entries, str):
            must = "be a name or a function, such as `lambda key, shape: jax.random.t(key, 5.0, shape)`"
            raise _checks.refusal("entries", must, entries)
        self.entries = entries if callable(entries) else _checks.choice("entries", entries, Name)

    def _sample(self, key: KeyScalar) -> Float[Array, "n n"]:
        key_below, key_diagonal = jax.random.split(key)
        diagonal = square_root(self.diagonal_variance) * self._draw(key_diagonal, (self.n,))
        h = jnp.where(jnp.eye(self.n, dtype=bool), diagonal[:, None], mirrored(self._draw(key_below, (self.n, self.n))))
        return self.scale * self.n**-0.5 * h

    # These samples are finite and symmetric to the last bit, so they need none of the checks of `eigvalsh`.
    def _eigenvalues(self, key: KeyScalar) -> Float[Array, " n"]:
        return hermitian_eigenvalues(self._sample(key))

    def _leading_block_eigenvalues(self, key: KeyScalar, order: Int[Array, ""]) -> Spectrum:
        return leading_block_spectrum(self._leading_block(key, order), order)

    def _draw(self, key: KeyScalar, shape: tuple[int, ...]) -> Float[Array, "..."]:
        draw = self.entries if callable(self.entries) else _ENTRIES[self.entries]
        xi = jnp.asarray(draw(looped(key), shape))
        if xi.shape != shape or jnp.iscomplexobj(xi):
            raise _checks.refusal("entries", f"return a real array of shape {shape}", (xi.dtype.name, xi.shape))
        if callable(self.entries):
            xi = _checks.Rule(_checks.FINITE.holds, "return finite numbers")("entries", xi)
        return xi.astype(jnp.result_type(self.scale))
