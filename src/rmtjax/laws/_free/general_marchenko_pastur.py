"""The Marčenko-Pastur law of a general population spectrum."""

import math
from typing import Annotated

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Complex, Float

from rmtjax import _checks
from rmtjax._promotion import common_dtype, like
from rmtjax._typing import RealLike, RealScalarLike
from rmtjax.laws._core.half_plane import pole, reciprocal
from rmtjax.laws._core.orders import no_more_than
from rmtjax.laws._core.power_series import moments_of_points, power
from rmtjax.laws._core.spectral import AbstractSpectralLaw
from rmtjax.laws._free.empirical import Empirical
from rmtjax.laws._free.free_product import FreeProduct
from rmtjax.laws._free.silverstein import Silverstein
from rmtjax.laws._spectra.marchenko_pastur import MarchenkoPastur
from rmtjax.special.internal import bracketed_root

_POPULATION = _checks.Rule(
    lambda t: ((t >= 0) & (t < math.inf)).all() & (t > 0).any(), "be finite, not negative and not all 0"
)


class GeneralMarchenkoPastur(AbstractSpectralLaw):
    r"""The Marčenko-Pastur law of a population spectrum, the limit for correlated data.

    It is the limiting spectral density of sample covariance matrices whose population covariance Σ has the eigenvalues
    t with frequencies w. For the ratio c, the Stieltjes transform $1/\omega$ of the companion matrix $X^*\Sigma X/m$
    solves Silverstein's equation

    $$z = \omega\,\Big(1 + c \sum_k \frac{w_k t_k}{\omega - t_k}\Big), \qquad
    f(x) = -\frac{1}{\pi c} \operatorname{Im} \frac{1}{\omega(x + i0)}, \qquad
    G(z) = \frac\omega z \sum_k \frac{w_k}{\omega - t_k} .$$

    The continuous part lies on at most as many intervals as there are different points t > 0; between them the density
    is 0. In addition there is a point mass $\max(P(t = 0), 1 - 1/c)$ at 0. At $c\,P(t > 0) = 1$ the density diverges as
    $x^{-1/2}$ at 0. The mean is $E\,t$, the variance $\operatorname{Var} t + c\,(E\,t)^2$, and the free cumulants of
    the companion law are $c\,E\,t^k$.

    The density is right to a few ulp at a point within a few ulp of x; cdf and sf are closed expressions in the same
    solution, with small relative errors in both tails. One value takes about 500 terms for each of the points. The part
    of the law that comes from small points is wrong beside a point more than $10^7$ times as large (double precision:
    $10^{60}$).

    `atoms()` always has one entry, as for `MarchenkoPastur`: the lower end of the support, with mass 0 if that end is
    not 0. At a kink the derivative of the mass is the derivative on one side.

    Convention: the law of one eigenvalue of $W = \Sigma^{1/2}XX^*\Sigma^{1/2}/m$ with X n×m, $E|X_{ij}|^2 = 1$,
    $n/m \to c$. `GeneralMarchenkoPastur(c, [s**2])` is `MarchenkoPastur(c, s)`.

    Args:
        ratio: c > 0, the number of rows of X over the number of columns.
        population: a vector of finite points t ≥ 0, not all 0, in any order; equal points count together. Arrays decide
            the dtype.
        weights: as many masses w > 0, which sum to 1 and are divided by their sum; equal weights if None.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> law = GeneralMarchenkoPastur(ratio=0.1, population=[1.0, 5.0])
        >>> print(f"{law.pdf(2.0):.1f} {law.cdf(2.0):.2f} {law.var():.2f}")  # two intervals
        0.0 0.50 4.90

    References:
        Silverstein (1995), J. Multivariate Anal. 55, 331; Silverstein and Choi (1995), J. Multivariate Anal. 54, 295,
        theorems 1.1, 4.1 and 4.2.
    """

    ratio: Annotated[Float[Array, ""], _checks.POSITIVE]
    population: Annotated[Float[Array, " k"], _POPULATION]
    weights: Annotated[Float[Array, " k"], _checks.POSITIVE_PROBABILITIES]

    def __init__(self, ratio: RealScalarLike, population: RealLike, weights: RealLike | None = None):
        self.ratio = _checks.scalar("ratio", ratio, nonzero=True)
        points = self.population = _checks.vector("population", population)
        weights = jnp.full_like(points, 1 / points.size) if weights is None else weights
        self.weights = _checks.of_shape("weights", weights, points.shape)

    def _degrees(self) -> dict[str, int]:
        return {"population": 1}

    def _frequencies(self) -> Float[Array, " k"]:
        """The weights in the precision of the population, divided by their sum."""
        weights = self.weights.astype(common_dtype(self.weights, self.population))
        return weights / jnp.sum(weights)

    def _equation(self) -> Silverstein:
        weights = self._frequencies()
        # The largest point with weight 0 replaces a point at 0, whose weight goes into `null`.
        present, largest = self.population > 0, jnp.max(self.population)
        null = jnp.sum(jnp.where(present, 0, weights))
        points = jnp.where(present, self.population, largest)
        return Silverstein(self.ratio, points, jnp.where(present, weights, 0), null)

    def _ends(self) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """The ends of the continuous part."""
        equation = self._equation()
        lower, upper = equation.outer_ends()
        return jnp.maximum(equation.image(lower), 0), equation.image(upper)

    def _support(self) -> tuple[Array, Array]:
        lower, upper = self._ends()
        return jnp.where(self._mass_at_zero() > 0, 0, lower), upper

    def _mass_at_zero(self) -> Float[Array, ""]:
        equation = self._equation()
        return jnp.where(equation.overfull(), (self.ratio - 1) / self.ratio, equation.null)

    def _atoms(self) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
        return self._support()[0][None], self._mass_at_zero()[None]

    def _jumps(self) -> tuple[Float[Array, " k"], Float[Array, " k"], Float[Array, " k"]]:
        location, mass = self._atoms()
        return location, mass, 1 - mass

    def _is_bounded(self) -> bool:
        return True

    def _breakpoints(self) -> Float[Array, " 2k+1"]:
        """The ends of all intervals; between two merged intervals, twice the point where a gap would open."""
        # The density is 0 at the ends of a gap, so that integrals need no derivative by their position.
        return self._with_inner_ends_of(jax.tree.map(jax.lax.stop_gradient, self._equation()))

    def _with_inner_ends_of(self, equation: Silverstein) -> Float[Array, " 2k+1"]:
        lower, upper = self._ends()
        inner = jnp.clip(jnp.sort(equation.inner_ends()), lower, upper)
        return jnp.concatenate([jnp.stack([self._support()[0], lower]), inner, upper[None]])

    def _pdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        inside, x = self._inside(x)
        equation = self._equation()
        return jnp.where(inside, jnp.vectorize(lambda y: equation.density(equation.subordinate(y)))(x), 0)

    def _tails(self, x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        inside, x = self._inside(x)
        equation, atom = self._equation(), self._mass_at_zero()
        below, above = jnp.vectorize(lambda y: equation.masses(equation.subordinate(y)))(x)
        return jnp.where(inside, below, atom), jnp.where(inside, above, 1 - atom)

    def _ppf(self, p: Float[Array, "..."], q: Float[Array, "..."]) -> Float[Array, "..."]:
        """The quantiles, from a search for the radius, because the masses and x are closed expressions in it."""
        equation = self._equation()
        lowest, highest = map(jnp.abs, equation.outer_ends())

        def invert(p: Float[Array, ""], q: Float[Array, ""]) -> Float[Array, ""]:
            def excess(radius: Float[Array, ""]) -> Float[Array, ""]:
                below, above = equation.masses(equation.point(radius))
                return jnp.where(p <= 0.5, below - p, q - above)

            return equation.abscissa(equation.point(bracketed_root(excess, lowest + 0 * q, highest + 0 * q)))

        return jnp.vectorize(invert)(p.astype(self._dtype(p)), q.astype(self._dtype(q)))

    def _moment(self, k: int) -> Float[Array, ""]:
        r"""The moment, from the moments $[z^k] (1 + \sum_j κ_j z^j)^{k+1}/(k + 1)$ of the companion law."""
        weights = self.ratio * self._frequencies()
        if k == 0:
            return 0 * jnp.sum(weights) + 1
        no_more_than(100, k)
        cumulants = moments_of_points(self.population, weights, k)
        return power(cumulants.at[0].set(1), k + 1)[k] / ((k + 1) * self.ratio)

    def _central_moments(self, *orders: int) -> tuple[Float[Array, ""], ...]:
        """The central moments, from central moments of the population: sums of moments about 0 would cancel."""
        weights, c = self._frequencies(), self.ratio
        mean = jnp.sum(weights * self.population)
        second, third, fourth = (jnp.sum(weights * (self.population - mean) ** j) for j in (2, 3, 4))
        of_first_order = 4 * mean * third + 4 * mean**2 * second + 2 * second**2
        moments = {
            2: second + c * mean**2,
            3: third + c * mean * (3 * second + c * mean**2),
            4: fourth + c * (of_first_order + c * mean**2 * (6 * second + (2 + c) * mean**2)),
        }
        return tuple(moments[k] for k in orders)

    def _stieltjes(self, z: Complex[Array, "..."]) -> Complex[Array, "..."]:
        equation = self._equation()

        def continuous(z: Complex[Array, ""]) -> Complex[Array, ""]:
            omega = equation.solve(z)
            terms = like(z, equation.weights) / (omega - like(z, equation.points))
            full = jnp.sum(terms) * reciprocal(equation.slope(omega))
            # If there are more variables than observations, the companion law has the same continuous part up to 1/c.
            return jnp.where(equation.overfull(), reciprocal(like(z, self.ratio) * omega), full)

        values = jnp.vectorize(continuous)(z.astype(common_dtype(z, self._dtype(jnp.real(z)))))
        return pole(z, 0.0, self._mass_at_zero()) + values

    def _product(self) -> FreeProduct:
        return FreeProduct(Empirical(self.population, self._frequencies()), MarchenkoPastur(self.ratio))

    def _subordination(self, w: Complex[Array, "..."]) -> tuple[Complex[Array, "..."], Complex[Array, "..."]]:
        return self._product()._subordination(w)

    def _log_potential(self, w: Complex[Array, "..."]) -> Complex[Array, "2 ..."]:
        return self._product()._log_potential(w)

    def _gap_levels(self) -> Float[Array, " k"]:
        """The atom, and the levels between groups of the population, which lie above it."""
        atom = self._mass_at_zero()
        return jnp.maximum(atom, jnp.append(atom, self._product().a._gap_levels()))

    def _bands(self) -> tuple[Float[Array, " 2k+2"], Float[Array, " k"]]:
        ends = jnp.append(self._support()[0], self._with_inner_ends_of(self._equation()))
        # In the middle of a gap the mass below has finite derivatives.
        return ends, self._tails(ends[1:-1:2] / 2 + ends[2::2] / 2)[0]

    def _inside(self, x: Float[Array, "..."]) -> tuple[Bool[Array, "..."], Float[Array, "..."]]:
        """Whether x lies in the continuous part, not in a gap above the atom; and x, or else the midpoint."""
        lower, upper = self._ends()
        inside = (x > lower) & (x < upper)
        return inside, jnp.where(inside, x, lower / 2 + upper / 2).astype(self._dtype(x))

    def _dtype(self, x: Array) -> jnp.dtype:
        return common_dtype(x, self.ratio, self.population, self.weights)
