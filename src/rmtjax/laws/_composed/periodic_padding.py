r"""The exact law of periodically padded mixed spectra, and Wigner's cat.

Derivation. A spectrum of order n is repeated cyclically to the length N = c n + r, 0 ≤ r < n. Each level is taken c
times, and the r levels that come first in the arrangement are taken once more. Let u(x) be the fraction of levels that
come before a level at x. Then this level has c + 1{n u(x) < r} copies, and the density of one of the N padded levels,
pooled over spectra of order n, is

    p_n(x) = (n/N) f(x) [c + 1{u(x) < r/n}].

In ascending order u is the base distribution function F; in order of decreasing |x| it is the tail P(|X| > |x|); in
random order the indicator becomes its mean r/n, so that p_n = f. The mean of p_n over the law of the order is the law
at finite N. As N → ∞ the order is n = μN without fluctuation: c = ⌊1/μ⌋, r/n = 1/μ - c. The page "Wigner's cat" of the
manual has the details, and the form in which c + 1{n F(x) < r} is the number of m ≥ 0 with n (m + F(x)) < N.
"""

from typing import Annotated

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._promotion import aligned, common_dtype, like
from rmtjax._typing import Arrangement, RealScalarLike
from rmtjax.laws._composed.orders import order_distribution
from rmtjax.laws._composed.symmetrized import CONTINUOUS, Symmetrized
from rmtjax.laws._core.base import AbstractLaw
from rmtjax.laws._core.spectral import AbstractSpectralLaw, are_bounded, with_moments
from rmtjax.laws._spectra.semicircle import Semicircle
from rmtjax.special.internal import bracketed_root


