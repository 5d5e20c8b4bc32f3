"""The check of laws passes right laws and finds planted errors."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rmtjax._module import AbstractModule
from rmtjax.laws import AbstractLaw
from rmtjax.testing import check_law
from rmtjax.testing._law import _check_modes
from rmtjax.testing._law_evaluation import evaluate, gradients
from rmtjax.testing._law_sampling import within_binomial_limits
from tests.cases import further
from tests.testing.planted import Faulty


class Uniform(AbstractLaw):
    """The uniform law on [-w, w], by formulas; `density` is a factor of the pdf."""

    w: jax.Array = eqx.field(default=1.5, converter=jnp.asarray)
    density: jax.Array = eqx.field(default=1.0, converter=jnp.asarray)

    def _support(self):
        return -self.w, self.w

    def _pdf(self, x):
        return self.density / (2 * self.w) + 0 * x

    def _cdf(self, x):
        return (x + self.w) / (2 * self.w)

    def _ppf(self, p, q):
        return (2 * p - 1) * self.w

    def _sample(self, key, shape):
        return self.w * jax.random.uniform(key, shape, self.w.dtype, -1)


class FallingBack(AbstractLaw):
    """Half uniform on [-1, 1], half a point mass at 0.25, by the numerical fall-backs."""

    mass: jax.Array = eqx.field(default=0.5, converter=jnp.asarray)

    def _support(self):
        return jnp.asarray(-1.0), jnp.asarray(1.0)

    def _pdf(self, x):
        return 0.25 + 0 * x

    def _atoms(self):
        return jnp.array([0.25]), self.mass[None]

    def _breakpoints(self):
        return jnp.array([-1.0, 0.25, 1.0])


class WithAtom(FallingBack):
    """The law of `FallingBack` by formulas."""

    def _cdf(self, x):
        return (x + 1) / 4 + jnp.where(x < 0.25, 0, self.mass)

    def _ppf(self, p, q):
        return jnp.clip(4 * p - 1, None, 0.25) + jnp.clip(0.75 - 4 * q, 0, None)


class Changed(AbstractModule):
    """A law with a factor and a term for each method. All such laws share their compiled programs."""

    base: AbstractLaw
    factors: dict[str, jax.Array]
    terms: dict[str, jax.Array]

    def __init__(self, base, method, change):
        self.base = base
        one = {name: jnp.asarray(1.0) for name in CHANGES}
        zero = {name: jnp.asarray(0.0) for name in CHANGES}
        self.factors = one | {method: jnp.asarray(change.get("factor", 1.0))}
        self.terms = zero | {method: jnp.asarray(change.get("term", 0.0))}

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        method = getattr(self.base, name)
        if name not in CHANGES:
            return method
        # Factor and term are no parameters of the law, because infinite values have no derivatives by them.
        factor, term = jax.lax.stop_gradient((self.factors[name], self.terms[name]))
        return lambda *args: factor * method(*args) + term


@pytest.mark.parametrize("law", [Uniform(), Uniform(20.0), WithAtom(), *further(FallingBack())])
def test_a_right_law_passes(law):
    check_law(law)


def test_breakpoints_may_be_given():
    check_law(Uniform(), breakpoints=[-1.5, 0.3, 1.5])
    with pytest.raises(AssertionError, match="∫ pdf"):
        check_law(Uniform(), breakpoints=[-1.5, 0.3])


def _traced(x):
    return isinstance(x, jax.core.Tracer)


def _where_inside(law, fn):
    """x ↦ fn(x) inside the support, the law's cdf elsewhere."""
    lower, upper = law.support()
    return lambda x: jnp.where((jnp.asarray(x) > lower) & (x < upper), fn(law.cdf(x)), law.cdf(x))


