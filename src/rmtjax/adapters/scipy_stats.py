"""Laws as frozen distributions of `scipy.stats`, for the tests, plots and scripts that expect one."""

import itertools
from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import scipy.integrate
import scipy.special
import scipy.stats

from rmtjax import _checks
from rmtjax._typing import RealLike
from rmtjax.laws import AbstractLaw


class FrozenLaw:
    """A law with the interface of a frozen distribution of `scipy.stats`, for NumPy and in double precision.

    Called as a function it is the distribution function, as `scipy.stats.kstest` and `cramervonmises` need. Point
    masses are in `cdf`, `ppf`, `rvs` and all moments; `pdf` is the density of the rest.

    Args:
        law: any law of `rmtjax.laws`, with known parameters.

    Example:
        >>> import rmtjax as rmt
        >>> semicircle = FrozenLaw(rmt.laws.Semicircle(2.0))
        >>> print(semicircle.support(), f"{semicircle.isf(0.25):.4f} {semicircle.expect(abs):.4f}")
        (-2.0, 2.0) 0.8079 0.8488
    """

    def __init__(self, law: AbstractLaw):
        if not isinstance(law, AbstractLaw):
            raise _checks.refusal("law", "be a law of `rmtjax.laws`", law)
        with jax.enable_x64(True):
            self.law: AbstractLaw = jax.tree.map(_widened, law)
        self.random_state = None

    def __repr__(self) -> str:
        return f"FrozenLaw({self.law!r})"

    def __call__(self, x: RealLike) -> Any:
        """Distribution function P(X ≤ x)."""
        return self.cdf(x)

    @property
    def a(self) -> float:
        """The lower end of the support. A law of SciPy has its own scale apart, and an end without it."""
        return self.support()[0]

    @property
    def b(self) -> float:
        """The upper end of the support."""
        return self.support()[1]

    @property
    def random_state(self) -> Any:
        """What `rvs` draws from without a `random_state` of its own: a generator, or the global state of NumPy.

        It may be set to None, an integer or a generator. After an integer the draws go on from call to call.
        """
        return self._random_state

    @random_state.setter
    def random_state(self, value: Any) -> None:
        self._random_state = _generator(value)

    def pdf(self, x: RealLike) -> Any:
        """Density of the continuous part."""
        return self._values(self.law.pdf, x=x)

    def logpdf(self, x: RealLike) -> Any:
        """Logarithm of the density."""
        return self._values(self.law.logpdf, x=x)

    def cdf(self, x: RealLike) -> Any:
        """Distribution function P(X ≤ x)."""
        return self._values(self.law.cdf, x=x)

    def logcdf(self, x: RealLike) -> Any:
        """Logarithm of the distribution function."""
        return self._values(self.law.logcdf, x=x)

    def sf(self, x: RealLike) -> Any:
        """Survival function P(X > x), with all digits where it is small."""
        return self._values(self.law.sf, x=x)

    def logsf(self, x: RealLike) -> Any:
        """Logarithm of the survival function."""
        return self._values(self.law.logsf, x=x)

    def ppf(self, q: RealLike) -> Any:
        """Quantile: the smallest x with P(X ≤ x) ≥ q; NaN for q outside [0, 1]."""
        return self._values(self.law.ppf, q=q)

    def isf(self, q: RealLike) -> Any:
        """Quantile from above: the smallest x with P(X > x) ≤ q."""
        return self._values(self.law.isf, q=q)

    def rvs(self, size: int | tuple[int, ...] | None = None, random_state: Any = None) -> Any:
        """Independent draws.

        Args:
            size: shape of the draws; None for a single number.
            random_state: an integer, a generator of NumPy, or None for the attribute `random_state`, which is at first
                the global state of NumPy, as in `scipy.stats`.
        """
        generator = self.random_state if random_state is None else _generator(random_state)
        bits = np.frombuffer(generator.bytes(8), np.uint32)
        shape = () if size is None else _checks.shape(size, "size")
        with jax.enable_x64(True):
            key = jax.random.fold_in(jax.random.key(bits[0]), bits[1])
            return np.asarray(self.law.sample(key, shape), np.float64)[()]

    def mean(self) -> np.float64:
        """Expected value."""
        return self._values(self.law.mean)

    def median(self) -> np.float64:
        """The quantile of one half."""
        return self._values(self.law.median)

    def var(self) -> np.float64:
        """Variance."""
        return self._values(self.law.var)

    def std(self) -> np.float64:
        """Standard deviation."""
        return self._values(self.law.std)

    def moment(self, order: int) -> np.float64:
        """The moment E X^order about 0."""
        order = _checks.integer("order", order, at_least=0)
        with jax.enable_x64(True):
            return np.float64(self.law.moment(order))

    def stats(self, moments: str = "mv") -> Any:
        """Mean (`m`), variance (`v`), skewness (`s`) and excess kurtosis (`k`), as far as asked for, in this order."""
        methods = {"m": self.law.mean, "v": self.law.var, "s": self.law.skewness, "k": self.law.kurtosis}
        for each in moments:
            _checks.choice("moments", each, Literal["m", "v", "s", "k"])
        found = tuple(self._values(method) for name, method in methods.items() if name in moments)
        return found[0] if len(found) == 1 else found

    def support(self) -> tuple[float, float]:
        """The ends of the smallest interval that carries the law."""
        with jax.enable_x64(True):
            lower, upper = self.law.support()
            return float(lower), float(upper)

    def interval(self, confidence: RealLike) -> tuple[Any, Any]:
        """The interval around the median that has this probability, with equal tails."""
        with jax.enable_x64(True):
            confidence = np.asarray(_checks.real("confidence", confidence), np.float64)
        if not ((confidence >= 0) & (confidence <= 1)).all():
            raise _checks.refusal("confidence", "lie in [0, 1]", confidence)
        tail = (1 - confidence) / 2
        return self.ppf(tail), self.isf(tail)

    def entropy(self) -> float:
        """Differential entropy; -inf where a point has a mass."""
        with jax.enable_x64(True):
            if np.any(np.asarray(self.law.atoms()[1]) > 0):
                return -np.inf
        return self._integral(lambda x: scipy.special.entr(self.pdf(x)), *self.support())

    def fit(self, data: RealLike, **options: Any) -> tuple[np.float64, np.float64]:
        """The location and the scale of most likelihood, by SciPy's search.

        `data` are taken for independent draws of location + scale · X, where X has this law. Parameters of the law
        itself are not fitted: `inference` has fits, and `inference.log_likelihood` is the likelihood of any parameter.

        Args:
            data: finite numbers.
            options: as in `scipy.stats.rv_continuous.fit`: `floc` and `fscale` fix one of the two, `loc` and `scale`
                are where the search starts, `method` is `"MLE"` or `"MM"`.

        Returns:
            The location and the scale.

        Raises:
            ValueError: the law has masses at points, and no likelihood.
            ValueError: `data` are not finite numbers of at least two values.
        """
        with jax.enable_x64(True):
            values = np.ravel(np.asarray(_checks.real("data", data), np.float64))
        if values.size < 2 or not np.isfinite(values).all() or np.ptp(values) == 0:
            raise _checks.refusal("data", "be finite numbers, of which at least two differ", data)
        return _Continuous(self).fit(values, **options)

    def expect(
        self,
        func: Callable[[float], float] | None = None,
        lb: float | None = None,
        ub: float | None = None,
        conditional: bool = False,
        **options: Any,
    ) -> float:
        """The expected value of a function, over an interval if one is given.

        Args:
            func: a function of one number, by default the number itself.
            lb: lower end, by default the lower end of the support.
            ub: upper end, by default the upper end of the support; below `lb` it changes the sign.
            conditional: whether to divide by the probability of the interval.
            options: for `scipy.integrate.quad`, such as `epsabs` and `limit`.
        """
        func = func or (lambda x: x)
        lower, upper = self.support()
        lower, upper = lower if lb is None else lb, upper if ub is None else ub
        turned, (lower, upper) = upper < lower, sorted((lower, upper))
        with jax.enable_x64(True):
            locations, masses = (np.asarray(part, np.float64) for part in self.law.atoms())
        inside = (locations >= lower) & (locations <= upper)
        at_points = sum(mass * func(x) for x, mass in zip(locations[inside], masses[inside], strict=True))
        whole = self._integral(lambda x: func(x) * self.pdf(x), lower, upper, **options) + at_points
        if not conditional:
            return -whole if turned else whole
        below = self.cdf(lower) - masses[locations == lower].sum()
        probability = self.cdf(upper) - below
        return whole / probability if probability > 0 else np.nan

    def _integral(self, fn: Callable[[float], float], lower: float, upper: float, **options: Any) -> Any:
        """An integral over the panels of the density between two points."""
        with jax.enable_x64(True):
            panels = np.asarray(self.law.breakpoints(), np.float64)
        edges = np.unique(np.clip(panels, lower, upper))
        options = {"limit": 200} | options
        return sum((scipy.integrate.quad(fn, *ends, **options)[0] for ends in itertools.pairwise(edges)), start=0.0)

    @staticmethod
    def _values(method: Callable, **points: Any) -> Any:
        # SciPy computes in double precision, whatever JAX's default is.
        with jax.enable_x64(True):
            arrays = (np.asarray(_checks.real(name, each), np.float64) for name, each in points.items())
            return np.asarray(method(*arrays), np.float64)[()]


