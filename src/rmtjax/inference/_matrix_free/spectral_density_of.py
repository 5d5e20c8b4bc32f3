"""The spectrum of an operator that is known only by its products with vectors, by stochastic Lanczos quadrature."""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._automatic import mesh_of
from rmtjax._compile import compiled, soon
from rmtjax._promotion import like
from rmtjax._staging import is_staged
from rmtjax._threefry import unrolled
from rmtjax._typing import KeyScalar, PyTree
from rmtjax.inference._matrix_free.lanczos import Tridiagonal, tridiagonalised
from rmtjax.inference._matrix_free.sparse import SparseMatrix, is_sparse, operands, product, rows_of
from rmtjax.inference._matrix_free.spectral_density_estimate import SpectralDensityEstimate
from rmtjax.inference._matrix_free.vectors import VectorKind, vector_kind
from rmtjax.linalg import SymTridiagonal, eigh
from rmtjax.simulation import simulate

# The default number of products of a probe, if the operator has as many levels.
_DEPTH = 80

_FINITE = _checks.Rule(
    lambda sizes: (abs(sizes) < np.inf).all(),
    "return finite numbers",
    lambda sizes: f"NaN or infinity for {(~np.isfinite(sizes)).sum()} of {sizes.size} probes",
)
# Half of the digits must agree: products from a solver, or sums in another order, are not symmetric to all digits.
_SYMMETRIC = _checks.Rule(
    lambda asymmetry: (asymmetry <= np.sqrt(np.finfo(asymmetry.dtype).eps)).all(),
    "be symmetric (Hermitian)",
    lambda asymmetry: f"<u, A v> and <A u, v> that differ by {asymmetry.max():.1e} of their size",
)


def spectral_density_of(
    matvec: Callable[..., PyTree] | SparseMatrix,
    key: KeyScalar,
    n: int | PyTree | None = None,
    *,
    args: tuple[Any, ...] = (),
    depth: int | None = None,
    probes: int = 8,
    dtype: Any = None,
    orthogonal: bool = True,
) -> SpectralDensityEstimate:
    r"""The spectrum of a symmetric or Hermitian operator from its products with vectors.

    Each of a few random vectors is multiplied `depth` times. Lanczos' tridiagonal matrix of these products is the
    quadrature of Gauss for the weights with which the vector sees the levels. Only `depth` vectors are stored at a
    time, never the matrix. Levels that stand apart from the others, as in a Hessian, converge first and to all digits;
    of the bulk one sees the shape, as sharp as the `resolution` of the result.

    Convention: probes are uniform on the unit sphere, real or complex, so that averages over the spectrum have no bias.
    Probe i uses `jax.random.fold_in(key, i)`. `rmt.simulate` draws them over all devices, by a program for the
    structure of `matvec` and `args`: a function that takes its parameters by `args` is compiled once for all values,
    but a new lambda is compiled at each call.

    Args:
        matvec: the product, a linear function of JAX of a vector and of `args`; or a sparse matrix of SciPy, whose
            entries become the `args` of a product in JAX, so that matrices with as many entries share one program.
        key: a typed key.
        n: order of the operator, or an example of its vectors: a pytree of arrays of one dtype, such as the parameters
            of a network. A matrix brings its own.
        args: further arguments of `matvec`, pytrees of arrays.
        depth: products of a probe, at most the order; by default 80, or the order if it is smaller. Static.
        probes: number of random vectors, at least 1. Averages are uncertain by the square root of 2/(n · probes), so
            that one is enough for a million levels. Static.
        dtype: dtype of the vectors, if n is an order; by default the one that `matvec` makes of JAX's default.
        orthogonal: whether each product is made orthogonal to all earlier ones; static. Without it a few vectors are
            stored instead of `depth`, and the n · depth² steps are saved that take longer than the products of a sparse
            matrix. Means of Chebyshev's polynomials of degrees below twice the depth, and so densities, are right to
            10 · depth · eps (measured up to depth 800). But a converged level is found several times, so that
            `extreme_levels`, `cdf_bracket`, `cdf_band` and `spectral_outliers` refuse the result.

    Returns:
        A `SpectralDensityEstimate`, as differentiable in `args` as `matvec`; reverse mode keeps the bases of all steps.

    Raises:
        ValueError: `matvec` returns another shape or dtype than it takes, or NaN.
        ValueError: `matvec` is not symmetric to half of the digits, by its products and one more for each probe. Inside
            of a compiled program there is no further product, and an asymmetry that is seen gives NaN.

    Example:
        >>> import jax, rmtjax as rmt
        >>> a = rmt.GOE(1000).sample(jax.random.key(0))
        >>> found = rmt.inference.spectral_density_of(lambda v, a: a @ v, jax.random.key(1), 1000, args=(a,))
        >>> print(f"{found.density(0.0)}, semicircle {rmt.laws.Semicircle(2.0).pdf(0.0):.3f}")
        0.312 ± 0.018, semicircle 0.318

    References:
        Ubaru, Chen and Saad (2017), SIAM J. Matrix Anal. Appl. 38, 1075; Ghorbani, Krishnan and Xiao (2019), ICML, for
        Hessians of networks; Knizhnerman (1996), Comput. Math. Math. Phys. 36, 1481, for averages if not `orthogonal`.
    """
    key = _checks.typed_key(key)
    if is_sparse(matvec):
        if n is not None or args != ():
            raise _checks.refusal("n, args", "be left out for a sparse matrix", (n, args))
        rows = rows_of("matvec", matvec)
        matvec, n, args = product, rows.shape[0], operands(rows)
    if not callable(matvec):
        must = "be a function of a vector, or a sparse matrix of SciPy (of an array `lambda v, a: a @ v`, `args=(a,)`)"
        raise _checks.refusal("matvec", must, matvec)
    if n is None:
        raise _checks.refusal("n", "be the order of the operator, or an example of its vectors", n)
    if not isinstance(args, tuple):
        raise _checks.refusal("args", "be a tuple", args)
    _checks.passed_on("args", args)
    kind = vector_kind(n, dtype)
    depth = min(_DEPTH, kind.n) if depth is None else _checks.integer("depth", depth, at_least=1)
    if depth > kind.n:
        raise _checks.refusal("depth", f"be at most {kind.n}, the order", depth)
    probes = _checks.integer("probes", probes, at_least=1)
    orthogonal = bool(_checks.choice("orthogonal", orthogonal, Literal[True, False]))
    steps = _all_probes(partial(_probe, matvec, kind, depth, not is_staged(), orthogonal), key, probes, args)
    valid = _checks.all_kept(_FINITE.kept("matvec", steps.size), _SYMMETRIC.kept("matvec", steps.asymmetry))
    beta = 2 if jnp.iscomplexobj(steps.diagonal) else 1
    quadrature = _quadrature(steps._replace(diagonal=steps.diagonal.real))
    nodes, weights, residuals = _checks.masked(valid, quadrature)
    return SpectralDensityEstimate(nodes, weights, residuals, steps.complete, kind.n, beta, orthogonal)