FAULTS = {
    "cdf": ("cdf", lambda law: _where_inside(law, lambda p: p**1.01), "the cdf against ∫ pdf"),
    "slope of the cdf": ("cdf", lambda law: lambda x: jax.lax.stop_gradient(law.cdf(x)), "derivative of the cdf"),
    "sf": ("sf", lambda law: law.cdf, "sf .*is"),
    "sf inside": ("sf", lambda law: _where_inside(law, jnp.asarray), "not|sf against 1 - cdf"),
    "NaN hidden": ("pdf", lambda law: lambda x: jnp.nan_to_num(law.pdf(x)), "pdf below the support.*at NaN"),
    "quantile clipped": ("ppf", lambda law: lambda p: law.ppf(jnp.clip(p, 0, 1)), "not NaN"),
    "isf": ("isf", lambda law: lambda q: law.ppf(q), r"isf\(sf\(x\)\) is"),
    "moment": ("moment", lambda law: lambda k: law.moment(k) + 0.01 * (k == 3), r"moment\(3\)"),
    "support": ("support", lambda law: lambda: law.support()[::-1], "is empty"),
    "gradient": (
        "logsf",
        lambda law: lambda x: law.logsf(x) + 0 * jnp.sqrt(0 * jnp.where(jnp.isfinite(x), x, 1)),
        "derivative of logsf by x",
    ),
    "gradient by the parameters": (
        "pdf",
        lambda law: lambda x: law.pdf(x) + 0 * jnp.sqrt(law.w - law.w),
        "derivative of pdf by the parameters",
    ),
    "jit": ("pdf", lambda law: lambda x: law.pdf(x) * (1 if _traced(x) else 1.01), "jit against eager"),
    "sampler shape": ("sample", lambda law: lambda k, s=(): law.sample(k, s[::-1]), "has shape"),
    "sampler key": ("sample", lambda law: lambda k, s=(): law.sample(jax.random.key(0), s), "two keys"),
}


WRONG_NUMBERS = {
    "negative pdf": ("pdf", {"factor": -1}, "the pdf is -0.3"),
    "normalisation": ("pdf", {"factor": 1.01}, "∫ pdf and the atoms together"),
    "logpdf": ("logpdf", {"term": 1e-3}, r"exp\(logpdf\) against pdf"),
    "logcdf": ("logcdf", {"factor": 1.01}, r"exp\(logcdf\) against cdf"),
    "not exact outside": ("cdf", {"factor": 1 - 1e-6}, "cdf below the support"),
    "ppf": ("ppf", {"factor": 1.01}, r"ppf\(cdf\(x\)\) is"),
    "mean": ("mean", {"term": 0.01}, r"mean\(\)"),
    "var": ("var", {"factor": 1.01}, r"var\(\)"),
    "infinite var": ("var", {"term": np.inf}, r"var\(\) is inf"),
    "sampler scale": ("sample", {"factor": 0.9}, "draws in bin 0 of 16"),
    "sampler outside": ("sample", {"factor": 1.1}, "leave the support"),
}
CHANGES = {method for method, _, _ in WRONG_NUMBERS.values()}


@pytest.mark.parametrize("fault", WRONG_NUMBERS)
def test_a_wrong_number_is_found(fault):
    method, change, message = WRONG_NUMBERS[fault]
    with pytest.raises(AssertionError, match=r"^check_law.*: (?s:.*)" + message):
        check_law(Changed(Uniform(), method, change))


def test_a_law_without_a_change_passes():
    check_law(Changed(Uniform(), "pdf", {}))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_mistake_is_found(fault):
    method, replacement, message = FAULTS[fault]
    with pytest.raises(AssertionError, match=r"^check_law.*: (?s:.*)" + message):
        check_law(Faulty(Uniform(), method, replacement))


def test_a_law_wrong_in_its_own_density_is_found():
    with pytest.raises(AssertionError, match="∫ pdf and the atoms together"):
        check_law(Uniform(1.5, 0.99))
    with pytest.raises(AssertionError, match="∫ pdf and the atoms together"):
        check_law(WithAtom(0.49))


def test_modes_that_differ_are_found():
    law, x = Uniform(), np.array([-1.1, 0.2, 0.9])
    forward, inside = evaluate(law, x)["slopes"], evaluate(law, x)["values"]
    _, reverse = gradients(law, x)
    _check_modes(x, forward, reverse, inside, 1e-12)
    with pytest.raises(AssertionError, match=r"in reverse mode and .* in forward mode"):
        _check_modes(x, forward, reverse * np.array([1, 1 + 1e-6, 1]), inside, 1e-12)


def test_binomial_limits_are_two_sided():
    m, p = 20_000, 1 / 16
    width = np.sqrt(m * p * (1 - p))
    for sigmas, holds in [(0, True), (4.5, True), (-4.5, True), (5.5, False), (-5.5, False)]:
        assert within_binomial_limits(round(m * p + sigmas * width), m, p) is holds
    assert within_binomial_limits(0, m, 0.0)
    assert not within_binomial_limits(1, m, 0.0)
    assert within_binomial_limits(m, m, 1.0)
    assert not within_binomial_limits(m - 1, m, 1.0)
