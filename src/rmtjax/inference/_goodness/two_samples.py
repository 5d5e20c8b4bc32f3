"""Whether two sets of spectra come from the same ensemble, by permutations of the spectra."""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Float

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._module import AbstractModule
from rmtjax._ordering import in_order
from rmtjax._promotion import in_one_precision, like
from rmtjax._typing import KeyScalar
from rmtjax.inference._goodness.bootstrap import all_valid
from rmtjax.inference._goodness.p_value import monte_carlo_p_value
from rmtjax.simulation import simulate
from rmtjax.spectra.internal import Levels, ValuesLike, checked_values

# Distribution functions are compared at all values of both sets, or at this number of them. At 4096 of 40,000 values
# the supremum is missed by at most 1e-4 of the change that a set of spectra can have between two points.
_MOST_POINTS = 4096
# The number of permutations in one matrix product.
_AT_ONCE = 256
Name = Literal["kolmogorov-smirnov", "cramer-von-mises", "energy"]
_NAMES: tuple[Name, ...] = get_args(Name)


class SpectraComparison(AbstractModule):
    """The distance of two sets of spectra, and the probability of a larger one if the spectra are exchangeable.

    As text it is one line.

    Args:
        statistic: the distance.
        p_value: the share of the permutations with a distance at least as large.
        spectra: number of spectra in each set.
        test: name of the statistic.
        null: the distances of the permutations.

    Example:
        >>> import jax.numpy as jnp
        >>> print(SpectraComparison(jnp.asarray(0.31), jnp.asarray(0.02), (5, 7), "energy", jnp.zeros(99)))
        energy: distance 0.31, p = 0.02 for 5 and 7 spectra, by 99 permutations
    """

    statistic: Float[Array, ""]
    p_value: Float[Array, ""]
    spectra: tuple[int, int] = eqx.field(static=True)
    test: str = eqx.field(static=True)
    null: Float[Array, " permutations"]

    @property
    def resamples(self) -> int:
        """Number of permutations."""
        return self.null.shape[-1]

    def __str__(self) -> str:
        if any(isinstance(leaf, Tracer) or leaf.ndim for leaf in (self.statistic, self.p_value)):
            return repr(self)
        first, second = self.spectra
        found = f"{self.test}: distance {float(self.statistic):.4g}, p = {float(self.p_value):.4g}"
        return f"{found} for {first} and {second} spectra, by {self.resamples} permutations"


