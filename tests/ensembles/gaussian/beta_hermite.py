"""Exact laws of the Gaussian β-ensembles at finite n."""

import numpy as np
import scipy.special
import scipy.stats

from tests.statistical import assert_law, assert_mean


def level_unit(n, beta, scale):
    return scale * (2 / (beta * n)) ** 0.5


def fourth_moment(k, beta):
    """E Σ x⁴ over k levels of density ∝ Π|x_i - x_j|^β exp(-Σ x²/2), from the entries of the tridiagonal model.

    With a_i ~ N(0, 1) and b_i² = χ²_{iβ}/2, tr T⁴ = Σ a_i⁴ + 4 Σ b_i² (a_i² + a_i a_{i+1} + a_{i+1}²) + 2 Σ b_i⁴ +
    4 Σ b_i² b_{i+1}², of means 3k, 2β k(k-1), β k(k-1)/2 + β² k(k-1)(2k-1)/6 and β² k(k-1)(k-2)/3.
    """
    return 3 * k + 5 / 2 * beta * k * (k - 1) + beta**2 / 4 * k * (k - 1) * (2 * k - 3)


def log_repulsion(k, beta):
    r"""E Σ_{i<j} log|x_i - x_j| for the density of `fourth_moment`, a logarithmic derivative of Mehta's integral by β.

    Mehta (2004), eq. 17.6.7: E Π|x_i - x_j|^p = Π_j Γ(1 + j(β+p)/2) Γ(1 + β/2) / (Γ(1 + (β+p)/2) Γ(1 + jβ/2)).
    """
    j, psi = np.arange(1, k + 1), scipy.special.digamma
    return np.sum(j * psi(1 + j * beta / 2) - psi(1 + beta / 2)) / 2


def assert_beta_hermite(levels, beta, unit):
    """Four exact laws of the density ∝ Π|x_i - x_j|^β exp(-Σ x²/2) at x = levels/unit."""
    x, k = np.asarray(levels, np.float64) / unit, levels.shape[-1]
    # The trace sees only the diagonal, e.g. N(0, 1) instead of N(0, 2), or a forgotten β.
    assert_law(x.sum(-1), scipy.stats.norm(0, k**0.5).cdf)
    # The law of the trace of the square sees χ with wrong parameters, e.g. shifted by a row.
    assert_law((x**2).sum(-1), scipy.stats.chi2(k + beta * k * (k - 1) / 2).cdf)
    if k > 1:
        # The fourth moment sees the χ in a wrong order; the repulsion sees errors that do not change any trace.
        assert_mean((x**4).sum(-1), fourth_moment(k, beta))
        i, j = np.triu_indices(k, 1)
        assert_mean(np.log(np.abs(x[:, i] - x[:, j])).sum(-1), log_repulsion(k, beta))
    if k == 2:
        assert_law((x[:, 1] - x[:, 0]) ** 2 / 2, scipy.stats.chi2(beta + 1).cdf)
