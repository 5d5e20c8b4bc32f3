"""Probabilities of rare events of the levels, with standard errors."""

from collections.abc import Callable
from typing import Any, Literal, Protocol

import jax
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._compile import is_small, programs
from rmtjax._promotion import common_dtype
from rmtjax._staging import at_once, is_traced
from rmtjax._typing import KeyScalar, RealScalarLike
from rmtjax.linalg import SymTridiagonal
from rmtjax.linalg.internal import AbstractEntries, HermiteEntries
from rmtjax.simulation._rare import pulled, pushed, splitting
from rmtjax.simulation._rare.result import RareEvent, complement, mean_and_error

# With fewer groups of particles the standard error itself would not be known.
_FEWEST_GROUPS = 32
# Elementary steps of a row of one draw.
_STEPS = 64


def _largest(matrix: SymTridiagonal) -> Float[Array, ""]:
    return matrix.eigenvalues((matrix.n - 1, matrix.n))[0]


def _smallest(matrix: SymTridiagonal) -> Float[Array, ""]:
    return matrix.eigenvalues((0, 1))[0]


Name = Literal["largest", "smallest"]
_NAMED: dict[str, Callable[[SymTridiagonal], Array]] = {"largest": _largest, "smallest": _smallest}


class WithEntries(Protocol):
    """An ensemble with the hooks that describe a tridiagonal model."""

    @property
    def n(self) -> int: ...

    def _independent_entries(self) -> AbstractEntries | None: ...

    def _has_density(self) -> Any: ...

    def _valid(self) -> Any: ...


