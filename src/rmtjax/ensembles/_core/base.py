"""The abstract ensembles: every public method once, and the hooks that an ensemble fills in."""

from abc import abstractmethod
from typing import Annotated, Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.core import Tracer
from jax.sharding import Mesh
from jaxtyping import Array, Float, Inexact, Int

from rmtjax import _checks
from rmtjax._mesh import on_all_devices, spread_over
from rmtjax._module import AbstractModule
from rmtjax._promotion import in_one_precision
from rmtjax._typing import ArrayLike, IntegerLike, KeyScalar, RealLike, Side
from rmtjax.ensembles._core.edge import Edge
from rmtjax.ensembles._core.joint_density import anywhere
from rmtjax.ensembles._core.with_law import Law, WithLaw
from rmtjax.laws import AbstractLaw
from rmtjax.laws.internal import ClassicalSpectrum
from rmtjax.linalg import PaddedMatrix, eigvalsh
from rmtjax.linalg.internal import AbstractEntries, hermitian_part, leading_block_spectrum
from rmtjax.random.internal import self_dual_part
from rmtjax.spectra import Spectrum
from rmtjax.spectra.internal import count_below, inside_block


def _has_quaternions(matrix: Any) -> Any:
    """Whether the 2×2 blocks of the Hermitian part are quaternions, in half of the digits; also true for NaN."""
    h = matrix / 2 + matrix.conj().T / 2
    a, b, c, d = (h[i::2, j::2] for i in (0, 1) for j in (0, 1))
    most = float(jnp.finfo(h.dtype).eps) ** 0.5 * abs(h).max()
    return ~((abs(a - d.conj()).max() > most) | (abs(b + c.conj()).max() > most))


_QUATERNIONS = _checks.Rule(
    _has_quaternions, "have a quaternion for each 2×2 block, with rows (a, b) and (-b*, a*), for beta = 4"
)


