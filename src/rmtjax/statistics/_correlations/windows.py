r"""Averages over all positions of a window that slides along a spectrum, exactly.

The levels in a window (a, a + L] change only where one of its ends meets a level. So the window goes from one such
event to the next, at most two for each level, and between two events everything is a polynomial in the position, which
is integrated in closed form. No position is sampled.

For the rigidity the state is that of the deviations from a picket fence. Let $u_1 < \dots < u_N$ be the levels in the
window, measured from its centre, $q_k = k - \frac{N + 1}2$, $v_k = u_k - q_k$ and d = N - L. The least squares of the
staircase against a straight line are

$$L \Delta = \sum v_k^2 + \frac{N - d^3}{12} - \frac1L \Big(\sum v_k\Big)^2 - \frac{12}{L^3} A^2, \qquad
A = \frac{N - d^2(3L + d)}{24} - \sum q_k v_k - \frac12 \sum v_k^2 .$$

None of these terms grows with the length of the spectrum, and with the length of the window only as the deviations do,
so that single precision suffices. When the window moves by δ, every $v_k$ falls by δ, and $\sum q_k v_k$ stays; a level
that comes or goes shifts all $q_k$ by a half.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from rmtjax._varying import varying_like

# Nodes and weights of Gauss and Legendre on [0, 1], exact for the polynomials of degree 4 between two events.
_NODES = ((0.5 - 0.15**0.5, 5 / 18), (0.5, 8 / 18), (0.5 + 0.15**0.5, 5 / 18))


class Track(NamedTuple):
    """A spectrum and the positions that the left end of the window takes.

    Args:
        levels: ascending, `+inf` behind the last one.
        number: how many there are.
        first: the first position; levels up to it never count.
        last: the last position, one for each length.
        period: the length of the circle, after which the levels repeat; None on the line.
    """

    levels: Float[Array, " n"]
    number: Int[Array, ""]
    first: Float[Array, ""]
    last: Float[Array, " k"]
    period: Float[Array, ""] | None

    def position(self, number: Int[Array, " k"]) -> Float[Array, " k"]:
        """Where a level is, on the circle also in the next round; inf if there is none."""
        if self.period is None:
            return self.levels.at[number].get(mode="fill", fill_value=jnp.inf)
        again = number >= self.number
        levels = self.levels.at[jnp.where(again, number - self.number, number)].get(mode="fill", fill_value=jnp.inf)
        return jnp.where(again, levels + self.period, levels)


class Sums(NamedTuple):
    """The sums over the levels in a window that the rigidity is made of.

    Args:
        linear, quadratic, moment: of $v_k$, $v_k^2$ and $q_k v_k$.
    """

    linear: Float[Array, " k"]
    quadratic: Float[Array, " k"]
    moment: Float[Array, " k"]

    def moved(self, by: Float[Array, " k"], count: Float[Array, " k"]) -> "Sums":
        """After a move of the window to the right, without an event."""
        quadratic = self.quadratic - 2 * by * self.linear + count * by**2
        return self._replace(linear=self.linear - count * by, quadratic=quadratic)

    def with_level(self, u: Float[Array, " k"], count: Float[Array, " k"]) -> "Sums":
        """After a level has come in at u, behind the `count` others."""
        new = u - count / 2
        return Sums(
            self.linear + count / 2 + new,
            self.quadratic + self.linear + count / 4 + new**2,
            self.moment - self.linear / 2 - count / 4 + count / 2 * new,
        )

    def without_level(self, u: Float[Array, " k"], others: Float[Array, " k"]) -> "Sums":
        """After the first level, at u, has gone. In an empty window nothing is left of the rounding of others."""
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
        position: of the left end.
        leaving, coming: the numbers of the levels that leave and come next.
        next_out, next_in: where these levels are.
        inside: how many levels are in it.
        sums: over them, if they are needed.
    """

    position: Float[Array, " k"]
    leaving: Int[Array, " k"]
    coming: Int[Array, " k"]
    next_out: Float[Array, " k"]
    next_in: Float[Array, " k"]
    inside: Float[Array, " k"]
    sums: Sums | None

    def moved(self, by: Float[Array, " k"]) -> "Window":
        """The windows moved to the right, without an event."""
        sums = None if self.sums is None else self.sums.moved(by, self.inside)
        return self._replace(position=self.position + by, sums=sums)


# A function of windows and their lengths, whose first axis is that of both.
Measure = Callable[[Window, Float[Array, " k"]], Array]


def least_squares(window: Window, lengths: Float[Array, " k"]) -> Float[Array, " k"]:
    """The mean squared deviation of the staircase from its best straight line."""
    assert window.sums is not None
    n, d = window.inside, window.inside - lengths
    slope = (n - d**2 * (3 * lengths + d)) / 24 - window.sums.moment - window.sums.quadratic / 2
    squares = window.sums.quadratic + (n - d**3) / 12
    return (squares - window.sums.linear**2 / lengths - 12 * slope**2 / lengths**3) / lengths


def average(track: Track, lengths: Float[Array, " k"], measure: Measure, *, with_sums: bool = False) -> Array:
    """The mean of a function of the window over its positions, for each length; NaN where there is no position.

    Args:
        track: the spectrum and the positions.
        lengths: of the windows, at most the period.
        measure: a function of the windows: of the count alone, or, `with_sums`, a polynomial of degree 4 at most in
            the position between two events.
        with_sums: whether it needs the sums.
    """
    zero = jnp.zeros_like(lengths)
    skipped = jnp.broadcast_to(jnp.sum(track.levels <= track.first), lengths.shape)
    ends = track.position(skipped), track.position(skipped)
    window = Window(track.first - lengths, skipped, skipped, *ends, zero, Sums(zero, zero, zero) if with_sums else None)
    total = jnp.zeros_like(measure(window, lengths))
    kinds = [jax.typeof(leaf) for leaf in jax.tree.leaves((track, lengths))]
    start = jax.tree.map(lambda leaf: varying_like(leaf, *kinds), (window, total))
    # On a circle a level comes twice: before the first position, and when the window has gone round.
    events = (2 if track.period is None else 3) * track.levels.size + 1
    (_, total), _ = jax.lax.scan(partial(_step, track, lengths, measure), start, length=events)
    return (total.T / (track.last - track.first)).T


def _step(track: Track, lengths: Float[Array, " k"], measure: Measure, state: tuple, _: None) -> tuple[tuple, None]:
    """The mean up to the next event, and the event."""
    window, total = state
    enters = window.next_in - lengths <= window.next_out
    event = jnp.where(enters, window.next_in - lengths, window.next_out)
    # Positions before the first one have no weight: the window fills up there.
    before = jnp.maximum(track.first - window.position, 0)
    by = jnp.minimum(event, track.last) - window.position
    weight = jnp.maximum(by - before, 0)
    for node, share in ((0.0, 1.0),) if window.sums is None else _NODES:
        value = measure(window.moved(before + node * weight), lengths)
        total = total + (share * weight * value.T).T
    return (_after_event(track, lengths, window.moved(by), enters, event < track.last), total), None


def _after_event(track: Track, lengths: Float[Array, " k"], window: Window, enters: Array, happens: Array) -> Window:
    """The windows with one level more or less, where there is an event before the last position."""
    comes, goes = happens & enters, happens & ~enters
    coming, leaving = window.coming + comes, window.leaving + goes
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
        window.inside + comes - goes,
        sums,
    )