class PeriodicPadding(AbstractSpectralLaw):
    r"""The law of a level of a mixed-order spectrum that is repeated cyclically up to length N.

    With f, F the base density and distribution function, $c = \lfloor 1/\mu \rfloor$ and $\rho = 1/\mu - c$,

    $$p(x) = \mu f(x)\,\big[c + 1\{u(x) < \rho\}\big], \qquad
    u(x) = \begin{cases} F(x) & \text{ascending} \\ P(|X| > |x|) & \text{magnitude} \end{cases}$$

    and $p = f$ for a random arrangement. With `order=N` the jump is smeared by the binomial law of the order n:
    $p_N(x) = \sum_n P(n)\, \tfrac nN f(x)\,\big[\lfloor\tfrac Nn\rfloor + 1\{n\,u(x) < N \bmod n\}\big]$, which for the
    ascending arrangement is

    $$p_N(x) = \mu f(x)\Big[1 + \sum_{m\ge1} P\big(\mathrm{Bin}(N-1,\mu) \le k_m(x) - 1\big)\Big],
    \qquad k_m(x) = \max\{k : k\,(m + F(x)) < N\},$$

    apart from the clipping of the order to [2, N], which the law includes. The derivation is at the top of the file.

    Args:
        base: the law of the unpadded levels, which has moments and no point masses and is the same at every order.
        mixture: μ in (0, 1], the probability in the binomial law Bin(N, μ) of the order.
        arrangement: `"ascending"`, `"magnitude"` or `"random"`.
        order: N ≥ 1, an integer, or None for the limit N → ∞; static.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax.numpy as jnp, rmtjax as rmt
        >>> law = PeriodicPadding(rmt.laws.Semicircle(), 0.9, "ascending")
        >>> print(law.pdf(jnp.array([-1.8, 1.8])).round(4))  # 2μf on the repeated levels, μf elsewhere
        [0.2497 0.1249]

    References:
        Süzen (2025), arXiv:2512.22169, for the padded ensemble; the law is derived in the manual, "Wigner's cat".
    """

    base: Annotated[AbstractLaw, CONTINUOUS]
    mixture: Annotated[Float[Array, ""], _checks.FRACTION]
    arrangement: Arrangement = eqx.field(static=True)
    order: int | None = eqx.field(static=True)

    def __init__(self, base: AbstractLaw, mixture: RealScalarLike, arrangement: Arrangement, order: int | None = None):
        self.base = with_moments("base", base)
        self.mixture = _checks.scalar("mixture", mixture)
        self.arrangement = _checks.choice("arrangement", arrangement, Arrangement)
        self.order = None if order is None else _checks.integer("order", order, at_least=1)

    def _degrees(self) -> dict[str, int]:
        return {"base": 1}

    def _multiplicities(self) -> tuple[Float[Array, " w"], Float[Array, " w"], Float[Array, " w"]]:
        """The share P(n) n/N of each order n of the padded levels, the copies c, and the excess fraction r/n."""
        if self.order is None:
            copies = jnp.floor(1 / self.mixture)
            return self.mixture[None], copies[None], (1 / self.mixture - copies)[None]
        orders, probabilities = order_distribution(self.order, self.mixture)
        share = probabilities * like(probabilities, orders) / self.order
        return share, like(share, self.order // orders), like(share, self.order % orders) / like(share, orders)

    def _base_tails(self, x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """The masses of the base up to x and above x."""
        return self.base._promised(x, quantity="tails")

    def _outside(self, x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """The masses of the base up to -x and above x, for x ≥ 0."""
        below, above = self._base_tails(jnp.stack([-x, x]))
        return below[0], above[1]

    def _tail_of_modulus(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """The base probability P(|X| > x) for x ≥ 0."""
        left, right = self._outside(x)
        return left + right

    def _beyond_threshold(self, excess: Float[Array, " w"]) -> tuple[Float[Array, " w"], Float[Array, " w"]]:
        """The base masses up to -t and above t, if by magnitude the levels beyond ±t are copied once more."""
        reach = jnp.maximum(*map(jnp.abs, self.base._promised_support()))
        reach = jnp.broadcast_to(reach, excess.shape).astype(common_dtype(reach, excess))
        return self._outside(bracketed_root(lambda t: excess - self._tail_of_modulus(t), jnp.zeros_like(reach), reach))

    def _support(self) -> tuple[Array, Array]:
        return self.base._promised_support()

    def _is_bounded(self) -> bool:
        return are_bounded(self.base)

    def _pdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        density = self.base._promised(x, quantity="pdf")
        if self.arrangement == "random":
            return density
        share, copies, excess = self._multiplicities()
        before = self._base_tails(x)[0] if self.arrangement == "ascending" else self._tail_of_modulus(jnp.abs(x))
        copies, before, excess = aligned(copies, before[..., None], excess)
        return density * ((copies + like(copies, before < excess)) @ share)

    def _tails(self, x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        if self.arrangement == "random":
            return self._base_tails(x)
        share, copies, excess = self._multiplicities()
        left, right = (excess, excess) if self.arrangement == "ascending" else self._beyond_threshold(excess)
        below, above, copies, excess, left, right = aligned(
            *(mass[..., None] for mass in self._base_tails(x)), copies, excess, left, right
        )
        if self.arrangement == "ascending":
            once_more = jnp.minimum(below, excess), jnp.maximum(excess - below, 0)
        else:
            up_to = jnp.minimum(below, left) + jnp.maximum(right - above, 0)
            once_more = up_to, jnp.maximum(left - below, 0) + jnp.minimum(above, right)
        return (copies * below + once_more[0]) @ share, (copies * above + once_more[1]) @ share

    def _breakpoints(self) -> Float[Array, " k"]:
        """The breakpoints of the base, and the base quantiles where the density jumps as the extra copies end."""
        points = self.base._promised_breakpoints()
        if self.arrangement == "random":
            return points
        _, _, excess = self._multiplicities()
        if self.arrangement == "ascending":
            jumps = self.base._promised_ppf(excess, 1 - excess)
        else:
            left, right = self._beyond_threshold(excess)
            jumps = self.base._promised_ppf(jnp.append(left, 1 - right), jnp.append(1 - left, right))
        return jnp.sort(jnp.concatenate([points, jumps]))


def wigner_cat(mixture: RealScalarLike, radius: RealScalarLike = 2.0, order: int | None = None) -> Symmetrized:
    r"""Wigner's cat: the ascending periodic padding of a semicircle, pooled with its mirror image.

    With f, F the semicircle's density and distribution function, for 1/2 < μ ≤ 1 and $\rho = 1/\mu - 1$,

    $$p(x) = \mu f(x)\,\big[1 + \tfrac12\, 1\{F(x) < \rho\} + \tfrac12\, 1\{F(x) > 1 - \rho\}\big] :$$

    a semicircle lowered to μf, with two ears of the height 3μf/2 on the fractions ρ of lowest and highest levels. For
    μ < 2/3 they overlap, with the height 2μf. With `order=N` the binomial law of the order smears their inner edges.

    Args:
        mixture: μ in (0, 1].
        radius: radius R > 0 of the semicircle.
        order: N ≥ 1, an integer, or None for the limit N → ∞.

    Returns:
        `Symmetrized(PeriodicPadding(Semicircle(radius), mixture, "ascending", order))`.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax.numpy as jnp
        >>> print(wigner_cat(0.9).pdf(jnp.array([-1.8, 0.0, 1.8])).round(4))
        [0.1873 0.2865 0.1873]

    References:
        Süzen (2025), arXiv:2512.22169; the law is derived in the manual, "Wigner's cat".
    """
    return Symmetrized(PeriodicPadding(Semicircle(radius), mixture, "ascending", order))
