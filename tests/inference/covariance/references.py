"""The estimators as their papers write them, in NumPy, for one matrix of rows of mean 0."""

import mpmath
import numpy as np


def spectrum(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ascending levels and vectors of the p×p matrix, by the symmetric routine."""
    levels, vectors = np.linalg.eigh(rows.T @ rows.conj() / len(rows))
    return np.maximum(levels, 0), vectors


def qis(rows: np.ndarray) -> np.ndarray:
    """Ledoit and Wolf (2022), section 4.5, with inverse levels as there."""
    n, p = rows.shape
    c = p / n
    levels, vectors = spectrum(rows)
    inverse = 1 / levels[max(0, p - n) :]
    h = min(c**2, 1 / c**2) ** 0.35 / p**0.35
    theta, conjugate = np.empty_like(inverse), np.empty_like(inverse)
    for i, x in enumerate(inverse):
        below = (inverse - x) ** 2 + h**2 * inverse**2
        theta[i] = np.mean(inverse * (inverse - x) / below)
        conjugate[i] = np.mean(inverse * h * inverse / below)
    amplitude = theta**2 + conjugate**2
    if p <= n:
        new = 1 / ((1 - c) ** 2 * inverse + 2 * c * (1 - c) * inverse * theta + c**2 * inverse * amplitude)
    else:
        null = 1 / ((c - 1) * inverse.mean())
        new = np.concatenate([np.full(p - n, null), 1 / (inverse * amplitude)])
    new *= levels.sum() / new.sum()
    return (vectors * new) @ vectors.conj().T


@np.vectorize
def _hilbert(x: float) -> float:
    """The Hilbert transform of Epanechnikov's kernel; 40 digits, as the two terms cancel like 1/x²."""
    with mpmath.workdps(40):
        x, root = mpmath.mpf(x), mpmath.sqrt(5)
        logarithm = mpmath.log(abs((root - x) / (root + x)))
        return float(-3 * x / (10 * mpmath.pi) + 3 / (4 * root * mpmath.pi) * (1 - x**2 / 5) * logarithm)


def analytical(rows: np.ndarray) -> np.ndarray:
    """Ledoit and Wolf (2020), section 4.7 and appendix C, with density and Hilbert transform as there."""
    n, p = rows.shape
    c, h, root = p / n, n ** (-1 / 3), 5**0.5
    levels, vectors = spectrum(rows)
    positive = levels[max(0, p - n) :]
    density, hilbert = np.empty_like(positive), np.empty_like(positive)
    for i, level in enumerate(positive):
        x = (level - positive) / (h * positive)
        density[i] = np.mean(3 / (4 * root) * np.maximum(1 - x**2 / 5, 0) / (h * positive))
        hilbert[i] = np.mean(_hilbert(x) / (h * positive))
    if p <= n:
        new = positive / ((np.pi * c * positive * density) ** 2 + (1 - c - np.pi * c * positive * hilbert) ** 2)
    else:
        logarithm = np.log((1 + root * h) / (1 - root * h))
        at_zero = (3 / (10 * h**2) + 3 / (4 * root * h) * (1 - 1 / (5 * h**2)) * logarithm) * np.mean(1 / positive)
        null = 1 / ((c - 1) * at_zero)
        new = positive / (np.pi**2 * positive**2 * (density**2 + hilbert**2))
        new = np.concatenate([np.full(p - n, null), new])
    return (vectors * new) @ vectors.conj().T


def oas(rows: np.ndarray) -> np.ndarray:
    """Chen et al. (2010), as the limit of their iteration, equations 19 and 20, started from the sample."""
    n, p = rows.shape
    sample = rows.T @ rows / n
    target = np.trace(sample) / p * np.eye(p)
    estimate = sample
    for _ in range(2000):
        mixed, square = np.trace(estimate @ sample), np.trace(estimate) ** 2
        intensity = ((1 - 2 / p) * mixed + square) / ((n + 1 - 2 / p) * mixed + (1 - n / p) * square)
        estimate = (1 - intensity) * sample + intensity * target
    return estimate


def clipping(rows: np.ndarray) -> np.ndarray:
    """Level by level, from the largest down."""
    n, p = rows.shape
    levels, vectors = spectrum(rows)
    edge = levels.mean() * (1 + np.sqrt(p / n)) ** 2
    noise = [level for level in levels if level <= edge]
    new = [level if level > edge else sum(noise) / len(noise) for level in levels]
    return (vectors * new) @ vectors.T


def rie(rows: np.ndarray) -> np.ndarray:
    """Bun, Bouchaud and Potters (2017), section 8, for p < n and a mean level of 1, with their κ; then the trace."""
    n, p = rows.shape
    q = p / n
    levels, vectors = spectrum(rows)
    mean = levels.mean()
    levels = levels / mean
    low = levels[0]
    kappa = 2 * low / ((1 - q - low) ** 2 - 4 * q * low)
    alpha = 1 / (1 + 2 * q * kappa)
    ends = ((1 + q) * kappa + 1 + np.array([-1, 1]) * np.sqrt((2 * kappa + 1) * (2 * q * kappa + 1))) / kappa
    assert abs(ends[0] - low) < 1e-10
    new = []
    for k, level in enumerate(levels):
        z = level - 1j / np.sqrt(p)
        s = np.sum(1 / (z - np.delete(levels, k))) / p
        g = (z * (1 + kappa) - kappa * (1 - q) - kappa * np.sqrt(z - ends[0]) * np.sqrt(z - ends[1])) / (
            z * (z + 2 * q * kappa)
        )
        optimal = level / abs(1 - q + q * z * s) ** 2
        gamma = abs(1 - q + q * z * g) ** 2 * (1 + alpha * (level - 1)) / level
        new.append(optimal * max(gamma, 1))
    new = np.array(new) * levels.sum() / np.sum(new) * mean
    return (vectors * new) @ vectors.T
