"""The spectral form factor of unfolded spectra, and its disconnected part."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Complex, Float

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._module import AbstractModule
from rmtjax._promotion import complex_dtype, like
from rmtjax._staging import at_once
from rmtjax._typing import IntervalLike, RealLike
from rmtjax._units import in_unit, quotient
from rmtjax._varying import varying_like
from rmtjax.spectra.internal import Levels, LevelsLike, checked, of_each, origin, outermost
from rmtjax.statistics._correlations.waves import cosine_and_sine, halves, turns, wave_sums


class FormFactor(AbstractModule):
    r"""Form factors of spectra, or their mean over spectra.

    Only a mean has a connected part: K of a single spectrum is all disconnected. So `disconnected` and `connected`
    refuse what `form_factor` returns, unless it comes out of `jit` or `vmap`. Take the mean first, as its example does.

    Args:
        power: $|Z|^2$, of the shape of the batch followed by that of the times.
        amplitude: Z.
        norm: $\sum_i w_i^2$. Weights make it vary over spectra together with Z, so that only the quotient of the means
            is free of bias.

    Example:
        >>> import jax.numpy as jnp
        >>> mean = FormFactor(power=jnp.asarray(6.0), amplitude=jnp.asarray(0.6 + 0.8j), norm=jnp.asarray(4.0))
        >>> print(f"{mean.raw:.2f} = {mean.disconnected:.2f} + {mean.connected:.2f}")
        1.50 = 0.25 + 1.25
    """

    power: Float[Array, "..."]
    amplitude: Complex[Array, "..."]
    norm: Float[Array, "..."]

    # Set by `form_factor`. It is not a leaf, so means and other records derived from this one do not inherit it.
    _of_single_spectra = False

    @property
    def raw(self) -> Float[Array, "..."]:
        """The form factor K."""
        return self.power / self.norm

    @property
    def disconnected(self) -> Float[Array, "..."]:
        """The part due to the mean density, which is the square of the mean amplitude."""
        if self._of_single_spectra:
            must = "be averaged over spectra first, as `over_samples(…, combine=lambda k: k.connected)` does"
            raise _checks.refusal("form_factor", must, _checks.Words("single spectra"))
        return (self.amplitude.real**2 + self.amplitude.imag**2) / self.norm

    @property
    def connected(self) -> Float[Array, "..."]:
        """The part due to correlations, which is the mean of K without the disconnected part."""
        return self.raw - self.disconnected


def form_factor(levels: LevelsLike, times: RealLike, *, window: IntervalLike | None = None) -> FormFactor:
    r"""Spectral form factor of unfolded spectra.

    $$K(\tau) = \frac{|Z(\tau)|^2}{\sum_i w_i^2}, \qquad Z(\tau) = \sum_i w_i\,e^{2\pi i \tau x_i},
    \qquad w_i = e^{-(x_i - c)^2/2\sigma^2} .$$

    The form factor is not self-averaging: K of one spectrum is a random number whose standard deviation is its mean,
    however large the spectrum. Average over spectra, and over times if the curve allows it. The mean of `raw` is
    unbiased. With a window the weights vary over spectra, so take the quotient of the means: `combine=lambda k: k.raw`.
    A window smooths K over a width of $1/(2\sqrt 2 \pi\sigma)$ in τ.

    The disconnected part, a peak of width 1/n at τ = 0 with tails from hard ends of the spectrum, hides the correlation
    hole. Weights that go smoothly to 0 inside of the spectrum take the tails away; `connected` subtracts the whole
    part. The square of a mean of m amplitudes has a bias of K/m, which the jackknife of `over_samples` removes.

    Equally spaced times become a matrix product, some eight times as fast, if there are at least 16 and their values
    are known when the function is called or traced. The product takes the exact grid instead of the rounded times. The
    memory is that of the result and of the waves of one spectrum, in reverse mode too. Phases keep their digits: in
    single precision Z of 20 000 levels is right to 3e-5 √n.

    Convention: $e^{2\pi i \tau x}$, so that for levels of mean spacing 1 the time τ is in units of the Heisenberg time,
    as in `laws.form_factor`. Raw eigenvalues at τ = t/2π compare with `laws.gaussian_form_factor(t, n)`, and phases
    with `laws.circular_form_factor`.

    Args:
        levels: ascending levels, `(..., n)`, or a `Spectrum`.
        times: finite τ, of any shape.
        window: a pair, the finite centre c and the width σ > 0 of the weights in the unit of the levels, each a number
            or an array that broadcasts to the batch. A width of at most a sixth of the spectrum hides its ends. By
            default all weights are 1.

    Returns:
        A `FormFactor`, with NaN where no level counts. Differentiable in levels, times and window.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax, jax.numpy as jnp, rmtjax as rmt
        >>> phases = jax.vmap(rmt.CUE(20).eigenphases)(jax.random.split(jax.random.key(0), 200))
        >>> levels = rmt.statistics.unfold_phases(phases)
        >>> each = lambda x: form_factor(x, jnp.array([0.5, 2.0]))
        >>> k = rmt.statistics.over_samples(each, levels, combine=lambda k: k.connected)
        >>> print((abs(k.value - jnp.array([0.5, 1.0])) < 3 * k.standard_error).all())
        True

    References:
        Haake (2010), Quantum Signatures of Chaos, chapter 4; Prange (1997), Phys. Rev. Lett. 78, 2280, on
        self-averaging; Šuntajs, Bonča, Prosen and Vidmar (2020), Phys. Rev. E 102, 062144, on the weights.
    """
    spectra = checked(levels)
    with at_once():  # known times stay known under a transformation of the levels
        tau = _checks.ALL_FINITE("times", _checks.real("times", times))
    spectra, ends = (spectra, None) if window is None else _window(window, spectra)
    grid = _equally_spaced(tau)
    if grid is None:
        result = _at(spectra.values, spectra.mask, ends, tau)
    else:
        result = _on_grid(tau.size, spectra.values, spectra.mask, ends, _words(*grid, tau.size, spectra.values.dtype))
    found = spectra.masked(result, tau.ndim)
    object.__setattr__(found, "_of_single_spectra", True)
    return found


def _window(window: Any, spectra: Levels) -> tuple[Levels, tuple[Any, Any]]:
    """The spectra, valid only where the weights are, and centre and width of the weights."""
    if isinstance(window, Array | np.ndarray):
        window = _checks.real("window", window)
    if not isinstance(window, tuple | list | Array) or getattr(window, "ndim", 1) != 1 or len(window) != 2:
        raise _checks.refusal("window", "be a pair of numbers, centre and width, or None", window)
    centre, width = (of_each("window", each, spectra.values) for each in window)
    kept = _checks.all_kept(_CENTRE.kept("window", centre), _WIDTH.kept("window", width))
    return spectra.where(kept), (centre, width)


_CENTRE = _checks.Rule(_checks.FINITE.holds, "have a finite centre")
_WIDTH = _checks.Rule(_checks.POSITIVE.holds, "have a positive and finite width")
# From this many times on the product is faster.
_FEW = 16


def _equally_spaced(times: Array) -> tuple[float, float] | None:
    """The first time and the step between times, if they are known and equally spaced to their rounding."""
    if isinstance(times, Tracer) or times.ndim != 1 or times.size < _FEW:
        return None
    t = np.asarray(times, np.float64)
    step = (t[-1] - t[0]) / (t.size - 1)
    error = np.abs(t - (t[0] + step * np.arange(t.size))).max()
    return (float(t[0]), float(step)) if error <= 4 * jnp.finfo(times.dtype).eps * np.abs(t).max() else None


def _columns(size: int) -> int:
    """The number of columns of the nearly square table of times."""
    return math.isqrt(size - 1) + 1


def _words(start: float, step: float, size: int, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """The first time and the steps along a row and down a column, and the rounding errors of these three."""
    times = np.array([start, step, _columns(size) * step])
    return times.astype(dtype), (times - times.astype(dtype)).astype(dtype)


@compiled
def _at(
    values: Float[Array, "*batch n"], mask: Bool[Array, "*batch n"], window: tuple | None, times: Float[Array, "..."]
) -> FormFactor:
    """The form factor at any times."""
    tau = times.ravel().astype(values.dtype)
    rest = jnp.zeros(tau.shape, tau.dtype)

    def sums(x: Float[Array, " m"], weights: Float[Array, " n"], unit: Float[Array, ""]) -> Complex[Array, "2 k"]:
        of_origin = jnp.zeros_like(x).at[-1].set(1)
        return wave_sums(x, jnp.stack([jnp.pad(weights, (0, 1)), of_origin]), tau * unit, rest)

    return _of_each(sums, values, mask, window, times.shape)


@partial(compiled, static_argnums=0)
def _on_grid(
    size: int,
    values: Float[Array, "*batch n"],
    mask: Bool[Array, "*batch n"],
    window: tuple | None,
    grid: tuple[RealLike, RealLike],
) -> FormFactor:
    """The form factor at equally spaced times: products of the waves of the first column and of the first row."""
    columns = _columns(size)

    def sums(x: Float[Array, " m"], weights: Float[Array, " n"], unit: Float[Array, ""]) -> Complex[Array, "2 k"]:
        one = varying_like(jnp.ones(x.shape, complex_dtype(x.dtype)), x)
        times, rest = (jnp.asarray(part)[:, None] * unit for part in grid)
        start, step, turn = jax.lax.complex(*cosine_and_sine(turns(halves(x[None]), halves(times), rest)))
        along = _powers(one, step, columns)
        down = _powers(jnp.pad(like(start, weights), (0, 1), constant_values=1) * start, turn, -(-size // columns))
        of_levels = jnp.matmul(down[:, :-1], along[:, :-1].T, precision="highest")
        of_origin = down[:, -1:] * along[:, -1][None]
        return jnp.stack([of_levels.ravel()[:size], of_origin.ravel()[:size]])

    return _of_each(sums, values, mask, window, (size,))


def _powers(first: Complex[Array, " n"], factor: Complex[Array, " n"], count: int) -> Complex[Array, "count n"]:
    """The products of the first numbers with 0, 1, 2, … factors."""
    return jax.lax.scan(lambda value, _: (value * factor, value), first, length=count)[1]


def _of_each(
    sums: Callable[[Array, Array, Array], Array],
    values: Float[Array, "*batch n"],
    mask: Bool[Array, "*batch n"],
    window: tuple | None,
    shape: tuple[int, ...],
) -> FormFactor:
    """The form factors of one spectrum after the other.

    Args:
        sums: a function that returns Z and the wave of the origin. It takes the levels measured from the origin with
            the origin behind them, in a unit; the weights of the levels; and the unit.
        values: the levels.
        mask: which of them count.
        window: centre and width of the weights.
        shape: shape of the times.
    """
    batch, weights = values.shape[:-1], mask.astype(values.dtype)
    if window is not None:
        centre, width = (jnp.broadcast_to(jnp.asarray(end, values.dtype), batch)[..., None] for end in window)
        weights = weights * jnp.exp(-(quotient(values - centre, width) ** 2) / 2)
    by = origin(*outermost(values, mask))[..., None]
    # Products of levels and times are of order 1, but in another unit `halves` of either may underflow.
    scaled, unit = in_unit(jnp.concatenate([values - by, by], axis=-1), -1)
    each = [leaf.reshape(math.prod(batch), leaf.shape[-1]) for leaf in (scaled, weights)]
    # Without the checkpoint a gradient in reverse mode would keep the waves of all spectra.
    found = jax.lax.map(jax.checkpoint(lambda spectrum: sums(*spectrum)), (*each, unit.ravel()))
    amplitude, wave = (found[:, part].reshape(*batch, *shape) for part in (0, 1))
    norm = jnp.sum(weights**2, axis=-1).reshape(*batch, *(1,) * len(shape))
    norm = jnp.broadcast_to(jnp.where(norm > 0, norm, jnp.nan), amplitude.shape)
    return FormFactor(amplitude.real**2 + amplitude.imag**2, amplitude * wave, norm)
