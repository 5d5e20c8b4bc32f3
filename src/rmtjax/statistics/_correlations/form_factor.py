"""The spectral form factor of unfolded spectra, and its disconnected part."""

import math
from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Complex, Float

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._module import AbstractModule
from rmtjax._typing import RealLike, RealScalarLike
from rmtjax._varying import varying_like
from rmtjax.statistics._correlations.waves import cosine_and_sine, wave_sums
from rmtjax.statistics._levels import Spectrum, checked


class FormFactor(AbstractModule):
    r"""Form factors of spectra, or their mean over spectra.

    The parts are those of a mean: all of K of a single spectrum is disconnected, and what `form_factor` returns refuses
    to be taken apart. Take the mean first, as the example there does.

    Args:
        power: $|Z|^2$, of the shape of the batch followed by that of the times.
        amplitude: Z.
        norm: $\sum_i w_i^2$. With weights it differs from spectrum to spectrum together with Z, so that only the
            quotient of the means is free of bias.

    Example:
        >>> import jax.numpy as jnp
        >>> mean = FormFactor(power=jnp.asarray(6.0), amplitude=jnp.asarray(0.6 + 0.8j), norm=jnp.asarray(4.0))
        >>> print(f"{mean.raw:.2f} = {mean.disconnected:.2f} + {mean.connected:.2f}")
        1.50 = 0.25 + 1.25
    """

    power: Float[Array, "..."]
    amplitude: Complex[Array, "..."]
    norm: Float[Array, "..."]

    # Set by `form_factor`. It is no leaf, so that a mean, or what else is computed from the record, is without it.
    _of_single_spectra = False

    @property
    def raw(self) -> Float[Array, "..."]:
        """The form factor K."""
        return self.power / self.norm

    @property
    def disconnected(self) -> Float[Array, "..."]:
        """The square of the mean amplitude, the part of the mean density."""
        if self._of_single_spectra:
            must = "be averaged over spectra first, as `over_samples(…, combine=lambda k: k.connected)` does"
            raise _checks.refusal("form_factor", must, _checks.Words("single spectra"))
        return (self.amplitude.real**2 + self.amplitude.imag**2) / self.norm

    @property
    def connected(self) -> Float[Array, "..."]:
        """What is left of the mean of K without the disconnected part, the part of the correlations."""
        return self.raw - self.disconnected


