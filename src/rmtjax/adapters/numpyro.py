"""Laws as distributions of NumPyro, for Bayesian models. It needs NumPyro: `pip install "rmtjax[numpyro]"`."""

import dataclasses
import math
import operator
from collections.abc import Callable
from contextlib import nullcontext
from typing import Annotated, Any, get_args, get_origin

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.scipy.special import digamma, gammaln
from numpyro.distributions import Distribution, constraints
from numpyro.distributions.batch_util import promote_batch_shape
from numpyro.distributions.kl import kl_divergence

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._module import AbstractModule
from rmtjax._promotion import in_one_precision, like
from rmtjax._staging import is_traced
from rmtjax.laws import AbstractLaw, Arcsine, Brody, QuarterCircle, Semicircle, Uniform
from rmtjax.laws.internal import AbstractGeneralizedGamma
from rmtjax.special import integrate


class LawDistribution(Distribution):
    """A law as a distribution of NumPyro; it is a pytree whose leaves are the parameters of the law.

    The shape of a batch is that of the parameters, also after `jax.vmap` added or took away an axis.
    `numpyro.distributions.kl_divergence` takes two of them where a formula is known: spacings and intensities that are
    powers of gamma variates (`PoissonSpacing`, `WignerSurmise`, `Brody`, `PorterThomas`), and two semicircles, quarter
    circles, arcsine laws or uniform laws. It is infinite where the second support does not hold the first.

    Args:
        law: any law of `rmtjax.laws` without point masses; its parameters may be traced, and may have the axes of a
            batch.
        validate_args: whether values outside of the support raise a warning.

    Example:
        >>> import rmtjax as rmt
        >>> surmise = LawDistribution(rmt.laws.WignerSurmise(2))
        >>> print(f"{surmise.log_prob(1.0):.4f} {surmise.variance:.4f}", surmise.support([-0.5, 0.5]))
        -0.0970 0.1781 [False  True]

    References:
        Bauckhage (2014), arXiv:1401.6853, eq. (14), for the divergence of powers of gamma variates.
    """

    arg_constraints = {}  # noqa: RUF012 -- as in its base class: a law checks its parameters itself
    pytree_data_fields = ("law",)

    def __init__(self, law: AbstractLaw, *, validate_args: bool | None = None):
        if not isinstance(law, AbstractLaw):
            raise _checks.refusal("law", "be a law of `rmtjax.laws`", law)
        _keeps_rules(law)
        _has_density(law)
        self.law = law
        super().__init__(validate_args=validate_args)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The common shape of the parameters, without the axes that a single law has."""
        return _batch_shape(self.law)

    @property
    def support(self) -> constraints.Constraint:
        """The interval that carries the law, one for each law of a batch."""
        # The ends are arrays, not numbers, so that NumPyro looks in each step at an end that other variables move.
        lower, upper = self._each(AbstractLaw.support)
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
        shape, batch = tuple(sample_shape), self.batch_shape
        return _draws(self.law, typed, shape, batch) if batch else self.law.sample(typed, shape)

    def log_prob(self, value: Any, intermediates: Any = None) -> jax.Array:
        """Logarithm of the density; NaN where inferred parameters give the law a point mass."""
        points = _checks.real("value", value)
        if self._validate_args:
            with jax.numpy_rank_promotion("allow"):  # NumPyro promotes
                self._validate_sample(points)
        return _checks.masked(_has_density(self.law), self._each(AbstractLaw.logpdf, points))

    def cdf(self, value: Any) -> jax.Array:
        """Distribution function."""
        return self._each(AbstractLaw.cdf, _checks.real("value", value))

    def icdf(self, q: Any) -> jax.Array:
        """Quantile."""
        return self._each(AbstractLaw.ppf, _checks.real("q", q))

    def entropy(self) -> jax.Array:
        """Differential entropy, by quadrature; NaN where inferred parameters give the law a point mass."""
        batch = self.batch_shape
        found = _of_each((self.law,), (), _entropy, batch) if batch else _entropy_of_one(self.law)
        return _checks.masked(_has_density(self.law), found)

    @property
    def mean(self) -> jax.Array:
        """Expected value."""
        return self._each(AbstractLaw.mean)

    @property
    def variance(self) -> jax.Array:
        """Variance."""
        return self._each(AbstractLaw.var)

    def _each(self, method: Callable[..., Any], *points: jax.Array) -> Any:
        """What a method of the law returns, for each law of the batch."""
        batch = self.batch_shape
        return _of_each((self.law,), points, method, batch) if batch else method(self.law, *points)


# NumPyro mends shapes that `jax.vmap` made wrong; here the shape is always that of the parameters.
promote_batch_shape.register(LawDistribution, lambda law: law)  # pyright: ignore[reportArgumentType]


def _own_axes(value: Any, kind: Any = None) -> list[int]:
    """How many axes each parameter of a single law has, in the order of the leaves of the law."""
    if isinstance(value, AbstractModule):
        fields = (each for each in dataclasses.fields(value) if not each.metadata.get("static"))
        return [axes for each in fields for axes in _own_axes(getattr(value, each.name), each.type)]
    if isinstance(value, tuple):
        return [axes for part in value for axes in _own_axes(part, kind)]
    kind = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    return [len(getattr(kind, "dims", ()))] * len(jax.tree.leaves(value))


def _batch_shape(law: AbstractLaw) -> tuple[int, ...]:
    shapes = (getattr(leaf, "shape", ()) for leaf in jax.tree.leaves(law))
    return np.broadcast_shapes(*(s[: len(s) - axes] for s, axes in zip(shapes, _own_axes(law), strict=True)))


def _in_a_row(law: AbstractLaw, batch: tuple[int, ...]) -> AbstractLaw:
    """The laws of a batch along a single axis, which all parameters have."""
    leaves, structure = jax.tree.flatten(law)
    rows = []
    for leaf, axes in zip(leaves, _own_axes(law), strict=True):
        own = np.shape(leaf)[np.ndim(leaf) - axes :]
        rows.append(jnp.broadcast_to(leaf, batch + own).reshape(math.prod(batch), *own))
    return jax.tree.unflatten(structure, rows)


def _of_each_law(
    laws: tuple[AbstractLaw, ...], points: tuple[jax.Array, ...], fn: Callable, batch: tuple[int, ...]
) -> Any:
    """A function of a law, or of two, and of points, for each law of a batch; points broadcast against the batch."""
    shapes = [np.broadcast_shapes(each.shape, batch) for each in points]
    free = [shape[: len(shape) - len(batch)] for shape in shapes]
    rows = [jnp.broadcast_to(x, all_).reshape(*s, -1) for x, all_, s in zip(points, shapes, free, strict=True)]
    values = jax.vmap(
        lambda laws, points: fn(*laws, *points), in_axes=(0, -1), out_axes=-1, axis_size=math.prod(batch)
    )(tuple(_in_a_row(law, batch) for law in laws), tuple(rows))
    return jax.tree.map(lambda leaf: leaf.reshape(*leaf.shape[:-1], *batch), values)


_of_each = compiled(_of_each_law, static_argnums=(2, 3))


def _draws_of_each(law: AbstractLaw, key: Any, shape: tuple[int, ...], batch: tuple[int, ...]) -> jax.Array:
    keys = jax.random.split(key, math.prod(batch))
    draw = lambda law, key: law.sample(key, shape)
    return jax.vmap(draw, out_axes=-1)(_in_a_row(law, batch), keys).reshape(shape + batch)


_draws = compiled(_draws_of_each, static_argnums=(2, 3))


def _entropy(law: AbstractLaw) -> jax.Array:
    """The integral of -f log f over the panels of the density f."""
    points = law.breakpoints()
    # At an end log f may be infinite beside an infinite f, so the outer panels are cut, ever finer towards the ends.
    # Bands of mass 0 have no width, but for rounding.
    from_ends, least = jnp.stack([points - points[0], points[-1] - points]), 64 * float(jnp.finfo(points.dtype).eps)
    lower, upper = jnp.min(jnp.where(from_ends > least * from_ends.max(), from_ends, jnp.inf), axis=1)
    shares = like(points, _SHARES)
    panels = jnp.sort(jnp.concatenate([points, points[0] + lower * shares, points[-1] - upper * shares]))
    return integrate(lambda x: _minus_p_log_p(law.logpdf(x)), panels)


# The mass of the smallest panel is 2⁻¹³ if the density is like 1/√d at the end, and its quadrature has 4 digits.
_SHARES = 0.5 * 0.25 ** np.arange(13)


def _minus_p_log_p(log: jax.Array) -> jax.Array:
    inside = log > -jnp.inf
    log = jnp.where(inside, log, 0)
    return jnp.where(inside, -log * jnp.exp(log), 0)


_entropy_of_one = compiled(_entropy)


def _known(law: AbstractLaw) -> bool:
    return not is_traced(law)


def _keeps_rules(law: AbstractLaw) -> None:
    """Refuse a batch with a known parameter that no law has, by the words of that law."""
    if not (batch := _batch_shape(law)) or not _known(law):
        return
    with jax.ensure_compile_time_eval():
        kept = np.asarray(_of_each((law,), (), _valid, batch))
        if not kept.all():
            jax.tree.map(operator.itemgetter(int(kept.argmin())), _in_a_row(law, batch))._valid()


def _valid(law: AbstractLaw) -> jax.Array:
    return jnp.asarray(law._valid())


_DENSITY = _checks.Rule(lambda _, masses: (masses == 0).all(0), "have a density, and no point masses")


def _has_density(law: AbstractLaw) -> Any:
    """Whether each law has no point masses: True, or traced booleans if the parameters are traced."""
    batch = _batch_shape(law)
    # Parameters that are numbers in the program of a sampler must not be staged.
    with jax.ensure_compile_time_eval() if _known(law) else nullcontext():
        _, masses = _of_each((law,), (), AbstractLaw.atoms, batch) if batch else law.atoms()
    return _DENSITY.kept("law", law, masses)


def _infinite_ends(law: AbstractLaw) -> tuple[bool, bool]:
    """Which ends of the support are infinite, which depends on the kind of the law and not on traced parameters."""
    leaves, structure = jax.tree.flatten(law)
    # Of a batch the first law, and of an unknown parameter 1, is as good as any.
    first = [
        (np.ones(leaf.shape, leaf.dtype) if isinstance(leaf, Tracer) else leaf)[(0,) * (leaf.ndim - axes)]
        if isinstance(leaf, jax.Array | np.ndarray)
        else leaf
        for leaf, axes in zip(leaves, _own_axes(law), strict=True)
    ]
    with jax.ensure_compile_time_eval():
        lower, upper = jax.tree.unflatten(structure, first)._promised_support()
        return bool(np.isinf(lower)), bool(np.isinf(upper))


def _gamma_power(law: AbstractLaw) -> tuple[Any, Any, Any] | None:
    """The parameters a, p and σ of a law of σ G^(1/p), for a gamma variate G of shape a."""
    if isinstance(law, AbstractGeneralizedGamma):
        return law._shape_power_scale()
    if isinstance(law, Brody):
        return jnp.ones_like(law.q), law.q + 1, jnp.exp(-gammaln(1 + 1 / (law.q + 1)))
    return None


def _of_gamma_powers(one: tuple[Any, Any, Any], other: tuple[Any, Any, Any]) -> jax.Array:
    (a, p, sigma), (b, q, tau) = in_one_precision(jax.tree.map(jnp.asarray, (one, other)))
    # The variable y = (x/τ)^q of the other law, and its logarithm, in the mean over this law.
    log_y = q * (jnp.log(sigma) - jnp.log(tau) + digamma(a) / p)
    y = jnp.exp(q * (jnp.log(sigma) - jnp.log(tau)) + gammaln(a + q / p) - gammaln(a))
    return jnp.log(p) - jnp.log(q) + gammaln(b) - gammaln(a) + a * (digamma(a) - 1) - b * log_y + y


def _of_circles(law: AbstractLaw, other: AbstractLaw) -> jax.Array:
    """2 log cosh t + (1 - e^(-2t))/2 - t with cosh t = R/r, from the logarithmic potential of the semicircle at R."""
    t = _ratio(law, other)
    return _inside(t, 2 * jnp.log(jnp.cosh(t)) - jnp.expm1(-2 * t) / 2 - t)


def _of_arcsines(law: AbstractLaw, other: AbstractLaw) -> jax.Array:
    """The t with cosh t = R/r, from the logarithmic potential of the arcsine law at R."""
    t = _ratio(law, other)
    return _inside(t, t)


def _ratio(law: Any, other: Any) -> jax.Array:
    """The t with cosh t = R/r for the radii of two laws; 0 where they are equal, and -1 where R is smaller."""
    r, larger = in_one_precision((law.radius, other.radius))
    holds = larger > r
    excess = jnp.where(holds, larger - r, r) / r  # without the infinite slope at 0
    return jnp.where(holds, jnp.log1p(excess + jnp.sqrt(excess * (excess + 2))), jnp.where(larger == r, 0, -1))


def _inside(t: jax.Array, value: jax.Array) -> jax.Array:
    return jnp.where(t < 0, jnp.inf, jnp.where(t == 0, 0, value))


def _of_uniforms(law: AbstractLaw, other: AbstractLaw) -> jax.Array:
    (lower, upper), (below, above) = in_one_precision((law.support(), other.support()))
    return jnp.where((below <= lower) & (upper <= above), jnp.log((above - below) / (upper - lower)), jnp.inf)


_DIVERGENCES = {Arcsine: _of_arcsines, QuarterCircle: _of_circles, Semicircle: _of_circles, Uniform: _of_uniforms}


def _divergence(law: AbstractLaw, other: AbstractLaw) -> jax.Array:
    one, two = _gamma_power(law), _gamma_power(other)
    found = _DIVERGENCES[type(law)](law, other) if one is None or two is None else _of_gamma_powers(one, two)
    return _checks.masked(_checks.all_kept(law._valid(), other._valid()), found)


def _kl_divergence(p: LawDistribution, q: LawDistribution) -> jax.Array:
    kinds = type(p.law), type(q.law)
    gammas = all(issubclass(kind, AbstractGeneralizedGamma | Brody) for kind in kinds)
    if not gammas and not (kinds[0] is kinds[1] and kinds[0] in _DIVERGENCES):
        names = " and ".join(kind.__name__ for kind in kinds)
        raise NotImplementedError(f"No formula is known here for the divergence of {names}.")
    return _of_each((p.law, q.law), (), _divergence, np.broadcast_shapes(p.batch_shape, q.batch_shape))


kl_divergence.add((LawDistribution, LawDistribution), _kl_divergence)  # pyright: ignore[reportFunctionMemberAccess]


def distribution(law: AbstractLaw, *, validate_args: bool | None = None) -> LawDistribution:
    """The law as a distribution of NumPyro, for `numpyro.sample`.

    With sampled parameters it is the likelihood of a model, and its `log_prob` is differentiable in them. Levels of one
    matrix are not independent, and a likelihood that treats them as independent gives intervals of a wrong width. Gap
    ratios or spacings of many matrices, few from each, are nearly independent. For a whole spectrum
    `ensemble.joint_logpdf` is the true likelihood, which `numpyro.factor` takes.

    Args:
        law: any law of `rmtjax.laws` without point masses; its parameters may be traced. `jax.vmap` makes a batch of
            laws, one for each group: `distribution(jax.vmap(rmt.laws.Semicircle)(radii))`. Parameters may decide
            whether there is a point mass, as the ratio of `laws.MarchenkoPastur` does. `log_prob` is then NaN where
            there is one, which a sampler takes for a divergence; so give such a parameter a prior on the other values.
        validate_args: whether values outside of the support raise a warning.

    Returns:
        A `numpyro.distributions.Distribution` of single numbers, with `support`, `log_prob`, `sample`, `cdf`, `icdf`,
        `mean`, `variance` and `entropy`. Its `batch_shape` is the shape of the batch of laws, as a `numpyro.plate`
        needs it. Some pairs have a `kl_divergence`; `LawDistribution` lists them.

    Example:
        >>> import jax, jax.numpy as jnp, numpyro, rmtjax as rmt
        >>> def model(spacings):
        ...     beta = numpyro.sample("beta", numpyro.distributions.Exponential(1.0))
        ...     numpyro.sample("spacings", distribution(rmt.laws.WignerSurmise(beta)), obs=spacings)
        >>> density, _ = numpyro.infer.util.log_density(model, (jnp.array([0.4, 1.7]),), {}, {"beta": 2.0})
        >>> print(f"{density:.4f}")
        -4.3022

        One parameter for each group, in a plate:

        >>> def groups(spacings):  # observations × groups
        ...     with numpyro.plate("group", 2):
        ...         beta = numpyro.sample("beta", numpyro.distributions.Exponential(1.0))
        ...         with numpyro.plate("spacing", 3):
        ...             law = jax.vmap(rmt.laws.WignerSurmise)(beta)
        ...             numpyro.sample("spacings", distribution(law), obs=spacings)
        >>> spacings, betas = jnp.array([[0.4, 0.9], [1.7, 1.1], [0.2, 0.8]]), jnp.array([1.0, 3.0])
        >>> density, _ = numpyro.infer.util.log_density(groups, (spacings,), {}, {"beta": betas})
        >>> print(f"{density:.4f}")
        -6.9718
    """
    return LawDistribution(law, validate_args=validate_args)
