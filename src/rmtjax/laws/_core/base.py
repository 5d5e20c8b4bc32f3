"""The abstract law: every public method, defined once, and the hooks that a law fills in."""

import math
from abc import abstractmethod

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from rmtjax import _checks
from rmtjax._promotion import common_dtype, in_one_precision, like
from rmtjax._typing import KeyScalar, RealLike
from rmtjax._units import times_power
from rmtjax.laws._core import fallbacks
from rmtjax.laws._core.scaled import AbstractScaledLaw
from rmtjax.special.internal import log_one_plus, logarithm

# Moments up to this order are computed for the law in its own unit, where nothing overflows in single precision.
FEW = 8


class AbstractLaw(AbstractScaledLaw):
    r"""A probability distribution on the line, possibly with point masses.

    A subclass defines `_support` and `_pdf`, and any other hook for which it has a formula: `_cdf` and `_sf`, or
    `_tails` for both at once, `_logpdf`, `_logcdf`, `_logsf`, `_ppf`, `_sample`, `_moment`, `_var`, `_central_moments`,
    `_quadrature`, `_breakpoints`, `_atoms`, `_pdf_at_ends`, `_carrier`. If its support is infinite, it must define
    `_breakpoints`. The elementwise hooks are only called with finite points strictly inside of the carrier,
    which is the support unless `_carrier` is defined. Hooks that are not defined have numerical fall-backs
    (`rmtjax.laws._core.fallbacks`). `_degrees` says which parameters carry a unit; then the hooks only see numbers of
    order one. The public methods are final.

    Values outside the support are exact (0, 1 or -inf) and have the derivative 0. The derivative is also 0 exactly at
    an end of the support, where a one-sided derivative may be infinite. NaN arguments give NaN. Results have the dtype
    of the argument, promoted with the dtype of the parameters; Python numbers as parameters do not change it.
    """

    # The fall-back refuses moments of higher orders, for which the quadrature does not reach far enough.
    _highest_order = 100

    @abstractmethod
    def _support(self) -> tuple[Array, Array]:
        """Ends of the smallest interval that carries the law; they may be infinite."""

    def _carrier(self) -> tuple[Array, Array]:
        """An interval that carries the law, where the smallest takes a search."""
        return self._support()

    @abstractmethod
    def _pdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """Density of the continuous part, elementwise, inside the support."""

    def _logpdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return logarithm(self._pdf(x))

    def _cdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return self._tails(x)[0] if self._has_tails() else fallbacks.cdf(self, x)

    def _sf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return self._tails(x)[1] if self._has_tails() else 1 - self._cdf(x)

    def _has_tails(self) -> bool:
        return type(self)._tails is not AbstractLaw._tails

    def _tails(self, x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """The masses up to x and above x, for laws that compute both at once."""
        return self._cdf(x), self._sf(x)

    def _logcdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        below, above = self._tails(x)
        return _log_of_one_of_two(below, above)

    def _logsf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        below, above = self._tails(x)
        return _log_of_one_of_two(above, below)

    def _ppf(self, p: Float[Array, "..."], q: Float[Array, "..."]) -> Float[Array, "..."]:
        """The quantile of p; q = 1 - p is given as well, as it has more digits above the median. Here dq = -dp."""
        return fallbacks.ppf(self, p, q)

    def _sample(self, key: KeyScalar, shape: tuple[int, ...]) -> Float[Array, "..."]:
        return fallbacks.sample(self, key, shape)

    def _quadrature(self) -> tuple[Float[Array, " m"], Float[Array, " m"]]:
        """Points and their masses; moments are sums over all points."""
        return fallbacks.quadrature(self)

    def _moment(self, k: int) -> Float[Array, ""]:
        return fallbacks.moment(self, k)

    def _var(self) -> Float[Array, ""]:
        return self._central_moments(2)[0]

    def _central_moments(self, *orders: int) -> tuple[Float[Array, ""], ...]:
        """The central moments of the requested orders, out of 2, 3 and 4, from one computation."""
        return fallbacks.central_moments(self, orders)

    def _breakpoints(self) -> Float[Array, " k"]:
        """The points that `breakpoints` returns; quantiles are searched for between the first and the last."""
        ends = self._support()
        if any(isinstance(end, float) and math.isinf(end) for end in ends):
            raise NotImplementedError(f"{type(self).__name__} has an infinite support and has to write `_breakpoints`.")
        return jnp.stack(ends)

    def _pdf_at_ends(self) -> tuple[Array | float, Array | float]:
        """The density at the lower and at the upper end of the support; 0 where it is infinite."""
        return 0.0, 0.0

    def _atoms(self) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
        none = jnp.zeros(0, common_dtype(*self._carrier()))
        return none, none

    def support(self) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Left and right end of the smallest interval that carries the law."""
        return self._run(self._promised_support)

    def breakpoints(self) -> Float[Array, " k"]:
        """Ascending finite points between which the density is smooth, for quadrature on the panels between them.

        The first and the last are the ends of the support. A point so far out that the mass beyond it is lost in
        rounding stands in for an infinite end.
        """
        return self._run(self._promised_breakpoints)

    def atoms(self) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
        """Locations and masses of the point masses; both empty for a continuous law."""
        return self._run(self._promised_atoms)

    def pdf(self, x: RealLike) -> Float[Array, "..."]:
        """Probability density of the continuous part at each x; 0 outside the support.

        At an end of the support it is the limit from inside, or 0 if that limit is infinite.
        """
        return self._run(self._promised, _checks.real("x", x), quantity="pdf")

    def logpdf(self, x: RealLike) -> Float[Array, "..."]:
        """Logarithm of the density; -inf where the density is 0."""
        return self._run(self._promised, _checks.real("x", x), quantity="logpdf")

    def cdf(self, x: RealLike) -> Float[Array, "..."]:
        """Distribution function P(X ≤ x)."""
        return self._run(self._promised, _checks.real("x", x), quantity="cdf")

    def logcdf(self, x: RealLike) -> Float[Array, "..."]:
        """Logarithm of the distribution function."""
        return self._run(self._promised, _checks.real("x", x), quantity="logcdf")

    def sf(self, x: RealLike) -> Float[Array, "..."]:
        """Survival function P(X > x), without the cancellation of 1 - cdf where the law has a formula."""
        return self._run(self._promised, _checks.real("x", x), quantity="sf")

    def logsf(self, x: RealLike) -> Float[Array, "..."]:
        """Logarithm of the survival function."""
        return self._run(self._promised, _checks.real("x", x), quantity="logsf")

    def ppf(self, p: RealLike) -> Float[Array, "..."]:
        """Smallest x with P(X ≤ x) ≥ p; NaN for p outside [0, 1]."""
        p = _checks.real("p", p)
        return self._run(self._promised_ppf, p, 1 - p)

    def isf(self, q: RealLike) -> Float[Array, "..."]:
        """Smallest x with P(X > x) ≤ q; NaN for q outside [0, 1].

        It is the quantile of 1 - q, but without the rounding of 1 - q if the law has a formula for `sf`.
        """
        q = _checks.real("q", q)
        return self._run(self._promised_ppf, 1 - q, q)

    def median(self) -> Float[Array, ""]:
        """The quantile of one half."""
        return self.ppf(0.5)

    def sample(self, key: KeyScalar, shape: int | tuple[int, ...] = ()) -> Float[Array, "..."]:
        """Independent draws.

        Args:
            key: a typed key.
            shape: shape of the array of draws; an integer gives a vector of that length.
        """
        return self._run(self._promised_sample, _checks.typed_key(key), shape=_checks.shape(shape))

    def mean(self) -> Float[Array, ""]:
        """Expected value."""
        return self._run(self._promised_moment, k=1)

    def var(self) -> Float[Array, ""]:
        """Variance."""
        return self._run(self._promised_var)

    def std(self) -> Float[Array, ""]:
        """Standard deviation."""
        return self._run(self._promised_std)

    def skewness(self) -> Float[Array, ""]:
        """Third central moment in units of the standard deviation."""
        return self._run(self._promised_skewness)

    def kurtosis(self) -> Float[Array, ""]:
        """Excess kurtosis: the fourth central moment over the squared variance, minus 3, so that a Gaussian has 0."""
        return self._run(self._promised_kurtosis)

    def moment(self, k: int) -> Float[Array, ""]:
        """The k-th moment about 0, E[X^k], for an integer k from 0 to 10000; infinite where it overflows.

        Where there is no formula for every order, k is at most 100, or 20 or 40 where densities are tabulated.
        """
        return self._run(self._promised_moment, k=_checks.integer("k", k, at_least=0, at_most=10_000))

    # These methods compute what the public methods return, and other laws call them. Hooks see the law in its own unit.

    def _promised(self, x: Float[Array, "..."], *, quantity: str) -> PyTree[Float[Array, "..."]]:
        """One of `pdf`, …, `logsf` and `tails`."""
        law, unit = self._in_unit()
        values = law._on_support(_normal(x) * (1 / unit), quantity=quantity)
        if quantity == "logpdf":
            return values - jnp.log(unit)
        return values * (1 / unit) if quantity == "pdf" else jax.tree.map(_RANGES[quantity], values)

    def _promised_ppf(self, p: Float[Array, "..."], q: Float[Array, "..."]) -> Float[Array, "..."]:
        law, unit = self._in_unit()
        return law._everywhere_ppf(p, q) * unit

    def _promised_support(self) -> tuple[Array, Array]:
        law, unit = self._in_unit()
        lower, upper = law._support()
        return lower * unit, upper * unit

    def _promised_breakpoints(self) -> Float[Array, " k"]:
        law, unit = self._in_unit()
        return law._breakpoints() * unit

    def _promised_atoms(self) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
        law, unit = self._in_unit()
        locations, masses = law._atoms()
        return locations * unit, masses

    def _promised_sample(self, key: KeyScalar, *, shape: tuple[int, ...]) -> Float[Array, "..."]:
        law, unit = self._in_unit()
        return self._as_promised(law._sample(key, shape) * unit)

    def _promised_moment(self, *, k: int) -> Float[Array, ""]:
        # At higher orders the moment of the law in its unit might overflow or become 0 where this moment does not.
        law, unit = self._in_unit() if k <= FEW else (self, 1.0)
        return self._as_promised(times_power(law._moment(k), unit, k))

    def _promised_var(self) -> Float[Array, ""]:
        law, unit = self._in_unit()
        return self._as_promised(times_power(law._var(), unit, 2))

    def _promised_std(self) -> Float[Array, ""]:
        law, unit = self._in_unit()
        return self._as_promised(jnp.sqrt(law._var()) * unit)

    def _promised_central_moments(self, *orders: int) -> tuple[Float[Array, ""], ...]:
        law, unit = self._in_unit()
        moments = law._central_moments(*orders) if orders else ()
        return tuple(self._as_promised(times_power(m, unit, k)) for k, m in zip(orders, moments, strict=True))

    def _promised_skewness(self) -> Float[Array, ""]:
        second, third = self._in_unit()[0]._central_moments(2, 3)
        return self._as_promised(third / second**1.5)

    def _promised_kurtosis(self) -> Float[Array, ""]:
        second, fourth = self._in_unit()[0]._central_moments(2, 4)
        return self._as_promised(fourth / second**2 - 3)

    def _first_atom(self) -> Float[Array, ""]:
        """The point mass at the lower end of its carrier; 0 if there is none."""
        locations, masses = self._atoms()
        return jnp.sum(jnp.where(locations == self._carrier()[0], masses, 0))

    def _as_promised(self, values: Array, *arguments: Array) -> Array:
        """The values in the promoted dtype of arguments and parameters; formulas may compute in a wider dtype."""
        parameters = [leaf for leaf in jax.tree.leaves(self) if isinstance(leaf, jax.Array | float)]
        parameters = [leaf for leaf in parameters if jnp.issubdtype(jnp.result_type(leaf), jnp.inexact)]
        return values.astype(common_dtype(*([*arguments, *parameters] or self._support())))

    def _on_support(self, x: Float[Array, "..."], *, quantity: str) -> PyTree[Float[Array, "..."]]:
        """One of `pdf`, …, `logsf` and `tails`: its formula inside the support, known values at and beyond the ends."""
        atom = self._first_atom()
        density = [jnp.asarray(value) for value in self._pdf_at_ends()]
        # The functions are lazy so that only the requested quantity is computed.
        formula, below, at_lower, at_upper, above = {
            "pdf": lambda: (self._pdf, 0, *density, 0),
            "logpdf": lambda: (self._logpdf, -jnp.inf, *map(logarithm, density), -jnp.inf),
            "cdf": lambda: (self._cdf, 0, atom, 1, 1),
            "logcdf": lambda: (self._logcdf, -jnp.inf, logarithm(atom), 0, 0),
            "sf": lambda: (self._sf, 1, 1 - atom, 0, 0),
            "logsf": lambda: (self._logsf, 0, logarithm(1 - atom), -jnp.inf, -jnp.inf),
            "tails": lambda: (lambda x: tuple(self._tails(x)), (0, 1), (atom, 1 - atom), (1, 0), (1, 0)),
        }[quantity]()
        lower, upper = self._carrier()
        x, lower, upper = in_one_precision((_normal(x), lower, upper))
        inside = (x > lower) & (x < upper)
        # The formula never sees a point where it is singular: a NaN there would spoil the gradient of the `where`.
        values = formula(jnp.where(inside, x, _inside(lower, upper)))

        def everywhere(values: Array, below: Array, at_lower: Array, at_upper: Array, above: Array) -> Array:
            values, at_lower, at_upper = like(x, values), like(x, at_lower), like(x, at_upper)
            at_or_above = jnp.where(x == lower, at_lower, jnp.where(x == upper, at_upper, above))
            outside = jnp.where(x < lower, below, at_or_above)
            return self._as_promised(jnp.where(jnp.isnan(x), x, jnp.where(inside, values, outside)), x)

        return jax.tree.map(everywhere, values, below, at_lower, at_upper, above)

    def _everywhere_ppf(self, p: Float[Array, "..."], q: Float[Array, "..."]) -> Float[Array, "..."]:
        """The quantile of p = 1 - q, exact at 0 and 1 and NaN beyond them."""
        lower, upper = self._support()
        p, q, lower, upper = in_one_precision((p, q, lower, upper))
        # A point mass at the lower end is the quantile of a whole interval of probabilities.
        inside = (p > like(p, self._first_atom())) & (q > 0)
        x = self._ppf(jnp.where(inside, p, 0.5), jnp.where(inside, q, 0.5))
        x = jnp.where(inside, like(p, x), jnp.where(q > 0, lower, upper))
        return self._as_promised(jnp.where((p >= 0) & (q >= 0), x, jnp.nan), p)


def _normal(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """The numbers x, but 0 for subnormal ones, which processors take for 0 in some operations and not in others."""
    return x - jax.lax.stop_gradient(jnp.where(jnp.abs(x) < jnp.finfo(x.dtype).tiny, x, 0))


def _probability(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """A probability that rounding may have moved out of [0, 1]."""
    return jnp.where(x > 1, 1, jnp.where(x < 0, 0, x))


def _log_probability(x: Float[Array, "..."]) -> Float[Array, "..."]:
    return jnp.where(x > 0, 0, x)


# What brings a quantity into its range.
_RANGES = {"cdf": _probability, "sf": _probability, "tails": _probability}
_RANGES |= {"logcdf": _log_probability, "logsf": _log_probability}


def _inside(lower: Float[Array, ""], upper: Float[Array, ""]) -> Float[Array, ""]:
    """A finite point strictly between the ends: their midpoint, or 1 away from the only finite end, or 0."""
    low, high = jnp.isfinite(lower), jnp.isfinite(upper)
    below, above = jnp.where(low, lower, 0), jnp.where(high, upper, 0)
    one_sided = jnp.where(low, below + 1, jnp.where(high, above - 1, 0))
    return jnp.where(low & high, below / 2 + above / 2, one_sided)


def _log_of_one_of_two(probability: Float[Array, "..."], rest: Float[Array, "..."]) -> Float[Array, "..."]:
    """The logarithm of a probability; near 1 it comes from the complement, because only this has the digits there."""
    near_one = probability > 0.75
    far = logarithm(jnp.where(near_one, 1, probability))
    return jnp.where(near_one, log_one_plus(-jnp.where(near_one, rest, 0)), far)