def simulate_rare(
    ensemble: WithEntries,
    key: KeyScalar,
    statistic: Name | Callable[[SymTridiagonal], Any],
    threshold: RealScalarLike,
    num_samples: int = 10_000,
    *,
    side: Literal["above", "below"] = "above",
    method: Literal["importance", "splitting"] | None = None,
) -> RareEvent:
    r"""The probability that a statistic of the levels lies above, or below, a threshold, however small it is.

    All methods draw the independent entries of a tridiagonal matrix with the same levels, in O(n) operations and O(1)
    memory for a draw and a row. There are three methods:

    *Pulled.* For an extreme level far out of the bulk, of the Gaussian ensembles or the largest one of Wishart and
    Laguerre ensembles. The joint density is integrated, with the expectation over the other levels under a tilted
    tridiagonal model. The relative variance of a draw is about 0.1 at the edge of the bulk and falls beyond: a thousand
    draws give 1e-30 to 0.1 %.

    *Pushed.* For all levels of a Gaussian ensemble on one side of a threshold inside of the bulk, for instance all of
    them negative: a sequential Monte Carlo method on the pivots. The relative variance of a draw is 1 to 5 for n from
    10 to 1000 and β ≥ 0.3, whether the probability is 0.1 or $10^{-100000}$; it grows as β falls further.

    *Splitting.* For any function of the tridiagonal matrix. For a probability p the relative variance of a draw is at
    least $\log^2 p/2$, and each draw has about $-6 \log p$ moves. All of this holds only if the moves forget where they
    came from, which they do not if the rare set has parts that are far from each other.

    The first two are the method `"importance"`. If their event is not rare, they simulate the opposite event. Estimates
    of the probability by importance sampling are unbiased; those by splitting are unbiased given the levels of a first
    run.

    In single precision the logarithm has an error of about $10^{-7} \beta n$ (pulled) or
    $10^{-7} \beta n^{3/2} \log n$ (pushed), besides its own rounding.

    Args:
        ensemble: one with independent entries: `GOE`, `GUE`, `GSE`, `GaussianBeta`, `LaguerreBeta`, and `Wishart`, for
            n > m with its `"largest"` level only; β must be finite.
        key: a typed key.
        statistic: `"largest"` or `"smallest"` level, or for splitting a function that takes an `rmt.SymTridiagonal`
            with the levels of the ensemble and returns a real number that varies continuously (matrices climb along it,
            which they cannot on steps); static. NaN counts as outside of the event.
        threshold: finite, in the unit of the statistic. If the threshold or the ensemble is traced, the programs for
            pulled and pushed levels are both compiled, and under `vmap` both computed.
        num_samples: number of draws, at least 2; static. It is rounded up to at least 32 whole groups of particles, of
            64 for pushed levels and 128 for splitting.
        side: `"above"` for P(statistic > threshold), `"below"` for P(statistic < threshold); static.
        method: `"importance"`, `"splitting"`, or None for the first one that applies; static.

    Returns:
        A `simulation.RareEvent` with `log_probability`, `probability`, `relative_standard_error`, the number of draws
        and the method. If the event occurs in no draw, the logarithm is $-\infty$ and the error is infinite.

    Raises:
        ValueError: an argument is not as described; the method does not apply; for the largest level of a Wishart or
            Laguerre ensemble, the threshold is not beyond the end of the bulk.

    Example:
        >>> import jax
        >>> import rmtjax as rmt
        >>> event = simulate_rare(rmt.GOE(100), jax.random.key(0), "largest", 0.0, 1000, side="below")  # all negative
        >>> print(f"{event.log_probability:.0f}, rate {event.log_probability / 100**2:.3f}")
        -2785, rate -0.279

    References:
        Jiang, Leder and Xu (2017), Ann. Statist. 45, 1609; Dean and Majumdar (2006), Phys. Rev. Lett. 97, 160201;
        Cérou and Guyader (2007), Stoch. Anal. Appl. 25, 417.
    """
    entries = _entries(ensemble)
    named = isinstance(statistic, str)
    if named:
        _checks.choice("statistic", statistic, Name)
    elif not callable(statistic):
        raise _checks.refusal("statistic", f"be one of {', '.join(map(repr, _NAMED))} or a function", statistic)
    if entries.n < ensemble.n and statistic != "largest":
        raise _checks.refusal("statistic", "be 'largest' for an ensemble with levels that are always 0", statistic)
    level = _checks.scalar("threshold", threshold)
    key = _checks.typed_key(key)
    num_samples = _checks.integer("num_samples", num_samples, at_least=2)
    above = _checks.choice("side", side, Literal["above", "below"]) == "above"
    able = named and (isinstance(entries, HermiteEntries) or (statistic == "largest" and above))
    method = _checks.choice("method", method, Literal[None, "importance", "splitting"])
    if method == "importance" and not able:
        must = f"be 'splitting' for this statistic and side of {type(ensemble).__name__}"
        raise _checks.refusal("method", must, method)
    valid = _checks.all_kept(ensemble._valid(), ensemble._has_density(), _checks.FINITE.kept("threshold", level))
    dtype = common_dtype(entries.beta, entries.unit, level)
    entries, level = jax.tree.map(lambda leaf: leaf.astype(dtype), (entries, level))
    way = None
    if able and method != "splitting":
        if statistic == "smallest":  # the levels of the Gaussian ensembles are symmetric about 0
            level, above = -level, not above
        way = _way(entries, level)
        if way is None and method == "importance":
            raise _checks.refusal("threshold", "lie beyond the end of the bulk for the method 'importance'", threshold)
    if way is None:
        method, groups = "splitting", max(_FEWEST_GROUPS, -(-num_samples // splitting.GROUP))
        of_matrix = statistic if callable(statistic) else _NAMED[statistic]
        result = mean_and_error(splitting.log_weights(entries, of_matrix, level, key, groups, above=above))
        num_samples = groups * splitting.GROUP
    else:
        method = "importance"
        if way != "pulled":
            num_samples = pushed.GROUP * max(_FEWEST_GROUPS, -(-num_samples // pushed.GROUP))
        small = is_small((entries, level, key), entries.n, work=_STEPS * num_samples * entries.n)
        result = _program(small)(entries, level, key, num_samples, way, above)
    log_probability, error = _checks.masked(valid, result)
    return RareEvent(log_probability, error, num_samples, method)


def _entries(ensemble: Any) -> AbstractEntries:
    """The independent entries of an ensemble that has them."""
    hook = getattr(ensemble, "_independent_entries", None)
    entries = None if hook is None else hook()
    if entries is None:
        must = "have a tridiagonal model with independent entries (Gaussian, Laguerre or Wishart)"
        raise _checks.refusal("ensemble", must, ensemble)
    return entries


def _way(entries: AbstractEntries, level: Float[Array, ""]) -> str | None:
    """How the event that the largest level exceeds `level` is simulated; None if it cannot be."""
    both = isinstance(entries, HermiteEntries)
    if is_traced((entries, level)):
        return "either" if both else "pulled or NaN"
    with at_once():
        beyond = bool(level >= entries.unit * entries.soft_edge()[0])
    return "pulled" if beyond else "pushed" if both else None


def _importance(
    entries: AbstractEntries, level: Float[Array, ""], key: KeyScalar, num_samples: int, way: str, above: bool
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """The logarithm of the probability that the largest level is above or below `level`, and its standard error."""

    def from_pulled() -> tuple[Float[Array, ""], Float[Array, ""]]:
        found = mean_and_error(pulled.log_weights(entries, level, key, num_samples))
        return found if above else complement(*found)

    def from_pushed() -> tuple[Float[Array, ""], Float[Array, ""]]:
        assert isinstance(entries, HermiteEntries)
        found = mean_and_error(pushed.log_weights(entries, level, key, num_samples // pushed.GROUP))
        return complement(*found) if above else found

    if way == "pushed":
        return from_pushed()
    if way == "pulled":
        return from_pulled()
    beyond = level >= entries.unit * entries.soft_edge()[0]
    if way == "either":
        return jax.lax.cond(beyond, from_pulled, from_pushed)
    return _checks.masked(beyond, from_pulled())


_program = programs(_importance, static_argnums=(3, 4, 5))