class AbstractEnsemble(AbstractModule):
    """A probability measure on matrices with real eigenvalues.

    A subclass defines `_sample`; `_law` if one is known; `_eigenvalues` or `_count_below` if it knows an exact model
    cheaper than the dense matrix; `_joint_logpdf` if it knows the joint density; `_components` and `_logpdf` if it
    knows the density of the matrices; and `_independent_levels` if symmetry leaves fewer than n independent levels.
    Public methods are final and take one typed key; `jax.vmap` over keys makes batches.

    For one key, `count_below` counts the levels that `eigenvalues` returns. The count is exact for every x that differs
    from each level by more than its rounding error, 4 eps of the norm. `sample` with the same key is a different draw:
    the spectrum of a particular matrix is `rmt.eigvalsh(ensemble.sample(key))`.
    """

    n: eqx.AbstractVar[int]

    @abstractmethod
    def _sample(self, key: KeyScalar) -> Inexact[Array, "n n"]:
        """A dense matrix."""

    def _law(self) -> AbstractLaw:
        """Limiting law of one eigenvalue."""
        raise NotImplementedError(f"The limiting law of {type(self).__name__} is not known.")

    def _eigenvalues(self, key: KeyScalar) -> Float[Array, " n"]:
        if type(self)._some_eigenvalues is not AbstractEnsemble._some_eigenvalues:
            return self._some_eigenvalues(key, first=0, last=self.n, corner=self.n)
        return eigvalsh(self._sample(key))

    def _count_below(self, key: KeyScalar, x: Float[Array, "..."], chunk: int | None) -> Int[Array, "..."]:
        return count_below(self._eigenvalues(key), x)

    def _some_eigenvalues(self, key: KeyScalar, *, first: int, last: int, corner: int) -> Float[Array, " k"]:
        """The ascending levels `first` to `last - 1`, from `corner` rows of the model where a part of it is enough."""
        return self._eigenvalues(key)[first:last]

    def _has_reduced_model(self) -> bool:
        """Whether the levels are computed and counted by a tridiagonal or bidiagonal matrix."""
        return type(self)._count_below is not AbstractEnsemble._count_below

    def _corner(self, k: int, corner: int | None) -> tuple[int, Any]:
        """The number of rows of a reduced model for the k extreme levels at one end, and whether it is sufficient."""
        return self.n, True

    def _soft_edge(self, *, upper: bool) -> Edge:
        raise NotImplementedError(f"The soft edges of {type(self).__name__} are not known.")

    def _hard_edge(self, *, upper: bool) -> Edge:
        raise NotImplementedError(f"{type(self).__name__} has no hard edge there that is known.")

    def _degree_in_scale(self) -> int:
        """The degree of homogeneity of the levels in the parameter `scale`; 0 if there is no such parameter."""
        return 0

    def _independent_levels(self) -> int:
        """The number of levels that determine all others; `joint_logpdf` takes this many."""
        return self.n

    def _classical_spectrum(self) -> ClassicalSpectrum | None:
        """The classical spectrum of the levels in some unit, for `laws.LevelDensity`; None if there is none."""
        return None

    def _independent_entries(self) -> AbstractEntries | None:
        """The independent entries of a tridiagonal model of the levels, for `simulate_rare`; None if there is none.

        Levels that are always 0 are left out.
        """
        return None

    def _has_density(self) -> Any:
        """Whether the levels have a joint density at these parameters; like `_valid`, it raises or is traced."""
        return True

    def _joint_logpdf(self, levels: Float[Array, " k"]) -> Float[Array, ""]:
        raise NotImplementedError(f"The joint density of the eigenvalues of {type(self).__name__} is not known.")

    def _has_form(self, matrix: Inexact[Array, "rows rows"]) -> Any:
        """Whether a matrix has the form of all samples, up to rounding; like `_valid`, it raises or is traced."""
        return _QUATERNIONS.kept("matrix", matrix) if self._components() == 4 else True

    def _components(self) -> int:
        """The number β of real components of an entry, for `logpdf`; raises if the matrices have no known density."""
        raise NotImplementedError(f"The matrices of {type(self).__name__} have no density, or none that is known.")

    def _logpdf(self, matrix: Inexact[Array, "rows rows"]) -> Float[Array, ""]:
        """The density of a Hermitian matrix, made of exact quaternion blocks for β = 4."""
        raise NotImplementedError(f"The matrices of {type(self).__name__} have no density, or none that is known.")

    def sample(self, key: KeyScalar) -> Inexact[Array, "n n"]:
        """A matrix drawn from the ensemble."""
        return self._run(self._sample, _checks.typed_key(key))

    def eigenvalues(self, key: KeyScalar, *, mesh: Mesh | None = None) -> Float[Array, " n"]:
        """The ascending eigenvalues of a draw, exact in distribution; not those of `sample(key)` with the same key.

        Args:
            key: a typed key.
            mesh: devices that share the levels of a tridiagonal or bidiagonal model, as in
                `SymTridiagonal.eigenvalues`; each device makes the whole model. By default one device does all.

        Raises:
            ValueError: `mesh` is not a mesh.
            NotImplementedError: `mesh` is given, but the levels come from a dense matrix.
        """
        self, key = self._on_all_devices(mesh, _checks.typed_key(key))
        degree = self._degree_in_scale()
        scale = getattr(self, "scale", None) if degree else None
        with spread_over(mesh):
            if not isinstance(scale, Tracer):
                return self._run(self._eigenvalues, key)
            # A traced scale multiplies the levels at scale 1: its derivatives need no program besides the levels' own.
            unit = eqx.tree_at(lambda ensemble: ensemble.scale, self, jax.lax.full_like(scale, 1))
            return scale**degree * unit._run(unit._eigenvalues, key, valid=self._valid())

    def count_below(
        self, key: KeyScalar, x: RealLike, *, chunk: int | None = None, mesh: Mesh | None = None
    ) -> Int[Array, "..."]:
        """How many of the levels `eigenvalues(key)` lie strictly below each x.

        Args:
            key: a typed key.
            x: points of any shape and order, without NaN.
            chunk: approximate number of rows drawn at a time by ensembles that are drawn as a stream (the Gaussian
                ones); it affects the memory, never the result; static.
            mesh: devices that share the points, as in `SymTridiagonal.count_below`, where there is a tridiagonal or
                bidiagonal model; each device makes the whole model.

        Raises:
            ValueError: `x` contains NaN, `chunk` is not a positive integer, or `mesh` is not a mesh.
            NotImplementedError: `mesh` is given, but the levels come from a dense matrix.
        """
        chunk = None if chunk is None else _checks.integer("chunk", chunk, at_least=1)
        points, valid = _checks.points("x", x)
        self, key, points = self._on_all_devices(mesh, _checks.typed_key(key), points)
        with spread_over(mesh):
            return _checks.masked(valid, self._run(self._count_below, key, points, chunk=chunk))

    def _on_all_devices(self, mesh: Mesh | None, *operands: Array) -> tuple:
        """The ensemble and the operands, with a copy on every device of the mesh; None leaves them where they are."""
        if mesh is not None and not self._has_reduced_model():
            raise NotImplementedError(
                f"{type(self).__name__} has no reduced model here whose levels `mesh` could share."
            )
        return on_all_devices(mesh, (self, *operands))

    def largest_eigenvalues(self, key: KeyScalar, k: int = 1, *, corner: int | None = None) -> Float[Array, " k"]:
        r"""The k largest of the levels `eigenvalues(key)`, ascending; a reduced model finds a few faster than all.

        Args:
            key: a typed key.
            k: number of levels, 1 ≤ k ≤ n; static.
            corner: number of rows to keep of the tridiagonal model of a Gaussian ensemble, at least k; static. It is
                needed where β < 1 is traced: the levels are NaN without it. Too few rows pull the levels inward. The
                default for a known β, about $n^{1/3} (10 + 4\, k^{2/3} + 10\, \beta^{-2/3})$, keeps every digit. Other
                ensembles ignore it.

        Raises:
            ValueError: an argument is outside its range.
        """
        return self._extreme_eigenvalues(key, k, corner, upper=True)

    def smallest_eigenvalues(self, key: KeyScalar, k: int = 1, *, corner: int | None = None) -> Float[Array, " k"]:
        """The k smallest of the levels `eigenvalues(key)`, ascending; see `largest_eigenvalues`."""
        return self._extreme_eigenvalues(key, k, corner, upper=False)

    def _extreme_eigenvalues(self, key: KeyScalar, k: int, corner: int | None, *, upper: bool) -> Float[Array, " k"]:
        k = self._number_of_levels(k, corner)
        size, valid = self._corner(k, corner)
        first, last = (self.n - k, self.n) if upper else (0, k)
        order = size if size < self.n else None
        options = {"first": first, "last": last, "corner": size}
        return self._run(self._some_eigenvalues, _checks.typed_key(key), valid=valid, order=order, **options)

    def _number_of_levels(self, k: int, corner: int | None) -> int:
        """The number k of wanted levels, checked together with the corner."""
        k = _checks.integer("k", k, at_least=1)
        if k > self.n:
            raise _checks.refusal("k", f"be at most {self.n}", k)
        if corner is not None:
            _checks.integer("corner", corner, at_least=k)
        return k

    def soft_edge(self, side: Side = "upper") -> Edge:
        """Where the density of the levels ends like a square root, and the law of the level next to that end.

        The law is `TracyWidom` if β is static, and `StochasticAiry`, within its range of β, if β is a parameter.
        Levels that are forced to be 0 or 1 do not count: where a Wishart matrix has n - m zeros, the level next to the
        lower edge is the last of `smallest_eigenvalues(key, n - m + 1)`.

        Args:
            side: `"upper"` or `"lower"`; static.

        Raises:
            NotImplementedError: this ensemble has no such edge, or its constants are not known.
            ValueError: `side` is neither of the two, or there is no soft edge at these parameters.
        """
        upper = _checks.choice("side", side, Side) == "upper"
        return _checks.masked(self._valid(), in_one_precision(self)._soft_edge(upper=upper))

    def hard_edge(self, side: Side = "lower") -> Edge:
        """Where a bound of the levels cuts their density off, at 0 or at 1, and the law of the level next to it.

        The edge is hard if the difference of the sizes stays fixed as they grow, and soft if it grows with them. Levels
        that are forced to be 0 or 1 do not count.

        Args:
            side: `"upper"` or `"lower"`; static.

        Raises:
            NotImplementedError: this ensemble has no such edge, or its constants are not known.
            ValueError: `side` is neither of the two, or the law is not known for these sizes.
        """
        upper = _checks.choice("side", side, Side) == "upper"
        return _checks.masked(self._valid(), in_one_precision(self)._hard_edge(upper=upper))

    def law(self: WithLaw[Law]) -> Law:
        """Limiting law of one eigenvalue at these parameters, as n → ∞.

        Raises:
            NotImplementedError: no law of its levels is known.
        """
        return _checks.masked(self._valid(), in_one_precision(self)._law())

    def joint_logpdf(self, eigenvalues: RealLike) -> Float[Array, ""]:
        r"""Logarithm of the joint density of the eigenvalues, normalised to 1 over all of $\mathbb{R}^n$.

        The density is symmetric; the density of the ascending levels is n! times as large. It is differentiable in the
        levels and the parameters and takes O(n²) time and O(n) memory. Terms of order n² log n cancel; their rounding
        errors remain.

        Args:
            eigenvalues: n levels in any order; the result is $-\infty$ if two coincide or one is infinite. If levels
                come in pairs ±ε (`AltlandZirnbauer`), the k positive levels, whose density over $(0, \infty)^k$ is
                returned.

        Raises:
            NotImplementedError: the joint density of this ensemble is not known.
            ValueError: `eigenvalues` is not a vector of that many real numbers, or contains NaN.
        """
        levels, valid = _checks.levels("eigenvalues", eigenvalues, self._independent_levels())
        return self._run(self._anywhere_joint_logpdf, levels, valid=_checks.all_kept(valid, self._has_density()))

    def _anywhere_joint_logpdf(self, levels: Float[Array, " k"]) -> Float[Array, ""]:
        return anywhere(self._joint_logpdf, levels)

    def logpdf(self, matrix: Annotated[ArrayLike, "rows rows"]) -> Float[Array, ""]:
        r"""Logarithm of the density of a matrix; `joint_logpdf` is the density of its eigenvalues.

        The density is with respect to the real numbers that the matrix is made of: the n entries of the diagonal, and
        the 1, 2 or 4 components of each entry above it (β = 1, 2, 4). It is differentiable in the matrix and in the
        parameters.

        Args:
            matrix: n×n, or 2n×2n with a 2×2 block for each quaternion if β = 4; replaced by its Hermitian part. The
                result is $-\infty$ outside of the support, for instance for a Wishart matrix that is not positive
                definite, or under a transformation for blocks that are no quaternions.

        Raises:
            NotImplementedError: the matrices have no density, as they are singular or have entries that are fixed, or
                the density is not known.
            ValueError: `matrix` has another shape, is complex for β = 1, or is not finite.
            ValueError: the blocks of `matrix` are known not to be quaternions, in the first half of their digits.
        """
        beta = self._components()
        rows, a = (2 if beta == 4 else 1) * self.n, _checks.numbers("matrix", matrix, "hold real or complex numbers")
        if a.shape != (rows, rows):
            several = " (use `jax.vmap` for several)" if a.shape[-2:] == (rows, rows) else ""
            raise _checks.refusal("matrix", f"have the shape ({rows}, {rows}){several}", a.shape)
        if beta == 1 and jnp.iscomplexobj(a):
            raise _checks.refusal("matrix", "be real for beta = 1", a.dtype.name)
        _checks.in_range("matrix", matrix, a)
        valid = _checks.all_kept(_checks.ALL_FINITE.kept("matrix", a), self._has_density())
        density, inside = self._run(self._hermitian_logpdf, a, valid=valid), self._has_form(a)
        return density if inside is True else jnp.where(inside, density, -jnp.inf)

    def _hermitian_logpdf(self, matrix: Inexact[Array, "rows rows"]) -> Float[Array, ""]:
        h = hermitian_part(matrix)
        return self._logpdf(self_dual_part(h) if self._components() == 4 else h)


