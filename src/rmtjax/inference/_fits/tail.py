"""Power laws in the tail of a spectrum, and tests of them."""

from functools import partial
from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from rmtjax import _checks
from rmtjax._compile import is_small, programs
from rmtjax._module import AbstractModule
from rmtjax._ordering import in_order
from rmtjax._promotion import like
from rmtjax._typing import KeyScalar, RealLike, RealScalarLike
from rmtjax.inference._fits import tail_values
from rmtjax.inference._fits.batch import for_each, positive_values
from rmtjax.inference._fits.tail_families import LikelihoodRatio, TailCutOff, comparisons
from rmtjax.inference._fits.tail_search import Tail, fit_best, fit_from
from rmtjax.inference._fits.tail_supports import Point, Support, draw
from rmtjax.inference._goodness.p_value import monte_carlo_p_value
from rmtjax.special.internal import logarithm
from rmtjax.statistics import Estimate

# The level of all tests in a verdict, and the drift of the exponent below which a tail may be a power law.
_LEVEL = 0.05
_MOST_DRIFT = 0.7
VERDICTS = "power law", "not a power law", "undecided"


class TailFit(AbstractModule):
    r"""The power law that fits the tail of a sample best, with tests of it.

    Args:
        exponent: α of the density $\propto x^{-\alpha}$, with its standard error for independent values,
            $(\alpha - 1)/\sqrt m$; for whole numbers or up to a maximum by the information.
        minimum: $x_{\min}$, where the tail begins.
        tail_size: the number m of values in the tail.
        distance: the Kolmogorov distance of the tail from the power law.
        p_value: p-value of this distance, by simulated samples; NaN without a key.
        exponential: the power law against an exponential law of the tail, by Vuong's test.
        log_normal: the power law against a log-normal law of the tail; the ratio is never positive.
        drift: bound on the relative change of α - 1 along the tail, with a confidence of 95 %; up to a maximum, on the
            change of α itself, because α may be 1.
        size: the number of all values.
        discrete: whether the values were fitted as whole numbers.
        cut_off: the power law against one with an exponential cut-off, or None if it was not asked for.

    Example:
        >>> import jax.numpy as jnp
        >>> fit = fit_tail(10.0 ** jnp.arange(0.0, 3.0, 0.1), minimum=1.0)
        >>> print(f"{fit.exponent:.2f}: {fit.verdict}")
        1.30 ± 0.05: not a power law
    """

    exponent: Estimate[Float[Array, "*batch"]]
    minimum: Float[Array, "*batch"]
    tail_size: Int[Array, "*batch"]
    distance: Float[Array, "*batch"]
    p_value: Float[Array, "*batch"]
    exponential: LikelihoodRatio
    log_normal: LikelihoodRatio
    drift: Float[Array, "*batch"]
    size: int = eqx.field(static=True)
    discrete: bool = eqx.field(static=True)
    cut_off: TailCutOff | None = None

    _derived = ("verdict",)

    @property
    def verdict(self) -> str | np.ndarray:
        """The answer in words, or an array of words for a batch. It needs known numbers.

        - "not a power law" if a test at 5 % rejects it, by the distance, an exponential law, a log-normal law, or a
          cut-off if it was asked for;
        - "power law" if no test rejects it, the exponential law is significantly worse, the distance has a p-value, and
          `drift` is below 0.7, which takes about 500 values in the tail;
        - "undecided" otherwise.

        Each test has its own level, so a true power law is rejected more often than by one: of 1000 values from a known
        minimum on in 6 % of samples without a key, in 9 % with one, and with `cut_off` as well in 13 % for α = 1.3 and
        in 10 % for 2.5 (2000 samples each).
        """
        # NumPy compiles nothing.
        p_value, drift = np.asarray(self.p_value), np.asarray(self.drift)
        exponential, log_normal = (jax.tree.map(np.asarray, test) for test in (self.exponential, self.log_normal))
        settled = exponential.p_value < _LEVEL
        rejected = (p_value < _LEVEL) | (settled & (exponential.log_ratio < 0)) | (log_normal.p_value < _LEVEL)
        accepted = settled & (p_value >= _LEVEL) & (drift < _MOST_DRIFT)
        if self.cut_off is not None:
            cut_off = np.asarray(self.cut_off.p_value)
            rejected, accepted = rejected | (cut_off < _LEVEL), accepted & (cut_off >= _LEVEL)
        codes = np.where(rejected, 1, np.where(accepted, 0, 2))
        return np.asarray(VERDICTS)[codes] if codes.ndim else VERDICTS[int(codes)]


