r"""Exact averages over all positions of a window that slides along a spectrum.

The levels in a window (a, a + L] change only where one of its ends meets a level. So the window goes from one such
event to the next, at most two for each level. Between two events everything is a polynomial in the position, which is
integrated in closed form. No position is sampled.

For the rigidity the state holds deviations from a picket fence. Let $u_1 < \dots < u_N$ be the levels in the window,
measured from its centre, $q_k = k - \frac{N + 1}2$, $v_k = u_k - q_k$ and d = N - L. The least squares of the staircase
against a straight line are

$$L \Delta = \sum v_k^2 + \frac{N - d^3}{12} - \frac1L \Big(\sum v_k\Big)^2 - \frac{12}{L^3} A^2, \qquad
A = \frac{N - d^2(3L + d)}{24} - \sum q_k v_k - \frac12 \sum v_k^2 .$$

No term grows with the length of the spectrum, and with the length of the window they grow only as the deviations do. So
single precision suffices. When the window moves by δ, every $v_k$ falls by δ, and $\sum q_k v_k$ stays. A level that
comes or goes shifts all $q_k$ by a half.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from rmtjax._promotion import like
from rmtjax._varying import varying_like


class Track(NamedTuple):
    """Spectra and the positions that the left end of a window takes on each; lanes are spectra x lengths.

    Args:
        levels: ascending, with `+inf` behind the last one; on a circle also the levels of a second round.
        first: the first position on each spectrum; levels up to it never count.
        last: the last position, one for each lane.
    """

    levels: Float[Array, "batch n"]
    first: Float[Array, "batch 1"]
    last: Float[Array, "batch k"]

    def position(self, number: Int[Array, "batch k"]) -> Float[Array, "batch k"]:
        """The positions of the levels with these numbers; inf behind the last one."""
        # The numbers are within bounds, and a gather without the check is four times as fast.
        return jnp.take_along_axis(self.levels, number, axis=1, mode="promise_in_bounds")


class Sums(NamedTuple):
    """The sums of $v_k$, $v_k^2$ and $q_k v_k$ over the levels in a window, of which the rigidity is made."""

    linear: Float[Array, "batch k"]
    quadratic: Float[Array, "batch k"]
    moment: Float[Array, "batch k"]

    def moved(self, by: Float[Array, "batch k"], count: Float[Array, "batch k"]) -> "Sums":
        """The sums after a move of the window to the right, without an event."""
        quadratic = self.quadratic - 2 * by * self.linear + count * by**2
        return self._replace(linear=self.linear - count * by, quadratic=quadratic)

    def with_level(self, u: Float[Array, "batch k"], count: Float[Array, "batch k"]) -> "Sums":
        """The sums after a level has come in at u, behind the `count` others."""
        new = u - count / 2
        return Sums(
            self.linear + count / 2 + new,
            self.quadratic + self.linear + count / 4 + new**2,
            self.moment - self.linear / 2 - count / 4 + count / 2 * new,
        )

    def without_level(self, u: Float[Array, "batch k"], others: Float[Array, "batch k"]) -> "Sums":
        """The sums after the first level, at u, has gone; exactly 0 in an empty window."""
        old = u + others / 2
        linear = self.linear - old
        sums = Sums(
            linear + others / 2,
            self.quadratic - old**2 + linear + others / 4,
            self.moment + others / 2 * old - linear / 2,
        )
        return Sums(*(jnp.where(others > 0, value, 0) for value in sums))


class Window(NamedTuple):
    """Windows, one of each length, after the same number of events.

    Args:
        position: the left end.
        leaving, coming: the numbers of the levels that leave and come next.
        next_out, next_in: the positions of these levels.
        inside: the number of levels in the window.
        sums: the sums over these levels, if they are needed.
    """

    position: Float[Array, "batch k"]
    leaving: Int[Array, "batch k"]
    coming: Int[Array, "batch k"]
    next_out: Float[Array, "batch k"]
    next_in: Float[Array, "batch k"]
    inside: Float[Array, "batch k"]
    sums: Sums | None

    def moved(self, by: Float[Array, "batch k"]) -> "Window":
        """The windows moved to the right, without an event."""
        sums = None if self.sums is None else self.sums.moved(by, self.inside)
        return self._replace(position=self.position + by, sums=sums)


# The integral of a function of the window over a move without an event. Its arguments are the windows, the length of
# the move, and the lengths of the windows. The axes of the lanes come first.
Measure = Callable[[Window, Float[Array, "batch k"], Float[Array, "1 k"]], Array]


def least_squares(window: Window, by: Float[Array, "batch k"], lengths: Float[Array, "1 k"]) -> Float[Array, "batch k"]:
    """The integral of the mean squared deviation of the staircase from its best line, a polynomial of degree 4."""
    half, n, d = by / 2, window.inside, window.inside - lengths
    middle = window.moved(half).sums
    assert middle is not None
    # At the distance t from the middle of the move the sums are S - nt and Q - 2tS + nt², and A = a + St - nt²/2.
    third, fifth = half**2 / 3, half**4 / 5  # the means of t² and t⁴
    a = (n - d**2 * (3 * lengths + d)) / 24 - middle.moment - middle.quadratic / 2
    squares = middle.quadratic + n * third + (n - d**3) / 12
    linear = middle.linear**2 + n**2 * third
    slope = a**2 + (middle.linear**2 - n * a) * third + n**2 / 4 * fifth
    return by * (squares - linear / lengths - 12 * slope / lengths**3) / lengths


def average(
    track: Track, lengths: Float[Array, "1 k"], measure: Measure, events: int, *, with_sums: bool = False
) -> Array:
    """The mean of a function of the window over its positions, for each lane; NaN where there is no position.

    Args:
        track: the spectra and the positions.
        lengths: of the windows, at most the period.
        measure: the integral of that function over a move of the windows without an event.
        events: the largest number of events: two for each level that the window passes, and one for the end.
        with_sums: whether the measure needs the sums.
    """
    zero = jnp.zeros_like(track.last)
    skipped = jnp.sum(track.levels <= track.first, axis=1, keepdims=True, dtype=jnp.int32)
    skipped = jnp.broadcast_to(skipped, zero.shape)
    ends = track.position(skipped), track.position(skipped)
    window = Window(track.first - lengths, skipped, skipped, *ends, zero, Sums(zero, zero, zero) if with_sums else None)
    total = jnp.zeros_like(measure(window, zero, lengths))
    start = varying_like((window, total), track, lengths)
    step = jax.checkpoint(partial(_step, track, lengths, measure))
    # A gradient in reverse mode keeps the state at the beginning of every turn, and all states of one turn at a time.
    turn = math.isqrt(events - 1) + 1
    steps = jax.checkpoint(lambda state, _: jax.lax.scan(step, state, length=turn))
    # Steps behind the last position do nothing.
    (_, total), _ = jax.lax.scan(steps, start, length=-(-events // turn))
    extent = (track.last - track.first).reshape(*zero.shape, *(1,) * (total.ndim - 2))
    return total / extent


def _step(track: Track, lengths: Float[Array, "1 k"], measure: Measure, state: tuple, _: None) -> tuple[tuple, None]:
    """The mean up to the next event, and the event."""
    window, total = state
    enters = window.next_in - lengths <= window.next_out
    event = jnp.where(enters, window.next_in - lengths, window.next_out)
    # Positions before the first have no weight: the window fills up there.
    before = jnp.maximum(track.first - window.position, 0)
    by = jnp.minimum(event, track.last) - window.position
    total = total + measure(window.moved(before), jnp.maximum(by - before, 0), lengths)
    return (_after_event(track, lengths, window.moved(by), enters, event < track.last), total), None


def _after_event(track: Track, lengths: Float[Array, "1 k"], window: Window, enters: Array, happens: Array) -> Window:
    """The windows with one level more or less, if there is an event before the last position."""
    comes, goes = happens & enters, happens & ~enters
    count = lambda happens: like(window.coming, happens)
    coming, leaving = window.coming + count(comes), window.leaving + count(goes)
    following = track.position(jnp.where(enters, coming, leaving))
    sums = window.sums
    if sums is not None:
        u = jnp.where(enters, window.next_in, window.next_out) - window.position - lengths / 2
        u = jnp.where(happens, u, 0)  # there may be no next level
        changed = sums.with_level(u, window.inside), sums.without_level(u, window.inside - 1)
        choose = lambda old, more, less: jnp.where(comes, more, jnp.where(goes, less, old))
        sums = jax.tree.map(choose, sums, *changed)
    return Window(
        window.position,
        leaving,
        coming,
        jnp.where(goes, following, window.next_out),
        jnp.where(comes, following, window.next_in),
        window.inside + like(window.inside, comes) - like(window.inside, goes),
        sums,
    )