class _Continuous(scipy.stats.rv_continuous):
    """A law as SciPy's base class has it, for its search for location and scale."""

    def __init__(self, law: FrozenLaw):
        with jax.enable_x64(True):
            if np.any(np.asarray(law.law.atoms()[1]) > 0):
                raise _checks.refusal("law", "have a density, without masses at points, to be fitted", law.law)
        super().__init__(a=law.a, b=law.b, name=type(law.law).__name__)
        self._law = law

    def _pdf(self, x: Any, *shapes: Any) -> Any:
        return self._law.pdf(x)

    def _logpdf(self, x: Any, *shapes: Any) -> Any:
        return self._law.logpdf(x)

    def _cdf(self, x: Any, *shapes: Any) -> Any:
        return self._law.cdf(x)

    def _ppf(self, q: Any, *shapes: Any) -> Any:
        return self._law.ppf(q)

    def _stats(self) -> tuple[Any, ...]:
        return self._law.mean(), self._law.var(), None, None


def _widened(parameter: Any) -> Any:
    """A parameter of single precision in double precision, so that all results have all digits."""
    return jnp.asarray(parameter, float) if getattr(parameter, "dtype", None) == np.float32 else parameter


def _generator(random_state: Any) -> Any:
    if random_state is None:
        return np.random  # with the global state, as everywhere in `scipy.stats`
    if isinstance(random_state, np.random.Generator | np.random.RandomState):
        return random_state
    if not isinstance(random_state, int | np.integer) or random_state < 0:
        raise _checks.refusal(
            "random_state", "be None, an integer of at least 0, or a generator of NumPy", random_state
        )
    return np.random.default_rng(random_state)


def frozen(law: AbstractLaw) -> FrozenLaw:
    """The law as a frozen distribution of `scipy.stats`, like `scipy.stats.norm(0, 1)`.

    `scipy.stats.kstest(x, frozen(law))` and `cramervonmises` take it as a distribution function, `probplot` takes
    `dist=frozen(law)`, and `monte_carlo_test` takes its `rvs`. Their p-values hold for independent values. Levels of
    one matrix are not independent; `inference.kolmogorov_smirnov` has a calibration for them.

    Args:
        law: any law of `rmtjax.laws`, with known parameters.

    Returns:
        An object with `pdf`, `logpdf`, `cdf`, `logcdf`, `sf`, `logsf`, `ppf`, `isf`, `rvs`, `mean`, `median`, `var`,
        `std`, `moment`, `stats`, `support`, `interval`, `entropy`, `expect`, `fit`, `a`, `b` and `random_state`, as
        `scipy.stats` defines them.

    Example:
        >>> import rmtjax as rmt, scipy.stats
        >>> law = frozen(rmt.laws.Spacing(2))
        >>> print(f"{scipy.stats.kstest(law.rvs(1000, random_state=0), law).pvalue:.2f}")
        0.61
    """
    return FrozenLaw(law)