def fit_tail(
    values: Annotated[RealLike, "*batch n"],
    *,
    minimum: RealScalarLike | None = None,
    maximum: RealScalarLike | None = None,
    discrete: bool | None = None,
    cut_off: bool = False,
    candidates: int | None = None,
    key: KeyScalar | None = None,
    resamples: int = 400,
) -> TailFit:
    r"""Fit a power law to the tail of a sample and ask whether it is one.

    For the m values from $x_{\min}$ on, the most likely exponent is

    $$\hat\alpha = 1 + \frac m{\sum_{x_i \ge x_{\min}} \log(x_i/x_{\min})},$$

    and $x_{\min}$ is the value for which the distance of the distribution functions is smallest. The p-value of that
    distance comes from samples that are drawn from the fit: each value is from the power law with probability m/n, and
    otherwise from the values below $x_{\min}$. Each sample is fitted anew, with its own minimum, and the p-value is the
    share of samples at least as far from their fit. With a known minimum the samples are m values of the power law. The
    distance then does not depend on α, and the p-value is exact, however small the tail.

    A small p-value speaks against a power law, but a large one does not speak for it. So the tail is also fitted by an
    exponential and by a log-normal law. The log-normal law comes as near to a power law as one likes, so it can be
    better but never worse. But along its tail the exponent drifts: from the minimum to the place where the largest
    value is expected, it changes by the share $2 |\eta| \log m$ of α - 1, with

    $$\hat\eta = \frac14 \Big(\frac{\overline{z^2}}{\bar z^2} - 2\Big) \pm \frac1{2\sqrt m}, \qquad
    z_i = \log(x_i/x_{\min}).$$

    A verdict "power law" requires a drift below 0.7, because the deep tail of a log-normal law is nearly straight: of
    log-normal samples of 500 to 10,000 values, up to a half would pass for a power law without this condition, and 7 %
    or less do with it.

    *Whole numbers*, such as counts, follow the law $k^{-\alpha}/\zeta(\alpha, k_{\min})$. Its most likely exponent has
    no closed form, and the law of real numbers gives a wrong one: 4.5 for Zipf's law with the exponent 2.5 from 1 on.
    The exponential law becomes a geometric one, and the log-normal law is $\propto e^{\eta_1 z + \eta_2 z^2}$ on the
    same whole numbers. The distance is the largest one at whole numbers, and samples are whole. With a known minimum
    the distance depends on α a little, so the p-value is that of the fitted α.

    *Up to a maximum* every law ends there, and α may be any real number. Then the tail may also ascend.

    *Equal values* do not occur among real numbers. If whole numbers times a step are fitted as real numbers, the
    exponent is too large, and the steps of the distribution function pass for a distance. So values that are not whole
    are refused if one of them occurs more than $\sqrt m$ times among m. The distance counts both sides of each step.

    *Levels are no independent sample.* Neighbouring levels of one matrix repel each other, so their distribution
    function is nearer to the law than for independent values. P-values are then too large, never too small, and errors
    are too large; a rejection stands, but a "power law" says less. The largest levels of heavy-tailed matrices are
    independent: for `Levy(n, alpha)` they have the density $\propto |x|^{-1-\alpha}$ of the entries. For an error that
    is right for any spectrum take `statistics.over_samples(lambda x: fit_tail(x).exponent.value, spectra)`.

    Args:
        values: n ≥ 10 values on the last axis, in any order, not negative, of which zeros are in no tail; batched.
        minimum: $x_{\min}$ > 0, if it is known; rounded up for whole numbers.
        maximum: where the law ends, if it does; no value is larger.
        discrete: whether the values are whole numbers; static. None for yes if they have an integer dtype, or if all
            are known to be whole and some are equal. A batch is of one kind. Under `jit` values are unknown: integers
            are whole numbers, floats are real numbers unless `discrete=True`.
        cut_off: whether to test for a cut-off $x^{-\alpha} e^{-\lambda x}$ as well; static.
        candidates: how many values are tried as the minimum, evenly spaced in the logarithm of the size of the tail;
            None for all. Each sample costs O(n · candidates). Static.
        key: a typed key for the p-value; None for a fit without one.
        resamples: number of simulated samples, static. The p-value is known to $\sqrt{p (1 - p)/R}$ for R of them.

    Returns:
        A `TailFit`. All but `p_value` and `tail_size` are differentiable, at a fixed place of the minimum among the
        values. In whole numbers the derivatives keep the minimum and the steps of the distribution function.

    Raises:
        ValueError: `values` are fewer than 10, or negative, or not finite.
        ValueError: `values` are not whole numbers although `discrete` says so, or too many are equal.
        ValueError: `values` are integers beyond those that the floating-point numbers resolve, $2^{24}$ in float32.
        ValueError: fewer than 3 different values are positive (and at least the minimum).
        ValueError: another argument is outside its range.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> x = jax.random.pareto(jax.random.key(0), 1.5, (2000,))  # exponent 2.5
        >>> fit = fit_tail(x, candidates=50, key=jax.random.key(1), resamples=100)
        >>> print(abs(fit.exponent.z_score(2.5)) < 4, fit.verdict)
        True power law

    References:
        Clauset, Shalizi and Newman (2009), SIAM Rev. 51, 661, equations 3.1 and 3.5, sections 3.3, 4.1 and 5; Vuong
        (1989), Econometrica 57, 307; del Castillo and Puig (1999), J. Amer. Stat. Assoc. 94, 529, for the log-normal
        law; Soshnikov (2004), Electron. Commun. Probab. 9, 82, for the largest levels of heavy-tailed matrices.
    """
    array, valid = positive_values("values", values, 10)
    start = None if minimum is None else jnp.asarray(_checks.positive("minimum", minimum), array.dtype)
    end = None if maximum is None else jnp.asarray(_checks.positive("maximum", maximum), array.dtype)
    if end is not None:
        valid = _checks.all_kept(valid, tail_values.NOT_ABOVE.kept("values", array, end))
    lowest = jnp.zeros((), array.dtype) if start is None else start
    valid = _checks.all_kept(valid, tail_values.VARIED.kept("values", array, lowest))
    whole = tail_values.are_counts(values, array) if discrete is None else bool(discrete)
    if whole:
        valid = _checks.all_kept(valid, tail_values.WHOLE.kept("values", array))
        if tail_values.are_integers(values):
            valid = _checks.all_kept(valid, tail_values.EXACT.kept("values", array))
    elif discrete is None:
        valid = _checks.all_kept(valid, tail_values.FINE.kept("values", array, lowest))
    number = None if candidates is None else _checks.integer("candidates", candidates, at_least=1)
    resamples = _checks.integer("resamples", resamples, at_least=1)
    if key is None:
        resamples = 0
    else:
        _checks.typed_key(key)
    compared = resamples * array.size * (1 if start is not None else _places(array.shape[-1], number).size)
    fit = _programs(is_small((array, start, end, key), work=compared))
    return _checks.masked(valid, fit(array, start, end, key, number, resamples, whole, bool(cut_off)))