def form_factor(
    levels: Spectrum,
    times: RealLike,
    *,
    window: tuple[RealScalarLike, RealScalarLike] | None = None,
    where: Bool[Array, "*batch n"] | None = None,
) -> FormFactor:
    r"""Spectral form factor of unfolded spectra.

    $$K(\tau) = \frac{|Z(\tau)|^2}{\sum_i w_i^2}, \qquad Z(\tau) = \sum_i w_i\,e^{2\pi i \tau x_i},
    \qquad w_i = e^{-(x_i - c)^2/2\sigma^2} .$$

    It does not average itself: K of one spectrum is a random number whose standard deviation is its mean, however large
    the spectrum. Average over spectra, and over times if the curve allows it. The mean of `raw` is unbiased; with a
    window, whose weights differ from spectrum to spectrum, that of the means is: `combine=lambda k: k.raw`. A window
    smooths K over a width of $1/(2\sqrt 2 \pi\sigma)$ in τ.
    Its disconnected part, a peak of width 1/n at τ = 0 with tails from hard ends of the spectrum, hides the correlation
    hole; the weights w, which go smoothly to 0 inside of the spectrum, take the tails away, or the part is subtracted.
    The square of a mean of m amplitudes has a bias of K/m, which the jackknife of `over_samples` removes.

    Equally spaced times, at least 16 whose values are known when the function is called or traced, are a matrix
    product, some ten times as fast as others. No time costs more memory than its result.

    Convention: $e^{2\pi i \tau x}$, so that for levels of mean spacing 1 the time τ is in units of the Heisenberg time,
    as in `laws.form_factor`. With raw eigenvalues λ and τ = t/2π it is `laws.gaussian_form_factor(t, n)`, with phases
    `laws.circular_form_factor`.

    Args:
        levels: ascending levels, `(..., n)`, a `PaddedSpectrum`, or `linalg.MaskedValues`.
        times: τ, of any shape.
        window: centre c and width σ > 0 of the weights, in the unit of the levels; by default all weights are 1. A
            width of a sixth of the spectrum or less leaves nothing of its ends.
        where: which of the levels count.

    Returns:
        A `FormFactor`, with NaN where no level counts. Differentiable in levels, times and window.

    Raises:
        ValueError: the levels are not ascending numbers, a time is not a finite number, or the width is not positive.

    Example:
        >>> import jax, jax.numpy as jnp, rmtjax as rmt
        >>> phases = jax.vmap(rmt.CUE(20).eigenphases)(jax.random.split(jax.random.key(0), 200))
        >>> levels = rmt.statistics.unfold_phases(phases).levels
        >>> each = lambda x: form_factor(x, jnp.array([0.5, 2.0]))
        >>> k = rmt.statistics.over_samples(each, levels, combine=lambda k: k.connected)
        >>> print((abs(k.value - jnp.array([0.5, 1.0])) < 3 * k.standard_error).all())
        True

    References:
        Haake (2010), Quantum Signatures of Chaos, section 4.10; Prange (1997), Phys. Rev. Lett. 78, 2280, on why it is
        not self-averaging; Šuntajs, Bonča, Prosen and Vidmar (2020), Phys. Rev. E 102, 062144, on the weights.
    """
    spectra = checked(levels, where)
    with jax.ensure_compile_time_eval():  # known times stay known under a transformation of the levels
        tau = _checks.ALL_FINITE("times", _checks.real("times", times))
    weights = spectra.mask.astype(spectra.values.dtype)
    if window is not None:
        ends = _checks.scalar("window", window[0]), _checks.positive("window", window[1])
        centre, width = (end.astype(weights.dtype) for end in ends)
        weights = weights * jnp.exp(-(((spectra.values - centre) / width) ** 2) / 2)
    grid = _equally_spaced(tau)
    if grid is None:
        sums = _at(spectra.values, weights, tau.astype(weights.dtype).ravel())
    else:
        columns = math.isqrt(tau.size - 1) + 1
        start, step = (jnp.asarray(part, weights.dtype) for part in grid)
        sums = _on_grid(spectra.values, weights, start, step, -(-tau.size // columns), columns)
    norm = jnp.sum(weights**2, axis=-1, keepdims=True)
    counted = jnp.broadcast_to(jnp.where(norm > 0, norm, jnp.nan), (*norm.shape[:-1], tau.size))
    shape = *norm.shape[:-1], *tau.shape
    amplitude = spectra.masked(sums[..., : tau.size].reshape(shape), tau.ndim)
    found = FormFactor(amplitude.real**2 + amplitude.imag**2, amplitude, counted.reshape(shape))
    object.__setattr__(found, "_of_single_spectra", True)
    return found


# From this number of times on the product is faster.
_FEW = 16


def _equally_spaced(times: Array) -> tuple[float, float] | None:
    """The first time and the step between times, if they are known and equally spaced to their rounding."""
    if isinstance(times, Tracer) or times.ndim != 1 or times.size < _FEW:
        return None
    t = np.asarray(times, np.float64)
    step = (t[-1] - t[0]) / (t.size - 1)
    error = np.abs(t - (t[0] + step * np.arange(t.size))).max()
    return (float(t[0]), float(step)) if error <= 4 * jnp.finfo(times.dtype).eps * np.abs(t).max() else None


@compiled
def _at(x: Float[Array, "*batch n"], weights: Float[Array, "*batch n"], tau: Float[Array, " k"]) -> Array:
    """The sums Z at any times."""
    return _of_each(lambda spectrum: wave_sums(spectrum[0], spectrum[1], tau), x, weights)


def _of_each(function: Callable, x: Float[Array, "*batch n"], weights: Float[Array, "*batch n"]) -> Array:
    """A function of a spectrum and its weights for one after the other, its values on the last axis."""
    batch = x.shape[:-1]
    each = (leaf.reshape(math.prod(batch), x.shape[-1]) for leaf in (x, weights))
    values = jax.lax.map(function, tuple(each))
    return values.reshape(*batch, *values.shape[1:])


@partial(compiled, static_argnums=(4, 5))
def _on_grid(
    x: Float[Array, "*batch n"],
    weights: Float[Array, "*batch n"],
    start: Float[Array, ""],
    step: Float[Array, ""],
    rows: int,
    columns: int,
) -> Complex[Array, "*batch k"]:
    """The sums Z at `rows` x `columns` times: those of the first column and those of the first row are multiplied."""

    def of_spectrum(spectrum: tuple[Float[Array, " n"], Float[Array, " n"]]) -> Complex[Array, " k"]:
        x, weights = spectrum
        one = varying_like(jnp.ones(x.shape, jnp.result_type(x, 1j)), jax.typeof(x))
        factor = lambda time: jax.lax.complex(*cosine_and_sine(time * x))
        along = _powers(one, factor(step), columns)
        down = _powers(weights * factor(start), factor(columns * step), rows)
        return jnp.matmul(down, along.T, precision="highest").ravel()

    return _of_each(of_spectrum, x, weights)


def _powers(first: Complex[Array, " n"], factor: Complex[Array, " n"], count: int) -> Complex[Array, "count n"]:
    """The products of the first numbers with 0, 1, 2, … factors."""
    return jax.lax.scan(lambda value, _: (value * factor, value), first, length=count)[1]
