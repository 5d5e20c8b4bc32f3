"""The probability that all levels of a Gaussian ensemble lie below a threshold, by quadrature along its pivots.

The pivots of t minus the tridiagonal model are a Markov chain that is stopped at the first negative one, so that the
probability is an iterated integral over one variable at a time. In logarithms of the variables the integrands are
analytic and fall exponentially at least, where the trapezoidal rule has the accuracy of the number type.
"""

import numpy as np
from scipy.special import gammaln, log_ndtr, logsumexp


def log_all_below(n: int, beta: float, t: float, step: float = 0.05) -> float:
    """The logarithm of P(λ_max < t), for levels with the density of weight exp(-x²/2)."""

    def grid(centre: float, power: float) -> np.ndarray:
        """Logarithms of points, from where a function like x^power is below 1e-17 to where it has decayed."""
        return np.arange(np.log(centre) - max(9.0, 40 / power), np.log(3 * centre + abs(t) + 9), step)

    def integrate(log_kernel: np.ndarray, log_values: np.ndarray) -> np.ndarray:
        return logsumexp(log_kernel + log_values[None, :], axis=1) + np.log(step)

    def log_normal(x: np.ndarray) -> np.ndarray:
        return -(x**2) / 2 - np.log(2 * np.pi) / 2

    log_u, log_survival = np.zeros(1), log_ndtr(np.full(1, t))
    for i in range(n - 1, -1, -1):
        k = beta * (n - 1 - i) / 2
        centre = max(0.5, t - k / t if t > 2 * np.sqrt(k) + 1 else (t + np.sqrt(t**2 + 12 * k)) / 6)
        log_d = grid(centre, k + 1)
        d = np.exp(log_d)
        if i == n - 1:  # the last row has only its pivot
            log_future = log_d
        else:
            u = np.exp(log_u)
            kernel = k * log_u[None, :] - d[:, None] * u[None, :] - gammaln(k)
            log_future = (k + 1) * log_d + integrate(kernel, log_survival)
        before = beta * (n - i) / 2
        log_u = grid(max(0.1, before / centre), before) if i else np.full(1, -np.inf)
        log_survival = integrate(log_normal(t - d[None, :] - np.exp(log_u)[:, None]), log_future)
    return float(log_survival[0])
