"""Hypothesis strategies that draw values, never shapes: all examples run the same compiled function."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Float, Inexact

from rmtjax import _checks
from rmtjax._typing import KeyScalar
from rmtjax.ensembles import AbstractEnsemble
from rmtjax.laws import AbstractLaw

try:
    from hypothesis import strategies as st

    from rmtjax.testing._kinds import ENSEMBLES, LAWS
except ImportError as missing:
    raise ImportError('`rmtjax.testing` needs hypothesis: pip install "rmtjax[test]"') from missing


def keys() -> st.SearchStrategy[KeyScalar]:
    """Typed keys.

    Example:
        >>> from hypothesis import given
        >>> @given(keys())
        ... def test(key):
        ...     assert key.shape == ()
        >>> test()
    """
    return st.integers(0, 2**31 - 1).map(jax.random.key)


def spectra(n: int, dtype: DTypeLike = float) -> st.SearchStrategy[Float[Array, " n"]]:
    """Ascending spectra of n levels, sometimes with ties, at scales from 1e-3 to 1e3.

    Args:
        n: number of levels, n ≥ 1.
        dtype: real floating-point dtype; JAX's default if `float`.

    Returns:
        A strategy for arrays of generic levels, ties, all levels equal, all 0, all 0 but one, graded over eight
        decades, and pairs of levels 1e-9 apart.

    Raises:
        ValueError: `n` is outside its range.

    Example:
        >>> from hypothesis import given
        >>> @given(spectra(3))
        ... def test(levels):
        ...     assert (levels[1:] >= levels[:-1]).all()
        >>> test()
    """
    levels = _levels(_checks.integer("n", n, at_least=1))
    return levels.map(lambda values: jnp.asarray(np.sort(values), dtype))


def hermitian_matrices(n: int, dtype: DTypeLike = float) -> st.SearchStrategy[Inexact[Array, "n n"]]:
    """Exactly Hermitian n×n matrices, many of them degenerate, at scales from 1e-3 to 1e3.

    Args:
        n: size, n ≥ 1.
        dtype: real dtype for symmetric matrices, complex dtype for Hermitian ones; JAX's default if `float` or
            `complex`.

    Returns:
        A strategy for matrices with the spectra of `spectra`, in a random orthonormal basis or diagonal.

    Raises:
        ValueError: `n` is outside its range.

    Example:
        >>> from hypothesis import given
        >>> @given(hermitian_matrices(2, complex))
        ... def test(a):
        ...     assert (a == a.conj().T).all()
        >>> test()
    """
    return _hermitian_matrices(_checks.integer("n", n, at_least=1), dtype)


def ensembles(n: int, *kinds: type) -> st.SearchStrategy[Any]:
    """Ensembles of size n, with continuous parameters of every size and few values of static ones.

    Each class and each static parameter is compiled anew. To save time, name few kinds.

    Args:
        n: size, n ≥ 1.
        kinds: classes to draw from; an abstract class stands for all of its subclasses. By default every ensemble with
            real eigenvalues except `Mixed`, whose spectra are padded.

    Returns:
        A strategy for ensembles, with scales from 0.1 to 10.

    Raises:
        ValueError: `n` is outside its range, or no ensemble of these kinds has this size.

    Example:
        >>> from hypothesis import given
        >>> import rmtjax as rmt
        >>> @given(ensembles(3, rmt.GOE, rmt.Wishart))
        ... def test(ensemble):
        ...     assert ensemble.n == 3
        >>> test()
    """
    n = _checks.integer("n", n, at_least=1)
    chosen = kinds or (AbstractEnsemble,)
    return _one_of("kinds", chosen, {kind: arguments(n) for kind, arguments in ENSEMBLES.items()})


def laws(*kinds: type) -> st.SearchStrategy[Any]:
    """Laws, with continuous parameters of every size and few values of static ones.

    Args:
        kinds: classes to draw from; an abstract class stands for all of its subclasses. By default every law on the
            line.

    Raises:
        ValueError: there is no law of these kinds.

    Example:
        >>> from hypothesis import given
        >>> import rmtjax as rmt
        >>> @given(laws(rmt.laws.Semicircle, rmt.laws.Uniform))
        ... def test(law):
        ...     assert law.cdf(law.support()[1]) == 1
        >>> test()
    """
    return _one_of("kinds", kinds or (AbstractLaw,), LAWS)


def _one_of(name: str, kinds: tuple[type, ...], table: Mapping[type, tuple | None]) -> st.SearchStrategy[Any]:
    """Objects of the kinds; each class has the same probability."""
    chosen = [kind for kind, arguments in table.items() if arguments is not None and issubclass(kind, kinds)]
    if not chosen:
        raise _checks.refusal(name, "be classes of which the library has one", kinds)
    return st.sampled_from(chosen).flatmap(lambda kind: st.builds(kind, *(table[kind] or ())))


@st.composite
def _levels(draw: st.DrawFn, n: int) -> np.ndarray:
    """An unsorted spectrum in float64."""
    # Numbers of a grid shrink better than floats, and none of them is subnormal, which would have lost digits.
    number = st.integers(-(2**20), 2**20).map(lambda k: k / 2**20)
    several = lambda values: np.array(draw(st.lists(values, min_size=n, max_size=n)))
    index = np.arange(n)
    kinds = {
        "generic": lambda: several(number),
        "ties": lambda: several(st.sampled_from([-1.0, 0.0, 0.5, 1.0])),
        "equal": lambda: np.full(n, draw(number)),
        "zero": lambda: np.zeros(n),
        "rank one": lambda: np.where(index == 0, draw(number), 0),
        "graded": lambda: np.logspace(0, -8, n),
        "clusters": lambda: several(number)[index // 2] + 1e-9 * (index % 2),
    }
    levels = kinds[draw(st.sampled_from(list(kinds)))]()
    return levels * 10.0 ** draw(st.integers(-3, 3))


@st.composite
def _hermitian_matrices(draw: st.DrawFn, n: int, dtype: DTypeLike) -> Inexact[Array, "n n"]:
    levels = draw(_levels(n))
    if draw(st.booleans()):
        return jnp.asarray(np.diag(levels), dtype)
    random = np.random.default_rng(draw(st.integers(0, 2**31 - 1)))
    g = random.standard_normal((n, n))
    if np.issubdtype(np.dtype(dtype), np.complexfloating):
        g = g + 1j * random.standard_normal((n, n))
    basis, _ = np.linalg.qr(g)
    a = (basis * levels) @ basis.conj().T
    return jnp.asarray((a + a.conj().T) / 2, dtype)