def _all_probes(probe: Callable[..., Tridiagonal], key: KeyScalar, probes: int, args: tuple) -> Tridiagonal:
    """The steps from all vectors."""
    if not is_staged():
        with soon():
            return simulate(probe, key, probes, args=args, progress=False)
    # Inside of a user's program the devices are not ours to share out, and inside of `shard_map` nobody can.
    with mesh_of((key, args)):
        keys = jax.vmap(jax.random.fold_in, (None, 0))(key, jnp.arange(probes))
        return jax.lax.map(lambda key: probe(key, *args), keys)


def _probe(
    matvec: Callable[..., PyTree],
    kind: VectorKind,
    depth: int,
    witnessed: bool,
    orthogonal: bool,
    key: KeyScalar,
    *args: PyTree,
) -> Tridiagonal:
    """Lanczos' steps from one random vector, with another one as a witness of the symmetry if `witnessed`."""
    product, dtype = kind.flat_product(matvec, args)
    # This gives the same bits as `key`, by a program that compiles sooner.
    keys = jax.random.split(unrolled(key))[: 1 + witnessed]
    vectors = jax.vmap(partial(jax.random.normal, shape=(kind.n,), dtype=dtype))(keys)
    vectors = vectors / like(vectors, jnp.linalg.norm(vectors, axis=-1, keepdims=True))
    return tridiagonalised(product, *vectors, depth=depth, orthogonal=orthogonal)


@compiled
def _quadrature(steps: Tridiagonal) -> tuple[Float[Array, "probes depth"], ...]:
    """Nodes, weights and residuals of the tridiagonal matrices of all probes (Golub and Welsch)."""
    d, e, order, unit = steps.diagonal, steps.off_diagonal, steps.order[:, None], steps.unit[:, None]
    place = jnp.arange(d.shape[-1], dtype=order.dtype)[None]
    there = place < order
    # Missing rows get levels above all others, and vectors of their own.
    bound = jnp.max(jnp.abs(d) + 2 * jnp.abs(e), axis=-1, keepdims=True)
    rows = jnp.where(there, d, like(d, 2 + place) * jnp.where(bound > 0, bound, 1))
    matrix = SymTridiagonal(rows, jnp.where(place + 1 < order, e, 0)[:, :-1])
    nodes, vectors = eigh(matrix.todense())
    last = jnp.take_along_axis(nodes, order - 1, axis=-1)
    left = jnp.take_along_axis(e, order - 1, axis=-1)
    ends = jnp.abs(jnp.take_along_axis(vectors, order[:, None] - 1, axis=-2))[:, 0]
    weights = jnp.where(there, vectors[:, 0] ** 2, 0)
    nodes = jnp.where(there, nodes, last)
    rounding = 4 * jnp.finfo(d.dtype).eps * bound
    residuals = jnp.where(there, left * ends + rounding, jnp.inf)
    return nodes * unit, weights / jnp.sum(weights, axis=-1, keepdims=True), residuals * unit
