"""One way to standard errors: the spread of a statistic over independent spectra."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from rmtjax import _checks
from rmtjax._module import AbstractModule
from rmtjax.special.internal import student_interval


class Estimate(AbstractModule):
    """A mean over independent samples, or a function of means, with its standard error.

    Args:
        value: in the structure of the statistic.
        standard_error: likewise.
        samples: number of samples.

    Example:
        >>> import jax.numpy as jnp
        >>> estimate = Estimate(jnp.asarray(0.5), jnp.asarray(0.1), 30)
        >>> print(*(f"{end:.2f}" for end in estimate.interval()))
        0.30 0.70
    """

    value: PyTree
    standard_error: PyTree
    samples: int = eqx.field(static=True)

    def interval(self, level: float = 0.95) -> tuple[PyTree, PyTree]:
        """Confidence intervals, by Student's distribution with `samples` - 1 degrees of freedom.

        Args:
            level: probability to hold the true value, between 0 and 1.

        Returns:
            The lower and the upper ends.
        """
        return student_interval(level, self.value, self.standard_error, self.samples - 1)


def over_samples(
    statistic: Callable[..., PyTree], *samples: PyTree, combine: Callable[[PyTree], PyTree] | None = None
) -> Estimate:
    r"""Mean and standard error of a statistic over independent samples, such as spectra of independent matrices.

    Levels of one matrix depend on one another, so an error from the levels themselves is wrong; over matrices it is
    true whatever their law. A function of several means, such as a skewness, takes the jackknife:

    $$\hat\theta = m\,f(\bar t) - \frac{m - 1}m \sum_i f(\bar t_{(i)}), \qquad
    \sigma^2 = \frac{m - 1}m \sum_i \big[f(\bar t_{(i)}) - \overline{f(\bar t_{(\cdot)})}\big]^2$$

    with the means $\bar t_{(i)}$ over all samples but one. Where the samples do not fit into memory, the reducers of
    `simulate` do the same for a stream: `rmt.Moments` and `simulation.Jackknife`.

    Args:
        statistic: a function of all samples at once, such as `lambda levels: number_variance(levels, lengths)`, that
            returns any pytree of arrays whose leading axis is that of the samples. NaN is not left out.
        samples: pytrees of arrays, all with the same leading axis of length m ≥ 2, e.g. levels `(m, n)`.
        combine: a function of the means; by default there is none, and the result is the means themselves.

    Returns:
        An `Estimate`: `value`, `standard_error`, `samples`.

    Raises:
        ValueError: there are fewer than two samples, or a leading axis has another length.

    Example:
        >>> import jax, rmtjax as rmt
        >>> levels = jax.vmap(rmt.GOE(50).eigenvalues)(jax.random.split(jax.random.key(0), 100))
        >>> ratio = over_samples(lambda levels: rmt.statistics.gap_ratios(levels).mean(), levels)
        >>> print(bool(abs(ratio.value - rmt.laws.mean_gap_ratio(1)) < 4 * ratio.standard_error))
        True

    References:
        Efron and Stein (1981), Ann. Statist. 9, 586; Miller (1974), Biometrika 61, 1, for the jackknife.
    """
    lengths = {np.shape(leaf)[0] if np.ndim(leaf) else 0 for leaf in jax.tree.leaves(samples)}
    if len(lengths) != 1 or min(lengths) < 2:
        raise _checks.refusal("samples", "have one leading axis in common, of at least 2 samples", sorted(lengths))
    number = lengths.pop()
    each = jax.tree.map(jnp.asarray, statistic(*samples))
    for leaf in jax.tree.leaves(each):
        if leaf.shape[:1] != (number,):
            raise _checks.refusal("statistic", f"return arrays with a leading axis of length {number}", leaf.shape)
    means = jax.tree.map(lambda leaf: jnp.mean(leaf, axis=0), each)
    if combine is None:
        return Estimate(means, jax.tree.map(lambda leaf: jnp.std(leaf, axis=0, ddof=1) / number**0.5, each), number)
    without = jax.tree.map(lambda leaf, mean: mean + (mean - leaf) / (number - 1), each, means)
    parts = jax.vmap(combine)(without)
    deviations = jax.tree.map(lambda part: part - jnp.mean(part, axis=0), parts)
    error = lambda deviation: jnp.sqrt((number - 1) / number * jnp.sum(jnp.abs(deviation) ** 2, axis=0))
    # The difference comes first: its rounding, not that of the whole, is multiplied by the number of samples.
    corrected = lambda whole, part: whole - (number - 1) * jnp.mean(part - whole, axis=0)
    return Estimate(jax.tree.map(corrected, combine(means), parts), jax.tree.map(error, deviations), number)
