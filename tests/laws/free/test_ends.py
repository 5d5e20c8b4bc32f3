"""Values of free sums and products a few ulp from the ends of bands, where the fixed point is nearly a double one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rmtjax.laws import (
    CovarianceProfileLaw,
    DeformedSemicircle,
    Empirical,
    FreeProduct,
    FreeSum,
    GeneralMarchenkoPastur,
    MarchenkoPastur,
    Semicircle,
)

EPS = float(jnp.finfo(jnp.zeros(0).dtype).eps)


@jax.jit
def values(law, x):
    return law.cdf(x), law.pdf(x)


@pytest.mark.float32
def test_no_point_beside_an_end_is_taken_for_a_point_of_the_gap():
    # In single precision a step of the search ended on the axis, and the next ones stayed there.
    law = FreeSum(Empirical(jnp.asarray([-1.2, 0.9]), jnp.asarray([0.4, 0.6])), Semicircle(jnp.asarray(0.8)))
    end = law.support()[0]
    distance = EPS * np.arange(20, 4000)
    below, density = map(np.asarray, values(law, (end + distance).astype(end.dtype)))
    # A soft end: the mass is 2/3 of the density times the distance, at a point within some ulp.
    assert (below > 0).all()
    np.testing.assert_allclose(density**2 / distance, density[-1] ** 2 / distance[-1], rtol=0.2)
    np.testing.assert_allclose(below / (density * distance), 2 / 3, rtol=0.2)


def test_no_point_beside_a_far_end_is_tried_on_the_axis_too_early():
    # A step that changed no digit of a large fixed point had not yet found it, and 38 points had no density.
    law = FreeSum(Empirical(np.array([-1.0, 1.0, 5.0]) + 1e4, [0.4, 0.3, 0.3]), Empirical([-1.0, 1.0]))
    end = law.bands()[0][4]
    _, density = values(law, end + np.spacing(np.asarray(end)) * np.arange(1500))
    assert np.sum(np.asarray(density) == 0) < 18


@pytest.mark.float32
def test_the_density_vanishes_at_an_end_close_to_an_atom():
    # There the map was taken for the identity, and the value was that of a point half of the digits away.
    law = FreeProduct(MarchenkoPastur(jnp.asarray(3.2266), 0.5), MarchenkoPastur(jnp.asarray(2.97), 0.673))
    end = law.breakpoints()[-2]
    assert 4e-4 < end < 4.2e-4
    near = end * (1 + EPS * np.arange(-40, 40))
    _, (*density, far) = map(np.asarray, values(law, jnp.append(near, end * (1 + 1e4 * EPS)).astype(end.dtype)))
    # It grows like the root of the distance.
    assert max(density) < far / 5


@pytest.mark.slow
def test_every_program_finds_the_same_end_of_a_nested_law():
    # The bisections of two programs took a point 350 and 10,000 ulp below the upper end for one of the gap, and what
    # they had found was not taken for the beginning of a search for the end.
    population = Empirical([1.9891596000593168, 2.873439520513724], [0.5249818469954945, 0.4750181530045054])
    law = FreeSum(FreeProduct(population, MarchenkoPastur(2.0246)), Semicircle(2.53125))
    size, ends = float(law.support()[1]), []
    for number in (1, 7, 21, 26):
        q = jnp.asarray(np.append(np.linspace(0.1, 0.9, number - 1), 1.0))
        ends.append(jax.jit(lambda law, q: law.ppf(q))(law, q)[-1])
    np.testing.assert_allclose(ends, size, rtol=0, atol=64 * EPS * size)


@pytest.mark.parametrize(
    ("law", "parameters"),
    [
        # At an atom that is an end the stationary point has no derivative, and 0 times it was NaN.
        (lambda c: FreeProduct(Empirical([0.0, 1.0, 3.0]), MarchenkoPastur(c[0])), [0.7]),
        # The ends of gaps had the derivative 0.
        (lambda a: DeformedSemicircle(a[:3], [0.3, 0.3, 0.4], a[3]), [0.0, 0.1, 2.0, 0.5]),
        (lambda a: GeneralMarchenkoPastur(a[0], jnp.stack([a[1], a[1], a[2]]), [0.3, 0.3, 0.4]), [0.1, 1.0, 5.0]),
        # In reverse mode the masses of bands were NaN.
        (lambda a: GeneralMarchenkoPastur(a[0], jnp.append(0.0, a[1:]), [0.2, 0.4, 0.4]), [0.5, 1.0, 5.0]),
        # With a hard edge, the ends by weights.
        (lambda w: CovarianceProfileLaw([[0.6, 0.2], [0.3, 0.9]], 1.0, jnp.append(w, 1 - w)), [0.3]),
    ],
    ids=["FreeProduct", "DeformedSemicircle", "GeneralMarchenkoPastur", "an atom", "CovarianceProfileLaw"],
)
def test_derivatives_of_bands(law, parameters):
    """A sweep of all parameters, by differences and in both modes."""
    at, way = jnp.asarray(parameters), jnp.asarray([0.31, -0.43, 0.37, 0.29][: len(parameters)])
    bands = jax.jit(lambda t: jnp.concatenate(law(at + t * way).bands()))
    _, slopes = jax.jvp(bands, (0.0,), (1.0,))
    np.testing.assert_allclose(jax.jacrev(bands)(0.0), slopes, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(slopes, (bands(1e-5) - bands(-1e-5)) / 2e-5, rtol=1e-6, atol=1e-6)


@pytest.mark.slow
def test_every_program_finds_the_same_end_next_to_the_end_of_a_part():
    # The subordinate points of the upper ends are as near as 2e-8 to the end of the product, so that rounding moves the
    # ends by up to eps/√2e-8 = 1.6e-12 of themselves.
    for points, weights, ratio, scale, radius in (
        ([0.88646, 2.77344], [0.44476, 0.55524], 2.05191, 1.04352, 0.22097),
        ([1.57979, 1.62979], [0.33328, 0.66672], 4.8815, 0.64101, 0.8664),
    ):
        law = FreeSum(FreeProduct(Empirical(points, weights), MarchenkoPastur(ratio, scale)), Semicircle(radius))
        ends = np.asarray(law.support())
        np.testing.assert_allclose(law.breakpoints()[np.array([0, -1])], ends, rtol=0, atol=1e4 * EPS * ends[1])
