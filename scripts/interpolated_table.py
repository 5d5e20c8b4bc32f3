r"""Builds `src/rmtjax/laws/_spacings/interpolated.npz`, the series between which the laws for every β are interpolated.

*Ratio.* The fraction $v = r/(1 + r)$ that the smaller of two spacings has of their sum has at β = 1, 2 and 4 a density
$[v (1 - v)]^\beta\,h(y^2)$, with y = 1 - 2v. The table has log h up to a constant, by y² on [0, 1].

*Spacing.* The logarithm of the quotient of the density by Wigner's surmise, by s on [0, 8].

Both are smooth, so that a Chebyshev series on one panel is enough. The exact laws are `laws.GapRatio` and
`laws.Spacing`, whose tables other scripts build; these two have to be there. A series ends where its coefficients are
below 2e-10 and 5e-9, as laws between the exact ones are known to much less, and each term is a part of every program.

Run it with no arguments; it takes a few seconds.
"""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from rmtjax.laws import GapRatio, Spacing, WignerSurmise
from rmtjax.special.internal import chebyshev_coefficients, chebyshev_nodes

TABLE = Path(__file__).resolve().parents[1] / "src" / "rmtjax" / "laws" / "_spacings" / "interpolated.npz"
BETAS = (1, 2, 4)
REACH = 8.0
# For each series its number of nodes, and the smallest coefficient that is kept.
SERIES = {"ratio": (24, 2e-10), "spacing": (48, 5e-9)}


def log_ratio(beta: int, t: np.ndarray) -> np.ndarray:
    """The logarithm of h where 2 y² - 1 = t."""
    y = np.sqrt((1 + t) / 2)
    v = (1 - y) / 2
    r = v / (1 - v)
    return np.asarray(GapRatio(beta).logpdf(jnp.asarray(r))) + 2 * np.log1p(r) - beta * np.log(v * (1 - v))


def log_spacing(beta: int, t: np.ndarray) -> np.ndarray:
    """The logarithm of the quotient where 2 s/8 - 1 = t."""
    s = jnp.asarray(REACH * (1 + t) / 2)
    return np.asarray(Spacing(beta).logpdf(s) - WignerSurmise(beta).logpdf(s))


def kept(coefficients: np.ndarray, least: float) -> np.ndarray:
    """The coefficients up to the last one that counts, and zeros."""
    assert (abs(coefficients[-3:]) < 2e-14).all()  # those of the highest degrees are rounding
    last = np.flatnonzero(abs(coefficients) > least)[-1]
    return np.where(np.arange(coefficients.size) <= last, coefficients, 0)


def build() -> dict[str, np.ndarray]:
    """The arrays of the table, one row for each β."""
    arrays = {}
    with jax.enable_x64(True):
        for (name, (number, least)), fn in zip(SERIES.items(), (log_ratio, log_spacing), strict=True):
            t = chebyshev_nodes(number)
            rows = [kept(np.asarray(chebyshev_coefficients(jnp.asarray(fn(beta, t)))), least) for beta in BETAS]
            arrays[name] = np.array(rows)[:, : np.flatnonzero(np.any(rows, axis=0))[-1] + 1]
    arrays["ratio"][:, 0] = 0  # a constant goes with the norm
    return arrays


if __name__ == "__main__":
    np.savez(TABLE, **build())
