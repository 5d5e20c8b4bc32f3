r"""Averages over the spectrum of an operator as random vectors see it, with their errors.

A unit vector v sees the levels $\lambda_i$ with the weights $|\langle v, e_i\rangle|^2$ of its components in the
eigenvectors. If v is uniform on the sphere, each mean weight is 1/n, and for every function f

$$E\,v^* f(A) v = \frac1n \operatorname{tr} f(A), \qquad
\operatorname{Var}\,v^* f(A) v = \frac{2}{\beta n + 2}\Big[\frac1n \operatorname{tr} f(A)^2
- \Big(\frac1n \operatorname{tr} f(A)\Big)^2\Big]$$

with β = 1 for real and 2 for complex vectors. So errors need not come from the spread of a few probes: the same sums
give the traces of f and f².
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Inexact

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._module import AbstractModule
from rmtjax._promotion import aligned, like
from rmtjax._typing import RealLike, RealOrComplex, RealScalarLike, Side
from rmtjax._units import in_unit, times
from rmtjax.special.internal import square_root, student_multiple
from rmtjax.statistics import Estimate

# A Gaussian of this width, in units of the range of the levels over the depth, is integrated to 1e-5 of its height. The
# quadrature is exact for polynomials of twice the depth, which leave an error of exp(-2 · 2.5²).
_WIDTH = 1.25


def _several_levels(_: Array, nodes: Float[Array, "probes depth"]) -> Bool[Array, ""]:
    """Whether nodes differ by more than rounding, or are NaN."""
    return ~(nodes.max() - nodes.min() <= 32 * jnp.finfo(nodes.dtype).eps * abs(nodes).max())


_RESOLVED = _checks.Rule(
    _several_levels, "be given where all levels are equal: a point mass has a density under some width only"
)


class SpectralDensityEstimate(AbstractModule):
    r"""The spectrum of an operator as a few random vectors see it; made by `spectral_density_of`.

    Each probe has a quadrature, $v^* f(A) v \approx \sum_j w_j f(\theta_j)$, which is exact for polynomials of a degree
    below twice the depth. Averages over the spectrum are averages over probes, with errors by their random choice.

    Args:
        nodes: the Ritz values θ of each probe, ascending; if the vectors ran out, followed by copies of the last.
        weights: the weights w of the nodes, of sum 1 for each probe; 0 for copies.
        residuals: if `orthogonal`, a level lies within this distance of a node, else within about twice this distance;
            infinite for copies.
        complete: whether the vectors of a probe ran out, so that its quadrature is exact for every function.
        n: order of the operator.
        beta: 1 for real and 2 for complex vectors.
        orthogonal: whether the vectors were kept orthogonal, so that no level is found more often than it is there.

    Example:
        >>> import jax, jax.numpy as jnp, rmtjax as rmt
        >>> levels = jnp.linspace(0, 1, 5000)
        >>> found = rmt.inference.spectral_density_of(lambda v: levels * v, jax.random.key(0), 5000, depth=20)
        >>> print(f"mean {found.moment(1)}, below 0.3 {found.cdf(0.3):.2f}")
        mean 0.5023 ± 0.0020, below 0.3 0.30 ± 0.00

    References:
        Ubaru, Chen and Saad (2017), SIAM J. Matrix Anal. Appl. 38, 1075; Golub and Meurant (2010), Matrices, Moments
        and Quadrature with Applications.
    """

    nodes: Float[Array, "probes depth"]
    weights: Float[Array, "probes depth"]
    residuals: Float[Array, "probes depth"]
    complete: Bool[Array, " probes"]
    n: int = eqx.field(static=True)
    beta: RealOrComplex = eqx.field(static=True)
    orthogonal: bool = eqx.field(static=True, default=True)

    @property
    def resolution(self) -> Float[Array, ""]:
        """The width of the narrowest Gaussian that the quadrature integrates, 1.25 times the range over the depth."""
        return _WIDTH * (jnp.max(self.nodes) - jnp.min(self.nodes)) / self.nodes.shape[-1]

    def mean(self, f: Callable[[Array], Array]) -> Estimate:
        r"""The mean of a function over the spectrum, $\frac1n \operatorname{tr} f(A)$.

        The standard error covers the choice of the probes. The error of the quadrature is not in it; it falls
        exponentially with the depth for smooth functions.

        Args:
            f: an elementwise function, real or complex; several values of a level are on further axes behind.

        Returns:
            An `Estimate` with the further axes of f; its `samples` count the random numbers in the probes.

        Raises:
            ValueError: f returns another shape.
        """
        values = _checks.numbers("f", f(self.nodes))
        if values.shape[:2] != self.nodes.shape:
            raise _checks.refusal("f", f"return an array whose shape begins with {self.nodes.shape}", values.shape)
        value, error = _mean_and_error(self.weights, values, self._variance)
        return Estimate(value, error, self._numbers)

    def moment(self, k: int) -> Estimate:
        r"""The moment $\frac1n \operatorname{tr} A^k$; for k below twice the depth the quadrature has no error.

        Args:
            k: at least 0; static.
        """
        k = _checks.integer("k", k, at_least=0)
        value, error = self._run(self._moment, k=k)
        return Estimate(value, error, self._numbers)

    def density(self, x: RealLike, width: RealScalarLike | None = None) -> Estimate:
        r"""The density of levels under Gaussians of a width, $\frac1n\sum_i \phi\big((x - \lambda_i)/\eta\big)/\eta$.

        Args:
            x: points of any shape.
            width: the standard deviation η > 0, by default the `resolution`. For a narrower one the standard error
                leaves out the error of the quadrature. A multiple of the identity needs a width.

        Raises:
            ValueError: `x` is not real, or `width` is not positive and finite, or missing where all levels are equal.
        """
        x, valid = _checks.points("x", x)
        if width is None:
            width = _RESOLVED("width", self.resolution, self.nodes)
        else:
            width = _checks.positive("width", width)
        value, error = self._run(self._density, x, width, valid=valid)
        return Estimate(value, error, self._numbers)

    def cdf(self, x: RealLike) -> Estimate:
        """The fraction of levels up to x, linear between the nodes, with half of the weight of a node below it.

        The standard error covers the choice of the probes; `cdf_band` also covers the error of the quadrature.

        Args:
            x: points of any shape, without NaN.
        """
        x, valid = _checks.points("x", x)
        _, value, _ = self._run(self._cumulative, x, valid=valid)
        return Estimate(value, jnp.sqrt(self._variance * value * (1 - value)), self._numbers)

    def cdf_bracket(self, x: RealLike) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        r"""Bounds of the weight that the probes see up to x, whatever the levels between the nodes.

        Between the nodes $\theta_j$ and $\theta_{j+1}$ the inequalities of Chebyshev, Markov and Stieltjes bound the
        weight from below by all nodes before $\theta_j$, and from above by all nodes up to $\theta_{j+1}$.

        Args:
            x: points of any shape, without NaN.

        Returns:
            The lower and the upper bounds, means over the probes.

        References:
            Szegő (1975), Orthogonal Polynomials, section 3.41.
        """
        self._each_level_once()
        x, valid = _checks.points("x", x)
        lower, _, upper = self._run(self._cumulative, x, valid=valid)
        return lower, upper

    def cdf_band(self, x: RealLike, confidence: float = 0.95) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """Confidence bounds of the fraction of levels up to x: brackets, widened by the error of the probes.

        The interval is Wilson's, as for a proportion, because the weight that a probe sees has the variance
        2 F (1 - F)/(βn + 2). It holds the truth more often than `confidence`, because the brackets are bounds.

        Args:
            x: points of any shape, without NaN.
            confidence: probability that the bounds hold the true value, between 0 and 1.

        References:
            Wilson (1927), J. Amer. Statist. Assoc. 22, 209.
        """
        lower, upper = self.cdf_bracket(x)
        spread = self._variance * student_multiple(confidence, self._numbers - 1) ** 2
        return _wilson(lower, spread, -1.0), _wilson(upper, spread, 1.0)

    def extreme_levels(self, k: int = 1, *, side: Side = "upper") -> tuple[Float[Array, " k"], Float[Array, " k"]]:
        """The outermost Ritz values, and the distances within which there is a level.

        The j-th value is the outermost among the j-th values of all probes. The j-th level from that side is at least
        as far out (Cauchy's interlacing). A level with several vectors is found once, and up to as often as it is there
        where rounding brings in its other vectors.

        Args:
            k: how many, at most as many as a probe has nodes; static.
            side: "upper", from the largest down, or "lower", from the smallest up.

        Returns:
            Levels and residuals; ∓infinity and infinity for values that no probe has.

        Raises:
            ValueError: the vectors were not kept orthogonal, or an argument is outside its range.
        """
        self._each_level_once()
        k = _checks.integer("k", k, at_least=1)
        if k > self.nodes.shape[-1]:
            raise _checks.refusal("k", f"be at most {self.nodes.shape[-1]}, the depth", k)
        return self._run(self._extremes, k=k, side=_checks.choice("side", side, Side))

    def _each_level_once(self) -> None:
        """Refuse nodes that may be copies of one level."""
        if not self.orthogonal:
            must = "be True in `spectral_density_of` where levels are counted: without it they are found several times"
            raise _checks.refusal("orthogonal", must, self.orthogonal)

    @property
    def _numbers(self) -> int:
        """How many independent real numbers the probes have."""
        return self.beta * self.n * self.nodes.shape[0]

    @property
    def _variance(self) -> float:
        """The variance of a mean over the probes of a function of variance 1 over the spectrum."""
        return 2 / (self.beta * self.n + 2) / self.nodes.shape[0]

    def _moment(self, *, k: int) -> tuple[Array, Array]:
        return _mean_and_error(self.weights, self.nodes**k, self._variance)

    def _density(self, x: Float[Array, "..."], width: Float[Array, ""]) -> tuple[Array, Array]:
        points, nodes = aligned(x, self.nodes[..., *[None] * x.ndim])
        height = jnp.exp(-(((points - nodes) / width) ** 2) / 2)
        value, error = _mean_and_error(self.weights, height / (2 * jnp.pi) ** 0.5, self._variance)
        return value / width, error / width

    def _cumulative(self, x: Float[Array, "..."]) -> tuple[Array, Array, Array]:
        """The lower bound, the value of the quadrature, and the upper bound."""
        each = jax.vmap(_one_cumulative, (0, 0, 0, None))(self.nodes, self.weights, self.complete, x)
        lower, value, upper = (jnp.mean(part, axis=0) for part in each)
        return lower, value, upper

    def _extremes(self, *, k: int, side: Side) -> tuple[Array, Array]:
        sign = 1 if side == "upper" else -1
        there = jnp.isfinite(self.residuals)
        outward = jnp.where(there, sign * self.nodes, -jnp.inf)
        place = jnp.argsort(-outward, axis=-1)[:, :k]
        values, residuals = (jnp.take_along_axis(part, place, axis=-1) for part in (outward, self.residuals))
        best = jnp.argmax(values, axis=0)[None]
        pick = lambda part: jnp.take_along_axis(part, best, axis=0)[0]
        return sign * pick(values), pick(residuals)


@compiled
def _mean_and_error(
    weights: Float[Array, "probes depth"], values: Inexact[Array, "probes depth ..."], variance: float
) -> tuple[Inexact[Array, "..."], Float[Array, "..."]]:
    """The mean over the spectrum and its standard error, by the formulas at the top of the file."""
    average = lambda values: jnp.tensordot(like(values, weights / weights.shape[0]), values, 2)
    scaled, unit = in_unit(values, (0, 1))
    mean = average(scaled)
    # Take the mean square of deviations: a difference of squares would cancel beside a large mean.
    spread = average(jnp.abs(scaled - mean[None, None]) ** 2)
    return times(mean, unit[0, 0]), square_root(variance * spread) * unit[0, 0]


def _one_cumulative(
    nodes: Float[Array, " depth"], weights: Float[Array, " depth"], complete: Bool[Array, ""], x: Float[Array, "..."]
) -> tuple[Float[Array, "..."], Float[Array, "..."], Float[Array, "..."]]:
    """The weight up to x that one probe sees: a lower bound, a value between, and an upper bound."""
    depth = nodes.size
    below = jnp.searchsorted(nodes, x, side="right")
    total = jnp.pad(jnp.cumsum(weights), (1, 0))
    lower, sharp, upper = (total[jnp.clip(below + by, 0, depth)] for by in (-1, 0, 1))
    # Half of the weight of a node lies below it; between nodes the line is within the bracket.
    before, after = jnp.clip(below - 1, 0, depth - 1), jnp.clip(below, 0, depth - 1)
    gap = nodes[after] - nodes[before]
    along = jnp.where(gap > 0, (x - nodes[before]) / jnp.where(gap > 0, gap, 1), 0)
    line = lower + weights[before] / 2 + along * (weights[before] + weights[after]) / 2
    value = jnp.where(complete | (below == 0) | (below == depth), sharp, line)
    return jnp.where(complete, sharp, lower), value, jnp.where(complete, sharp, upper)


@compiled
def _wilson(fraction: Float[Array, "..."], spread: float, side: float) -> Float[Array, "..."]:
    """The end of Wilson's interval for a fraction, with the variance of a single trial in units of 1/`spread`."""
    half = square_root(spread * fraction * (1 - fraction) + spread**2 / 4)
    return jnp.clip((fraction + spread / 2 + side * half) / (1 + spread), 0, 1)
