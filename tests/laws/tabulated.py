"""Shared code for tests of tabulated laws: all methods at points, against ball arithmetic."""

import functools

import jax
import numpy as np

from tests.laws.core.methods import METHODS


@functools.partial(jax.jit, static_argnums=0)
def tabulate(law, x):
    return {name: getattr(law, name)(x) for name in METHODS}


def check_against_balls(got, k, exact, least, ulps):
    """Check point k of all methods against "pdf", "cdf" and "sf" in balls, except for values below `least` in size."""
    single = got["pdf"].dtype == np.float32
    ulp, of_logpdf = (3e-7, 3e-6) if single else (8e-16, 1e-15)
    for name, ball in (exact | {f"log{name}": ball.log() for name, ball in exact.items()}).items():
        assert got[name].dtype == got["pdf"].dtype
        expected = float(ball.mid())
        if abs(expected) > least:
            # exp amplifies the rounding of a logarithm by its size; one near 0 is as small as the other tail.
            rtol = ulp * max(ulps, 0 if abs(expected) > 1 else abs(np.log(abs(expected))))
            atol = of_logpdf if name == "logpdf" else 0
            np.testing.assert_allclose(got[name][k], expected, rtol, atol, err_msg=f"{name} at point {k}")
