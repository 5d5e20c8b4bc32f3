"""Three tests of whether levels follow a law, with p-values for independent values or by simulation."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Int
from typing_extensions import TypeAliasType

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._module import AbstractModule
from rmtjax._typing import KeyScalar
from rmtjax.ensembles import AbstractEnsemble, AbstractUnitaryEnsemble
from rmtjax.inference._goodness import null_tails
from rmtjax.inference._goodness.bootstrap import all_valid, fitted, null
from rmtjax.inference._goodness.distances import distance
from rmtjax.inference._goodness.kolmogorov import kolmogorov_tail
from rmtjax.inference._goodness.p_value import monte_carlo_p_value
from rmtjax.laws import AbstractLaw
from rmtjax.spectra.internal import Levels, ValuesLike, checked_values

Fit = Callable[[Any], AbstractLaw]
Calibration = TypeAliasType(
    "Calibration", Literal["independent"] | AbstractEnsemble | AbstractUnitaryEnsemble | Callable[[KeyScalar], Any]
)

Test = Literal["kolmogorov-smirnov", "cramer-von-mises", "anderson-darling"]
_TAILS: dict[Test, Any] = {
    "kolmogorov-smirnov": kolmogorov_tail,
    "cramer-von-mises": null_tails.cramer_von_mises_tail,
    "anderson-darling": null_tails.anderson_darling_tail,
}
_SYMBOLS = {"kolmogorov-smirnov": "D", "cramer-von-mises": "W²", "anderson-darling": "A²"}


class GoodnessOfFit(AbstractModule):
    """The distance of levels from a law, and the probability of a larger distance if they follow it.

    As text it is one line.

    Args:
        statistic: the distance.
        p_value: the probability of a distance at least as large.
        n: number of values that counted.
        test: name of the statistic.
        calibration: the source of the p-value, in words.
        null: the statistics of the draws; empty where no draws were made.

    Example:
        >>> import rmtjax as rmt
        >>> print(rmt.inference.kolmogorov_smirnov([0.1, 0.4, 0.6], rmt.laws.Uniform(), calibration="independent"))
        kolmogorov-smirnov: D = 0.4, p = 0.5947 for 3 independent values
    """

    statistic: Float[Array, ""]
    p_value: Float[Array, ""]
    n: Int[Array, ""]
    test: Test = eqx.field(static=True)
    calibration: str = eqx.field(static=True)
    null: Float[Array, " draws"]

    @property
    def resamples(self) -> int:
        """Number of draws that the p-value comes from, 0 for a formula."""
        return self.null.shape[0]

    def __str__(self) -> str:
        if any(isinstance(leaf, Tracer) or leaf.ndim for leaf in (self.statistic, self.p_value, self.n)):
            return repr(self)
        symbol = _SYMBOLS[self.test]
        found = f"{self.test}: {symbol} = {float(self.statistic):.4g}, p = {float(self.p_value):.4g}"
        if not self.resamples:
            return f"{found} for {int(self.n)} independent values"
        return f"{found} for {int(self.n)} values, by {self.resamples} draws of {self.calibration}"


def kolmogorov_smirnov(
    levels: ValuesLike,
    law: AbstractLaw | Fit,
    *,
    calibration: Calibration,
    key: KeyScalar | None = None,
    resamples: int = 999,
) -> GoodnessOfFit:
    r"""Test by the largest distance between the distribution functions, $D = \sup_x |F_n(x) - F(x)|$.

    All values together are one sample. `calibration` has to name what its distance is compared with. Levels of one
    matrix repel each other and are much nearer to their law than independent values. The formula for independent values
    would give p near 1 for them, and accept wrong laws. A parametric bootstrap draws spectra instead:
    $p = (1 + \#\{T^* \ge T\})/(\text{resamples} + 1)$ is exact, also for levels of finite matrices, which follow a law
    only in the limit.

    The law has to be known beforehand. If its parameters are fitted to the same levels, the distance is too small: give
    the function that fits them instead, and it is applied to the draws as well.

    Args:
        levels: values `(n,)`, or values of m independent spectra `(m, n)`, also a `Spectrum` or `MaskedValues`; levels,
            spacings or ratios, in any order. Further axes are further spectra of the same sample; `jax.vmap` tests
            several samples.
        law: any law of `laws`, or a function of levels that fits one. Values at a point mass do not count, because the
            rank of a matrix decides their number; the others are compared with the rest of the law. Laws and ensembles
            are compiled once for all their parameters. A function is known by its identity, and each new lambda or
            closure compiles the draws again, for seconds; so define it once, in a module.
        calibration: "independent" for the law of the statistic for independent values; an ensemble, or a function of a
            key that returns the values of one spectrum, for a bootstrap with m spectra in each draw.
        key: a typed key, for the bootstrap.
        resamples: number of draws of the bootstrap. It is static.

    Returns:
        A `GoodnessOfFit`: `statistic`, `p_value`, `n`, `null`, …
        For up to 50 independent values p is right to 1e-10 of itself (float32: 1e-4), however small. For more values
        its error is 2e-5 at n = 51, 3e-7 at n = 1000, and below p = 0.02 1e-6 of p.

    Raises:
        ValueError: `levels` are not finite real numbers, or `law` is no law.
        ValueError: `calibration` draws another number of levels, or is "independent" with a function that fits a law.
        ValueError: `key` is missing for the bootstrap, or `resamples` is outside its range.

    Example:
        >>> import jax, rmtjax as rmt
        >>> goe, (key, other) = rmt.GOE(40), jax.random.split(jax.random.key(0))
        >>> levels = goe.eigenvalues(key)
        >>> print(rmt.inference.kolmogorov_smirnov(levels, goe.law(), calibration=goe, key=other, resamples=99))
        kolmogorov-smirnov: D = ..., p = ... for 40 values, by 99 draws of GOE(n=40, scale=1.0)

    References:
        Kolmogorov (1933), Giorn. Ist. Ital. Attuari 4, 83; Durbin (1968), Ann. Math. Stat. 39, 398, and Marsaglia et
        al., for up to 50 values; Marsaglia, Tsang and Wang (2003), J. Stat. Softw. 8, 18; Birnbaum and Tingey (1951),
        Ann. Math. Stat. 22, 592, for the tail; Pelz and Good (1976), J. R. Stat. Soc. B 38, 152, for more values;
        Davison and Hinkley (1997), Bootstrap Methods and their Application, section 4.2, for the p-value.
    """
    return _tested("kolmogorov-smirnov", levels, law, calibration, key, resamples)


def cramer_von_mises(
    levels: ValuesLike,
    law: AbstractLaw | Fit,
    *,
    calibration: Calibration,
    key: KeyScalar | None = None,
    resamples: int = 999,
) -> GoodnessOfFit:
    r"""Test by the mean square of the distance, $W^2 = n \int (F_n - F)^2\,dF$.

    It sees a small change of the whole law better than the largest distance does. `inference.kolmogorov_smirnov`
    explains calibration and fitted parameters.

    Args:
        levels: values `(n,)`, or those of m independent spectra `(m, n)`, also masked.
        law: any law of `laws`, or a function of levels that fits one.
        calibration: "independent", an ensemble, or a function of a key that returns the values of one spectrum.
        key: a typed key, for the bootstrap.
        resamples: number of draws of the bootstrap. It is static.

    Returns:
        A `GoodnessOfFit`. For independent values p is right to 1e-3 of itself for every n (float32: 2e-3), down to
        p = 1e-12.

    Raises:
        ValueError: as in `inference.kolmogorov_smirnov`.

    Example:
        >>> import rmtjax as rmt
        >>> print(rmt.inference.cramer_von_mises([0.1, 0.4, 0.6], rmt.laws.Uniform(), calibration="independent"))
        cramer-von-mises: W² = 0.09667, p = 0.6317 for 3 independent values

    References:
        Csörgő and Faraway (1996), J. R. Stat. Soc. B 58, 221, for the law at each n; Knott (1974), J. R. Stat. Soc. B
        36, 430, for the method.
    """
    return _tested("cramer-von-mises", levels, law, calibration, key, resamples)


def anderson_darling(
    levels: ValuesLike,
    law: AbstractLaw | Fit,
    *,
    calibration: Calibration,
    key: KeyScalar | None = None,
    resamples: int = 999,
) -> GoodnessOfFit:
    r"""Test by the mean square of the distance in units of its spread, $A^2 = n \int (F_n - F)^2 / (F(1 - F))\,dF$.

    Both tails count as much as the middle, which is right for spacings and ratios, as universality classes differ at 0.
    The statistic is infinite as soon as one value lies outside of the support, as levels of finite matrices may beside
    a limiting law. Compare those with `laws.LevelDensity`, or take `inference.cramer_von_mises`. An infinite statistic
    has a p-value if at most 5 % of the draws are infinite too; these all count as farther away. In single precision the
    statistic of 100,000 values is right to 1e-3. `inference.kolmogorov_smirnov` explains calibration and fitted
    parameters.

    Args:
        levels: values `(n,)`, or those of m independent spectra `(m, n)`, also masked.
        law: any law of `laws`, or a function of levels that fits one.
        calibration: "independent", an ensemble, or a function of a key that returns the values of one spectrum.
        key: a typed key, for the bootstrap.
        resamples: number of draws of the bootstrap. It is static.

    Returns:
        A `GoodnessOfFit`. For independent values p is right to 2e-4 of itself for every n (float32: 2e-3), down to
        p = 1e-12.

    Raises:
        ValueError: as in `inference.kolmogorov_smirnov`, or the statistic and more than 5 % of the draws are infinite.

    Example:
        >>> import rmtjax as rmt
        >>> print(rmt.inference.anderson_darling([0.1, 0.4, 0.6], rmt.laws.Uniform(), calibration="independent"))
        anderson-darling: A² = 0.5271, p = 0.7024 for 3 independent values

    References:
        Anderson and Darling (1952), Ann. Math. Stat. 23, 193.
    """
    return _tested("anderson-darling", levels, law, calibration, key, resamples)


def _tested(
    test: Test, levels: Any, law: Any, calibration: Any, key: KeyScalar | None, resamples: int
) -> GoodnessOfFit:
    sample = checked_values(levels)
    if sample.values.size == 0:
        raise _checks.refusal("levels", "have at least one number", sample.values.shape)
    if type(getattr(law, "__self__", law)).__module__.startswith("scipy."):
        must = "be a law of `rmtjax.laws`; for a law of SciPy test `cdf(levels)` against `laws.Uniform()`"
        raise _checks.refusal("law", must, law)
    if not (isinstance(law, AbstractLaw) or callable(law)) or (isinstance(law, type) and issubclass(law, AbstractLaw)):
        raise _checks.refusal(
            "law", "be a law of `rmtjax.laws` with its parameters, or a function of levels that fits one", law
        )
    if isinstance(calibration, str):
        _checks.choice("calibration", calibration, Literal["independent"])
        if not isinstance(law, AbstractLaw):
            must = "be an ensemble, or a function that draws levels, where `law` is fitted to the levels"
            raise _checks.refusal("calibration", must, calibration)
        found = _checks.masked(all_valid(sample), _independent(test, law, sample))
        return GoodnessOfFit(*found, test, calibration, jnp.zeros(0, found[0].dtype))
    resamples = _checks.integer("resamples", resamples, at_least=1)
    if key is None:
        raise _checks.refusal("key", "be a typed key from `jax.random.key(seed)`, for the draws", key)
    drawn = null(test, calibration, law, key, resamples, sample.values.shape)
    statistic, n = _measured(test, fitted(law, levels), sample)
    # Where levels and draws are infinitely far from the law, it is not known which of them are farther.
    ranked = _RANKED.kept("law", statistic, drawn) if test == "anderson-darling" else True
    p_value = _checks.masked(ranked, monte_carlo_p_value(statistic, drawn))
    found = _checks.masked(all_valid(sample), (statistic, p_value, n))
    return GoodnessOfFit(*found, test, _described(calibration), drawn)


def _ranked(statistic: Any, null: Any) -> Any:
    """Whether the statistic is finite, or so few draws are infinite that the p-value rejects in any case."""
    infinite = (null == math.inf).sum()
    few = (infinite == 0) | (1 + infinite <= int(_FEW * (1 + null.size)))
    return few | ~(statistic == math.inf)


def _unranked(statistic: np.ndarray, null: np.ndarray) -> str:
    infinite = (null == math.inf).sum()
    return f"{statistic} for the levels and for {infinite} of {null.size} draws; `cramer_von_mises` is always finite"


# The largest share of infinite draws for which the p-value, then an upper bound, is of use.
_FEW = 0.05
_RANKED = _checks.Rule(
    _ranked,
    "have a support that holds the levels, as `laws.LevelDensity` of the ensemble has, for the statistic to be finite",
    _unranked,
)


@partial(compiled, static_argnums=0)
def _independent(test: Test, law: AbstractLaw, sample: Levels) -> tuple[Array, Array, Array]:
    statistic, number = distance(test, law, sample.values, sample.mask)
    n = jnp.maximum(number, 1).astype(statistic.dtype)
    known = jnp.where(number > 0, statistic, 1)
    p_value = _TAILS[test](known, n, sample.values.size)
    return statistic, jnp.where(number > 0, p_value, jnp.nan), number


@partial(compiled, static_argnums=0)
def _measured(test: str, law: AbstractLaw, sample: Levels) -> tuple[Array, Array]:
    return distance(test, law, sample.values, sample.mask)


def _described(calibration: Any) -> str:
    if isinstance(calibration, AbstractModule):
        return repr(calibration)
    owner, name = getattr(calibration, "__self__", None), getattr(calibration, "__name__", "<lambda>")
    if owner is not None:
        return f"{owner!r}.{name}"
    return "a function" if name == "<lambda>" else name