def _places(n: int, number: int | None) -> Int[np.ndarray, " c"]:
    """The places of the candidates in ascending order: the beginnings of all tails of 2 values or more, or of some."""
    if number is None or number >= n - 1:
        return np.arange(n - 1)
    return np.unique(n - np.round(np.geomspace(2, n, number)).astype(int))


def _fit(
    values: Float[Array, "*batch n"],
    minimum: Float[Array, ""] | None,
    maximum: Float[Array, ""] | None,
    key: KeyScalar | None,
    candidates: int | None,
    resamples: int,
    discrete: bool,
    cut_off: bool,
) -> TailFit:
    options = {"places": _places(values.shape[-1], candidates), "resamples": resamples}
    fit = partial(_fit_one, discrete=discrete, cut_off=cut_off, **options)
    return for_each(fit, values, minimum, maximum, key=key)


_programs = programs(_fit, static_argnums=(4, 5, 6, 7), nan_is_an_answer=True)


def _fit_one(
    values: Float[Array, " n"],
    minimum: Float[Array, ""] | None,
    maximum: Float[Array, ""] | None,
    key: KeyScalar | None = None,
    *,
    places: Int[np.ndarray, " c"],
    resamples: int,
    discrete: bool,
    cut_off: bool,
) -> TailFit:
    ascending = in_order(values)
    if discrete:
        unit, x = jnp.ones((), values.dtype), _whole(ascending)
        point = lambda value: Point(value, jnp.log(value))
        start = None if minimum is None else point(jnp.ceil(minimum))
        end = None if maximum is None else point(jnp.floor(maximum) + 1)
    else:
        unit, y = tail_values.logarithms(ascending)
        x = Point(y, y)
        # Real numbers are compared by their logarithms, too.
        ends = (None if each is None else tail_values.log_in(each, unit) for each in (minimum, maximum))
        start, end = (None if y is None else Point(y, y) for y in ends)
    support = Support(discrete, end)
    found = fit_best(support, x, places) if start is None else fit_from(support, x, start)
    p_value = jnp.full((), jnp.nan, values.dtype)
    if key is not None:
        fixed = jax.lax.stop_gradient((x, found))
        draw = partial(_distance_of_draw, support, *fixed, None if start is not None else places)
        # JAX's check of reused keys takes a mapped loop over keys for a second use of them.
        distances = jax.lax.map(lambda i: draw(jax.random.fold_in(key, i)), jnp.arange(resamples))
        distance = jax.lax.stop_gradient(found.distance)
        p_value = monte_carlo_p_value(distance, distances).astype(distance.dtype)
    tests = comparisons(support, x, found, unit, cut_off)
    return TailFit(
        exponent=tests.exponent,
        minimum=found.begin.value if discrete else jnp.exp(found.begin.log) * unit,
        tail_size=found.size,
        distance=found.distance,
        p_value=p_value,
        exponential=tests.exponential,
        log_normal=tests.log_normal,
        drift=tests.drift,
        size=values.size,
        discrete=discrete,
        cut_off=tests.cut_off,
    )


def _whole(ascending: Float[Array, " n"]) -> Point:
    return Point(ascending, logarithm(ascending))


def _distance_of_draw(
    support: Support, x: Point, found: Tail, places: Int[np.ndarray, " c"] | None, key: KeyScalar
) -> Array:
    """Distance of a resample: a tail of a binomial size and a body of the values below it.

    Without places it is a tail of the same size and beginning.
    """
    n = x.log.size
    drawn = partial(draw, support, found.rate, found.begin)
    if places is None:
        tail = drawn(jax.random.uniform(key, (n,), x.log.dtype))
        value = jnp.where(jnp.arange(n) < found.size, tail, -jnp.inf)
    else:
        # One call of the generator gives all, because each call is a large part of the program.
        choice, excess, place = jax.random.uniform(key, (3, n), x.log.dtype)
        below = jnp.maximum(n - found.size, 1)
        body = x.value[jnp.minimum((place * like(place, below)).astype(below.dtype), below - 1)]
        value = jnp.where(choice * n < like(choice, found.size), drawn(excess), body)
    value = in_order(value)
    sample = _whole(value) if support.discrete else Point(value, value)
    fit = fit_from(support, sample, found.begin) if places is None else fit_best(support, sample, places)
    return fit.distance
