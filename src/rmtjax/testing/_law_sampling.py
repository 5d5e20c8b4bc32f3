"""Check of a sampler against the distribution function."""

from functools import partial
from typing import Any

import jax
import numpy as np
from scipy import special

from rmtjax.testing._compare import host, require
from rmtjax.testing._law_evaluation import evaluate
from rmtjax.testing._transformations import require_hashable

_CHECK = "check_law"
_NUM_BINS = 16  # of equal width, over the support
# The level of a test, with both sides together: one false alarm in a million bins.
_LEVEL = 1e-6


def check_sampler(law: Any, lower: np.ndarray, upper: np.ndarray, num_draws: int) -> None:
    """Check the shape and the support of draws, that two keys differ, and the number of draws in each bin."""
    key = jax.random.key(20_231)
    require_hashable(law.sample, _CHECK)
    for shape in ((), (2, 3)):
        got = jax.eval_shape(lambda k, s=shape: law.sample(k, s), key).shape
        require(got == shape, _CHECK, f"sample(key, {shape}) has shape {got}.")
    draws, other = (np.sort(host(_draws(law, k, num_draws))) for k in (key, jax.random.key(20_232)))
    require(not np.array_equal(draws, other), _CHECK, "two keys give the same draws.")
    message = f"draws from {draws[0]} to {draws[-1]} leave the support [{lower}, {upper}]."
    require((draws >= lower) & (draws <= upper), _CHECK, message)

    # At an infinite end the tail beyond the outermost edge holds a hundredth of the probability.
    p = np.array([0.01, 0.99], draws.dtype)
    first, last = np.where(np.isfinite([lower, upper]), [lower, upper], evaluate(law, p, p)["ppf"])
    edges = np.linspace(first, last, _NUM_BINS + 1, dtype=draws.dtype)[1:-1]
    below = np.concatenate([[0], evaluate(law, edges)["values"]["cdf"].astype(float), [1]])
    probabilities = np.diff(below)
    probabilities[np.abs(probabilities) < 64 * np.finfo(draws.dtype).eps] = 0  # in a gap the cdf may fall by rounding
    counts = np.diff(np.concatenate([[0], np.searchsorted(draws, edges, side="right"), [num_draws]]))
    for k, (count, probability) in enumerate(zip(counts, probabilities, strict=True)):
        message = f"{count} of {num_draws} draws in bin {k} of {_NUM_BINS}, of probability {probability:.6g}."
        require(within_binomial_limits(int(count), num_draws, probability), _CHECK, message)


@partial(jax.jit, static_argnums=2)
def _draws(law: Any, key: jax.Array, number: int) -> jax.Array:
    return law.sample(key, (number,))


def within_binomial_limits(count: int, num_draws: int, probability: float) -> bool:
    """Whether a count is neither too low nor too high, at the two-sided level 1e-6."""
    at_most = special.bdtr(count, num_draws, probability)
    at_least = special.bdtrc(count - 1, num_draws, probability) if count > 0 else 1.0
    return bool(min(at_most, at_least) >= _LEVEL / 2)
