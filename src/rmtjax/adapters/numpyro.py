"""Laws as distributions of NumPyro, for Bayesian models. It needs NumPyro: `pip install "rmtjax[numpyro]"`."""

from contextlib import nullcontext
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import Tracer
from numpyro.distributions import Distribution, constraints

from rmtjax import _checks
from rmtjax.laws import AbstractLaw


class LawDistribution(Distribution):
    """A law as a distribution of NumPyro; it is a pytree whose leaves are the parameters of the law.

    Args:
        law: any law of `rmtjax.laws` without point masses; its parameters may be traced.
        validate_args: whether values outside of the support raise a warning.

    Example:
        >>> import rmtjax as rmt
        >>> surmise = LawDistribution(rmt.laws.WignerSurmise(2))
        >>> print(f"{surmise.log_prob(1.0):.4f} {surmise.variance:.4f}", surmise.support([-0.5, 0.5]))
        -0.0970 0.1781 [False  True]
    """

    arg_constraints = {}  # noqa: RUF012 -- as in its base class: a law checks its parameters itself
    pytree_data_fields = ("law",)

    def __init__(self, law: AbstractLaw, *, validate_args: bool | None = None):
        if not isinstance(law, AbstractLaw):
            raise _checks.refusal("law", "be a law of `rmtjax.laws`", law)
        _has_density(law)
        self.law = law
        super().__init__(validate_args=validate_args)

    @property
    def support(self) -> constraints.Constraint:
        """The interval that carries the law."""
        # The ends are arrays, not numbers, so that NumPyro looks in each step at an end that other variables move.
        lower, upper = self.law.support()
        below, above = _infinite_ends(self.law)
        if below:
            return constraints.real if above else constraints.less_than(upper)
        return constraints.greater_than(lower) if above else constraints.interval(lower, upper)

    @property
    def has_rsample(self) -> bool:
        """Whether draws are differentiable in the parameters; not if a law chooses at random between components."""
        return False

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> jax.Array:
        """Independent draws; the key may come from `jax.random.PRNGKey`, as in NumPyro."""
        assert key is not None
        typed = key if jnp.issubdtype(key.dtype, jax.dtypes.prng_key) else jax.random.wrap_key_data(key)
        return self.law.sample(typed, tuple(sample_shape))

    def log_prob(self, value: Any, intermediates: Any = None) -> jax.Array:
        """Logarithm of the density; NaN where inferred parameters give the law a point mass."""
        points = _checks.real("value", value)
        if self._validate_args:
            self._validate_sample(points)
        return _checks.masked(_has_density(self.law), self.law.logpdf(points))

    def cdf(self, value: Any) -> jax.Array:
        """Distribution function."""
        return self.law.cdf(_checks.real("value", value))

    def icdf(self, q: Any) -> jax.Array:
        """Quantile."""
        return self.law.ppf(_checks.real("q", q))

    @property
    def mean(self) -> jax.Array:
        """Expected value."""
        return self.law.mean()

    @property
    def variance(self) -> jax.Array:
        """Variance."""
        return self.law.var()


_DENSITY = _checks.Rule(lambda _, masses: (masses == 0).all(), "have a density, and no point masses")


def _has_density(law: AbstractLaw) -> Any:
    """Whether the law has no point masses: True, or a traced boolean if its parameters are traced."""
    known = not any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(law))
    # Parameters that are numbers in the program of a sampler must not be staged.
    with jax.ensure_compile_time_eval() if known else nullcontext():
        _, masses = law.atoms()
    return _DENSITY.kept("law", law, masses)


def _infinite_ends(law: AbstractLaw) -> tuple[bool, bool]:
    """Which ends of the support are infinite, which depends on the kind of the law and not on traced parameters."""
    known = lambda leaf: jnp.ones(leaf.shape, leaf.dtype) if isinstance(leaf, Tracer) else leaf
    with jax.ensure_compile_time_eval():
        lower, upper = jax.tree.map(known, law)._promised_support()
        return bool(jnp.isinf(lower)), bool(jnp.isinf(upper))


def distribution(law: AbstractLaw, *, validate_args: bool | None = None) -> LawDistribution:
    """The law as a distribution of NumPyro, for `numpyro.sample`.

    With sampled parameters it is the likelihood of a model, and its `log_prob` is differentiable in them. Levels of one
    matrix are not independent, and a likelihood that treats them as independent gives intervals of a wrong width. Gap
    ratios or spacings of many matrices, few from each, are nearly independent. For a whole spectrum
    `ensemble.joint_logpdf` is the true likelihood, which `numpyro.factor` takes.

    Args:
        law: any law of `rmtjax.laws` without point masses; its parameters may be traced. Parameters may decide whether
            there is a point mass, as the ratio of `laws.MarchenkoPastur` does. `log_prob` is then NaN where there is
            one, which a sampler takes for a divergence; so give such a parameter a prior on the other values.
        validate_args: whether values outside of the support raise a warning.

    Returns:
        A `numpyro.distributions.Distribution` of single numbers, with `support`, `log_prob`, `sample`, `cdf`, `icdf`,
        `mean` and `variance`. A law has one value of each parameter; `jax.vmap` gives a batch.

    Example:
        >>> import jax.numpy as jnp, numpyro, rmtjax as rmt
        >>> def model(spacings):
        ...     beta = numpyro.sample("beta", numpyro.distributions.Exponential(1.0))
        ...     numpyro.sample("spacings", distribution(rmt.laws.WignerSurmise(beta)), obs=spacings)
        >>> density, _ = numpyro.infer.util.log_density(model, (jnp.array([0.4, 1.7]),), {}, {"beta": 2.0})
        >>> print(f"{density:.4f}")
        -4.3022
    """
    return LawDistribution(law, validate_args=validate_args)