class AbstractNestedEnsemble(AbstractEnsemble):
    """An ensemble whose samples have leading k×k blocks that are samples of order k, up to a known scale.

    Orders may be traced: the blocks live in arrays of static size n, so one compilation serves every order. A subclass
    also defines `_rescaling`, and the laws of a block: `_block_law`, `_rescaled_law` and `_binomial_law`.
    """

    @abstractmethod
    def _rescaling(self, order: Int[Array, ""]) -> Float[Array, ""]:
        """The factor that turns a block of that order into a sample of this ensemble at size `order`."""

    @abstractmethod
    def _binomial_law(self, mixture: Float[Array, ""]) -> AbstractLaw:
        """Pooled law of the blocks whose order is binomial, clipped to [2, n], in the units of the whole matrix."""

    @abstractmethod
    def _rescaled_law(self, fraction: Float[Array, ""]) -> AbstractLaw:
        """Limiting law of a block of order `fraction`·n, rescaled to be a sample of that size."""

    @abstractmethod
    def _block_law(self, fraction: Float[Array, ""]) -> AbstractLaw:
        """Limiting law of a block of order `fraction`·n, in the units of the whole matrix."""

    def _rows(self, order: Int[Array, ""]) -> Int[Array, ""]:
        """Number of rows of a block with `order` levels."""
        return order

    def _leading_block(self, key: KeyScalar, order: Int[Array, ""]) -> Inexact[Array, "rows rows"]:
        matrix = self._sample(key)
        rows = inside_block(self._rows(order), matrix.shape[-1])
        return jnp.where(rows[:, None] & rows[None, :], matrix, 0)

    def _leading_block_eigenvalues(self, key: KeyScalar, order: Int[Array, ""]) -> Spectrum:
        block = _checks.square_matrix("sample", self._leading_block(key, order))
        return leading_block_spectrum(hermitian_part(block), order)

    def _leading_block_counts(self, key: KeyScalar, order: Int[Array, ""], x: Float[Array, "..."]) -> Int[Array, "..."]:
        return self._leading_block_eigenvalues(key, order).count_below(x)

    def leading_block(self, key: KeyScalar, order: IntegerLike) -> PaddedMatrix:
        """The leading block of a draw, in the units of the whole matrix.

        Args:
            key: a typed key.
            order: 1 ≤ order ≤ n; may be traced.

        Returns:
            An array of the size of a sample, zero outside the block, and the number of rows of the block. This is the
            order, or twice the order if every eigenvalue is double (as in `GSE`). A traced order out of range gives NaN
            and the order -1.
        """
        order, valid = self._checked(order)
        return self._run(self._padded_leading_block, _checks.typed_key(key), order, valid=valid)

    def leading_block_eigenvalues(self, key: KeyScalar, order: IntegerLike) -> Spectrum:
        """The spectrum of the leading block of a draw; not that of `leading_block(key, order)` with the same key.

        Args:
            key: a typed key.
            order: 1 ≤ order ≤ n; may be traced.

        Returns:
            A spectrum of length n, of which `order` levels count.
        """
        order, valid = self._checked(order)
        return self._run(self._leading_block_eigenvalues, _checks.typed_key(key), order, valid=valid)

    def _padded_leading_block(self, key: KeyScalar, order: Int[Array, ""]) -> PaddedMatrix:
        return PaddedMatrix(self._leading_block(key, order), self._rows(order))

    def _checked(self, order: IntegerLike) -> tuple[Int[Array, ""], Any]:
        """The order as an array, and whether it lies between 1 and n."""
        array = _checks.whole("order", order, "be an integer")
        if array.shape != ():
            raise _checks.refusal("order", "be an integer", order)
        rule = _checks.Rule(lambda order: (order >= 1) & (order <= self.n), f"lie between 1 and {self.n}")
        return array, rule.kept("order", array)
