"""Two-sided limits for random tests, each of which fails by chance at most once in a million."""

import numpy as np
import scipy.stats

ERROR_RATE = 1e-6


def assert_mean(samples: np.ndarray, expected: float) -> None:
    """Check that the mean of independent samples is within the normal limits of the expected one."""
    samples = np.asarray(samples, np.float64)
    z = (samples.mean() - expected) / (samples.std(ddof=1) / samples.size**0.5)
    limit = scipy.stats.norm.isf(ERROR_RATE / 2)
    assert abs(z) < limit, f"mean {samples.mean():.6g} is {z:.1f} standard errors from {expected:.6g}"


def assert_counts(counts: np.ndarray, probabilities: np.ndarray) -> None:
    """Check that every bin of a histogram is within its own binomial limits."""
    counts, probabilities = np.asarray(counts), np.clip(np.asarray(probabilities, np.float64), 0, 1)
    total = counts.sum()
    low = scipy.stats.binom.ppf(ERROR_RATE / 2, total, probabilities)
    high = scipy.stats.binom.isf(ERROR_RATE / 2, total, probabilities)
    outside = (counts < low) | (counts > high)
    worst = np.abs(counts - total * probabilities) / np.sqrt(total * probabilities * (1 - probabilities) + 1e-300)
    assert not outside.any(), f"bins {np.flatnonzero(outside)} are outside, worst deviation {worst.max():.1f} sd"


def assert_law(samples: np.ndarray, cdf) -> None:
    """Check that independent samples follow a distribution function, by the Kolmogorov-Smirnov test."""
    p = scipy.stats.kstest(np.ravel(samples), cdf).pvalue
    assert p > ERROR_RATE, f"Kolmogorov-Smirnov p-value {p:.1e}"