def compare_spectra(
    a: ValuesLike,
    b: ValuesLike,
    *,
    key: KeyScalar,
    statistic: Name | Callable[[Any, Any], Any] = "cramer-von-mises",
    resamples: int = 999,
) -> SpectraComparison:
    r"""Test whether two sets of spectra have the same law, by permutations of the spectra over the two sets.

    Levels of one matrix depend on each other, so whole spectra are exchanged, not levels. The p-value
    $(1 + \#\{T^* \ge T\})/(\text{resamples} + 1)$ is exact whatever the law of a spectrum, as long as the spectra
    are independent and of one size. Let F and G be the distribution functions of the two sets, means over their
    spectra, and H that of both sets. The statistic is

    - "kolmogorov-smirnov": $\sup_x |F - G|$;
    - "cramer-von-mises": $\int (F - G)^2\,dH$, which does not depend on the unit of the levels;
    - "energy": $2\int (F - G)^2\,dx$, the energy distance, for which a level far out counts more.

    They compare densities. To compare correlations between the levels of a spectrum, pass `statistics.gap_ratios` or
    spacings instead of levels, or give a function.

    Args:
        a: values of m₁ independent spectra, `(m₁, n₁)`, also masked; levels, spacings or ratios, in any order. Each
            spectrum has the same weight, whatever the number of its values.
        b: values of m₂ independent spectra, `(m₂, n₂)`. With n₁ ≠ n₂ effects of the size count as a difference.
        key: a typed key for the permutations.
        statistic: one of the names, or a function of two arrays `(m₁, n)` and `(m₂, n)` of spectra of one size, which
            returns a number that is large where they differ. It is static.
        resamples: number of permutations; no p-value is smaller than 1/(resamples + 1), nor than the inverse of
            the number of ways to divide the spectra. It is static.

    Returns:
        A `SpectraComparison`: `statistic`, `p_value`, `spectra`, `null`, …

    Raises:
        ValueError: `a` or `b` is not `(m, n)` finite real numbers, or both have one spectrum.
        ValueError: `a` or `b` has 18 or more rows that are levels and not spectra.
        ValueError: `statistic` is a function, and spectra are masked or of two sizes.
        ValueError: another argument is outside its range.

    Example:
        >>> import jax, rmtjax as rmt
        >>> draw = lambda ensemble, seed: jax.vmap(ensemble.eigenvalues)(jax.random.split(jax.random.key(seed), 30))
        >>> a, b = draw(rmt.GOE(30), 0), draw(rmt.GOE(30, scale=1.05), 1)
        >>> print(rmt.inference.compare_spectra(a, b, key=jax.random.key(2), resamples=199).p_value < 0.05)
        True

    References:
        Davison and Hinkley (1997), Bootstrap Methods and their Application, section 4.3; Székely and Rizzo (2013), J.
        Stat. Plan. Inference 143, 1249, for the energy distance.
    """
    first, second = (checked_values(set_, name=name) for name, set_ in (("a", a), ("b", b)))
    for name, each in (("a", first), ("b", second)):
        if each.values.ndim != 2 or each.values.size == 0:
            raise _checks.refusal(name, "have the shape (m, n), m independent spectra of n values", each.values.shape)
    sizes = first.values.shape[0], second.values.shape[0]
    if sum(sizes) == 2:
        raise _checks.refusal("a", "have more than one spectrum, or `b`, as nothing else can be exchanged", sizes)
    resamples = _checks.integer("resamples", resamples, at_least=1)
    _checks.typed_key(key)
    valid = _checks.all_kept(all_valid(first), all_valid(second))
    for name, each in (("a", first), ("b", second)):
        valid = _checks.all_kept(valid, _EXCHANGEABLE.kept(name, each.values, each.mask))
    first, second = in_one_precision((first, second))
    if isinstance(statistic, str):
        _checks.choice("statistic", statistic, Name)
        found, test = _by_name(resamples, key, first, second)[statistic], statistic
    elif callable(statistic):
        found = _by_function(statistic, resamples, key, first, second)
        test = getattr(statistic, "__name__", "a function")
    else:
        raise _checks.refusal("statistic", f"be one of {', '.join(map(repr, _NAMES))}, or a function", statistic)
    distance, p_value, null = _checks.masked(valid, found)
    return SpectraComparison(distance, p_value, sizes, test, null)


def _exchangeable(values: Any, mask: Any) -> Any:
    """Whether the rows may be exchangeable spectra, and not the levels of spectra in columns.

    The values in one place of m exchangeable spectra ascend from row to row with a probability of at most 1/m!. Rows
    that are ascending levels themselves always pass.
    """
    down, along = (values[1:] > values[:-1]).all(), (values[:, 1:] >= values[:, :-1]).all()
    return (len(values) < _MANY) | ~down | along | ~mask.all()


# In units of eps: two divisions into the same sets may differ by rounding, and count as equal.
_ROUNDING = 64
# 1/m! is less than e⁻³⁶, the rounding unit of float64.
_MANY = 18
_EXCHANGEABLE = _checks.Rule(
    _exchangeable,
    "have independent spectra as rows",
    lambda values, mask: f"{values.shape} with columns in ascending order: the transpose `.T` has spectra as rows",
)


