"""Independent implementations of the laws in numpy and scipy, from their definitions, and the table of tested laws."""

import warnings
from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import mpmath
import numpy as np
from scipy import stats

from rmtjax import laws
from rmtjax.laws import AbstractLaw

SEMICIRCLE = stats.semicircular(scale=2.0)


class Uniform(AbstractLaw):
    """A law that defines no more than it must, so that everything else is a fall-back."""

    lower: jnp.ndarray
    upper: jnp.ndarray

    def __init__(self, lower, upper):
        self.lower, self.upper = jnp.asarray(lower), jnp.asarray(upper)

    def _support(self):
        return self.lower, self.upper

    def _pdf(self, x):
        return jnp.ones_like(x) / (self.upper - self.lower)


def polynomial_roots(coefficients):
    """The roots of a polynomial in mpmath, from its coefficients in the order of falling powers."""
    with warnings.catch_warnings():  # the order of coefficients has a name in the newest mpmath only
        warnings.simplefilter("ignore", DeprecationWarning)
        return mpmath.polyroots(list(coefficients), maxsteps=2000, extraprec=400)


class Case(NamedTuple):
    law: AbstractLaw
    pdf: Callable[[np.ndarray], np.ndarray]
    cdf: Callable[[np.ndarray], np.ndarray]


def clipped_binomial(order: int, mixture: float) -> tuple[np.ndarray, np.ndarray]:
    """All orders from 0 to N as a mixed ensemble would draw them, and their probabilities."""
    drawn = np.arange(order + 1)
    return np.clip(drawn, min(2, order), order), stats.binom.pmf(drawn, order, mixture)


def multiplicities(mixture: float, order: int | None) -> list[tuple[float, int, float]]:
    """For each order n: its share of the padded levels, the full copies, and the fraction that is copied once more."""
    if order is None:
        copies = int(1 / mixture + 1e-12)
        return [(mixture, copies, 1 / mixture - copies)]
    orders, probabilities = clipped_binomial(order, mixture)
    return [
        (p * n / order, order // n, order % n / n) for n, p in zip(orders.tolist(), probabilities.tolist(), strict=True)
    ]


def padded_pdf(mixture, arrangement, order, base=SEMICIRCLE):
    def pdf(x):
        u = base.cdf(x) if arrangement == "ascending" else 2 * base.sf(np.abs(x))
        factor = sum(share * (copies + (u < excess)) for share, copies, excess in multiplicities(mixture, order))
        return base.pdf(x) * (1.0 if arrangement == "random" else factor)

    return pdf


def padded_cdf(mixture, arrangement, order, base=SEMICIRCLE):
    def mass(u):
        """The mass, among padded levels, of the first fraction u of the unpadded ones."""
        terms = multiplicities(mixture, order)
        return sum(share * (copies * u + np.minimum(u, excess)) for share, copies, excess in terms)

    def cdf(x):
        if arrangement == "random":
            return base.cdf(x)
        if arrangement == "ascending":
            return mass(base.cdf(x))
        tail = mass(2 * base.sf(np.abs(x))) / 2
        return np.where(x < 0, tail, 1 - tail)

    return cdf


def symmetrized(pdf, cdf):
    return lambda x: (pdf(x) + pdf(-x)) / 2, lambda x: (cdf(x) + 1 - cdf(-x)) / 2


def pooled(weights, bases):
    total = lambda name: lambda x: sum(w * getattr(base, name)(x) for w, base in zip(weights, bases, strict=True))
    return total("pdf"), total("cdf")


def binomial_semicircle(order, mixture, radius):
    orders, probabilities = clipped_binomial(order, mixture)
    share = orders * probabilities / np.sum(orders * probabilities)
    return pooled(share, [stats.semicircular(scale=radius * np.sqrt(n / order)) for n in orders])


def padding(mixture, arrangement, order):
    law = laws.PeriodicPadding(laws.Semicircle(), mixture, arrangement, order=order)
    return Case(law, padded_pdf(mixture, arrangement, order), padded_cdf(mixture, arrangement, order))


def cat(mixture, order):
    pdf, cdf = padded_pdf(mixture, "ascending", order), padded_cdf(mixture, "ascending", order)
    return Case(laws.wigner_cat(mixture, order=order), *symmetrized(pdf, cdf))


def _table() -> dict[str, Case]:
    semicircle = lambda radius: stats.semicircular(scale=radius)
    uniform = lambda lower, upper: stats.uniform(lower, upper - lower)
    box = uniform(1.0, 2.0)
    cases = {
        f"semicircle of radius {radius}": Case(laws.Semicircle(radius), semicircle(radius).pdf, semicircle(radius).cdf)
        for radius in (2.0, 0.7)
    }
    cases["uniform"] = Case(Uniform(1.0, 2.0), box.pdf, box.cdf)
    cases["overlapping mixture"] = Case(
        laws.Mixture([0.3, 0.7], [laws.Semicircle(1.0), laws.Semicircle(2.0)]),
        *pooled([0.3, 0.7], [semicircle(1.0), semicircle(2.0)]),
    )
    cases["mixture with a gap"] = Case(
        laws.Mixture([0.25, 0.75], [Uniform(-2.0, -1.0), Uniform(0.5, 1.5)]),
        *pooled([0.25, 0.75], [uniform(-2.0, -1.0), uniform(0.5, 1.5)]),
    )
    cases["symmetrised"] = Case(laws.Symmetrized(Uniform(1.0, 2.0)), *symmetrized(box.pdf, box.cdf))
    for order, mixture in [(1, 0.9), (2, 0.9), (8, 0.3), (8, 0.9), (8, 1.0), (1000, 0.9)]:
        law = laws.BinomialSemicircle(order, mixture, 1.5)
        cases[f"binomial semicircle N={order} μ={mixture}"] = Case(law, *binomial_semicircle(order, mixture, 1.5))
    for arrangement in ("ascending", "magnitude", "random"):
        for order in (None, 8) if arrangement == "random" else (None, 2, 8, 1000):
            for mixture in (0.3, 0.5, 0.9, 1.0):
                cases[f"{arrangement} N={order} μ={mixture}"] = padding(mixture, arrangement, order)
    for order in (None, 8):
        for mixture in (0.3, 0.6, 0.9, 1.0):
            cases[f"cat N={order} μ={mixture}"] = cat(mixture, order)
    return cases


CASES = _table()