@partial(compiled, static_argnums=0)
def _by_name(resamples: int, key: KeyScalar, a: Levels, b: Levels) -> dict[str, tuple[Array, Array, Array]]:
    """All statistics with their p-values and permutations, because the choice of one would save next to nothing."""
    points, widths = _points(a, b)
    each = jnp.concatenate([_cumulative(part.values, part.mask, points) for part in (a, b)])
    sizes = a.values.shape[0], b.values.shape[0]
    # The difference of the two means is a product with these weights.
    weights = jnp.asarray(np.repeat([1 / sizes[0], -1 / sizes[1]], sizes), points.dtype)

    def distances(weights: Float[Array, " m"]) -> dict[str, Array]:
        apart = weights @ each
        return {
            "kolmogorov-smirnov": jnp.max(jnp.abs(apart)),
            "cramer-von-mises": jnp.mean(apart**2, where=points < jnp.inf),
            "energy": 2 * jnp.sum(apart**2 * widths),
        }

    # Batches have one size, and the last one may go beyond the number of permutations.
    batches = -(-resamples // _AT_ONCE)
    numbers = jnp.arange(batches * -(-resamples // batches)).reshape(batches, -1)
    shuffled = lambda i: distances(jax.random.permutation(jax.random.fold_in(key, i), weights))
    null = jax.lax.map(jax.vmap(shuffled), numbers)
    null = {name: each.ravel()[:resamples] for name, each in null.items()}
    found = distances(weights)
    return {name: (found[name], monte_carlo_p_value(found[name], null[name], _ROUNDING), null[name]) for name in _NAMES}


def _points(a: Levels, b: Levels) -> tuple[Array, Array]:
    """Values of both sets, ascending, and the distance to the next one; if there are many, some evenly by rank."""
    parts = [jnp.where(part.mask, part.values, jnp.inf).ravel() for part in (a, b)]
    points = in_order(jnp.concatenate(parts))
    if points.size > _MOST_POINTS:
        points = points[np.linspace(0, points.size - 1, _MOST_POINTS).round().astype(int)]
    known = points < jnp.inf
    widths = jnp.diff(jnp.where(known, points, 0), append=0)
    return points, jnp.where(jnp.append(known[1:], False), widths, 0)


def _cumulative(values: Float[Array, "m n"], mask: Bool[Array, "m n"], points: Float[Array, " k"]) -> Array:
    """The distribution function of each spectrum at the points."""
    ascending = in_order(jnp.where(mask, values.astype(points.dtype), jnp.inf))
    counts = jax.vmap(partial(jnp.searchsorted, side="right"), (0, None))(ascending, points)
    number = like(points, jnp.sum(mask, axis=-1, keepdims=True))
    return jnp.minimum(like(points, counts), number) / number


def _by_function(
    statistic: Callable, resamples: int, key: KeyScalar, a: Levels, b: Levels
) -> tuple[Array, Array, Array]:
    shapes = a.values.shape, b.values.shape
    if shapes[0][1] != shapes[1][1]:
        raise _checks.refusal(
            "b", f"have {shapes[0][1]} values in each spectrum, as `a` has, for a function", shapes[1]
        )
    for name, each in (("a", a), ("b", b)):
        if not isinstance(each.mask, Tracer) and not np.asarray(each.mask).all():
            raise _checks.refusal(name, "have no masked values, for a function", each.values.shape)
    both = jnp.concatenate([a.values, b.values])
    found = _number(statistic(a.values, b.values))
    null = simulate(partial(_shuffled, statistic, shapes[0][0]), key, resamples, args=(both,), progress=False)
    return found, monte_carlo_p_value(found, null, _ROUNDING), null


def _shuffled(statistic: Callable, first: int, key: KeyScalar, both: Float[Array, "m n"]) -> Float[Array, ""]:
    shuffled = jax.random.permutation(key, both)
    return _number(statistic(shuffled[:first], shuffled[first:]))


def _number(value: Any) -> Float[Array, ""]:
    found = _checks.real("statistic", value)
    if found.ndim:
        raise _checks.refusal("statistic", "return a number", found.shape)
    return found
