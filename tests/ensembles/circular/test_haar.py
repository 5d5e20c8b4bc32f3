"""The classical compact groups: exact laws at finite n of dense matrices, the bidiagonal model and `joint_logpdf`."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
import scipy.stats

import rmtjax as rmt
from rmtjax.testing import check_derivatives
from tests.cases import daily, further
from tests.ensembles.draws import dense_phases, drawn
from tests.statistical import ERROR_RATE, assert_law, assert_mean

DRAWS = 8000
KEY = jax.random.key(0)
# The rotations are one component of the orthogonal matrices; two sizes show whether it is the right one.
CASES = [(rmt.HaarOrthogonal, 1), (rmt.HaarOrthogonal, 2), (rmt.HaarOrthogonal, 3), (rmt.HaarOrthogonal, 4)]
CASES += [(rmt.HaarOrthogonal, 5), (rmt.HaarSpecialOrthogonal, 4), (rmt.HaarSpecialOrthogonal, 5)]
CASES += [(rmt.HaarSymplectic, 2), (rmt.HaarSymplectic, 4)]


def component(make, n, determinant):
    """Number of pairs, forced eigenvalues, exponents of 1 - t and 1 + t in the density of t = cos θ (Weyl)."""
    if make is rmt.HaarSymplectic:
        return n // 2, [], 0.5, 0.5
    if n % 2:
        return n // 2, [determinant], 0.5 * determinant, -0.5 * determinant
    return (n // 2, [], -0.5, -0.5) if determinant == 1 else (n // 2 - 1, [1, -1], 0.5, 0.5)


def weyl_mean(make, n, determinant, statistic):
    """The exact mean of a polynomial of the eigenvalues, by Gauss–Jacobi quadrature for ∏(t_j - t_k)² ∏ w(t_k)."""
    pairs, forced, lower, upper = component(make, n, determinant)
    nodes, weights = scipy.special.roots_jacobi(8, lower, upper)
    total = mass = 0.0
    for index in itertools.product(range(8), repeat=pairs):
        t, angles = nodes[list(index)], np.arccos(nodes[list(index)])
        weight = np.prod(weights[list(index)]) * np.prod([(a - b) ** 2 for a, b in itertools.combinations(t, 2)])
        phases = np.concatenate([angles, -angles, np.angle(forced)])
        total, mass = total + weight * statistic(phases), mass + weight
    return total / mass


def power_sum(k, power):
    """A function of the phases of a matrix: the trace of its k-th power, raised to `power`."""
    return lambda phases: np.cos(k * phases).sum(-1) ** power


def assert_moment(samples, expected):
    if np.ptp(samples) < 1e-4:
        np.testing.assert_allclose(samples, expected, rtol=0, atol=1e-4)
    else:
        assert_mean(samples, expected)


@pytest.mark.parametrize(
    ("make", "n"),
    [
        *daily(CASES[:-1], only=[(rmt.HaarOrthogonal, 4)]),
        pytest.param(rmt.HaarSymplectic, 4, marks=pytest.mark.float32(further=True)),
    ],
)
def test_exact_laws(getkey, make, n):
    phases, matrices = drawn(make(n), DRAWS, getkey())
    eps = np.finfo(phases.dtype).eps
    pi = np.asarray(np.pi, phases.dtype)

    # The matrices are unitary and in the group; phases ascend, in exact pairs and with exact forced ones.
    product = matrices @ np.swapaxes(matrices.conj(), -1, -2)
    np.testing.assert_allclose(product, np.broadcast_to(np.eye(n), product.shape), rtol=0, atol=20 * eps)
    assert (np.diff(phases) > 0).all() or n == 1
    assert (phases > -pi).all()
    assert (phases <= pi).all()
    paired = np.sort(np.where(phases == pi, 0, phases))
    np.testing.assert_array_equal(paired, -paired[:, ::-1])
    dense = dense_phases(matrices)
    if make is rmt.HaarSymplectic:
        z = np.kron(np.eye(n // 2), [[0, 1], [-1, 0]])
        np.testing.assert_allclose(np.swapaxes(matrices, -1, -2) @ z @ matrices, np.broadcast_to(z, matrices.shape),
                                   rtol=0, atol=20 * eps)  # fmt: skip
        np.testing.assert_array_equal(matrices, z @ matrices.conj() @ z.T)
    else:
        assert matrices.dtype == phases.dtype
    dense_determinant = np.rint(np.linalg.det(matrices).real)
    determinant = np.where(phases[:, -1] == pi, -1, 1)

    both = make is rmt.HaarOrthogonal
    if both:
        for sign in (dense_determinant, determinant):
            assert scipy.stats.binomtest(int((sign == 1).sum()), DRAWS).pvalue > ERROR_RATE
    # Everything is tested given the determinant, so that a wrong determinant cannot hide an error.
    for sign in (1, -1) if both else (1,):
        pairs, eigenvalues, _, _ = component(make, n, sign)
        chosen, chosen_dense = phases[determinant == sign], dense[dense_determinant == sign]
        assert (len(chosen), len(chosen_dense)) == (DRAWS, DRAWS) or both
        assert ((chosen == 0).sum(-1) == eigenvalues.count(1)).all()
        assert ((chosen == pi).sum(-1) == eigenvalues.count(-1)).all()
        for k, power in [(1, 1), (2, 1), (3, 1), (1, 2), (2, 2), (3, 2), (1, 4)]:
            expected = weyl_mean(make, n, sign, power_sum(k, power))
            for levels in (chosen, chosen_dense):
                assert_moment(power_sum(k, power)(levels), expected)
        # Forced eigenvalues of dense matrices are exact only up to rounding.
        angles, dense_angles = (np.sort(np.abs(np.float64(levels))).round(4) for levels in (chosen, chosen_dense))
        for j in range(n):
            assert scipy.stats.ks_2samp(angles[:, j], dense_angles[:, j], method="asymp").pvalue > ERROR_RATE
        if pairs == 1:
            # The density of the single angle is uniform, or ∝ sin² θ, sin² θ/2, cos² θ/2.
            _, _, lower, upper = component(make, n, sign)
            law = {
                (-0.5, -0.5): lambda t: t,
                (0.5, 0.5): lambda t: t - np.sin(t) * np.cos(t),
                (0.5, -0.5): lambda t: t - np.sin(t),
                (-0.5, 0.5): lambda t: t + np.sin(t),
            }[lower, upper]
            one = chosen[:, np.flatnonzero((chosen[0] > 0) & (chosen[0] < pi))[0]]
            assert_law(law(one) / np.pi, scipy.stats.uniform.cdf)
    if n > 1 and make is not rmt.HaarSymplectic:
        for i, j in [(0, 0), (n - 1, n - 1), (n - 1, 0)]:
            assert_law(matrices[:, i, j] ** 2, scipy.stats.beta(0.5, (n - 1) / 2).cdf)
            assert_mean(matrices[:, i, j], 0)


@pytest.mark.parametrize(("make", "n"), CASES, ids=lambda case: getattr(case, "__name__", case))
def test_weyl_means_are_the_published_ones(make, n):
    mean = lambda *of: np.mean([weyl_mean(make, n, sign, power_sum(*of)) for sign in signs])
    signs = (1, -1) if make is rmt.HaarOrthogonal else (1,)
    if make is rmt.HaarSymplectic:
        # Diaconis and Shahshahani (1994), theorem 6; E tr⁴ counts matchings without three that cross (n = 2).
        expected = {(1, 1): 0, (2, 1): -1, (1, 2): 1, (1, 4): 2 if n == 2 else 3}
    elif make is rmt.HaarOrthogonal:
        # Diaconis and Shahshahani's theorem 4, valid up to the order 2n (Diaconis and Evans 2001; Rains 1997).
        expected = {(1, 1): 0, (2, 1): 1, (1, 2): 1, (1, 4): 3 if n > 1 else 1}
    else:
        # The invariant tensor ε of SO(n) adds 1 to the moments of order n: to E tr² at 2 (1 of 2 and 3 of 6), …
        expected = {(1, 1): float(n == 1), (1, 2): 2 if n == 2 else 1, (1, 4): {1: 1, 2: 6, 4: 4}.get(n, 3)}
    for of, value in expected.items():
        np.testing.assert_allclose(mean(*of), value, rtol=0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.heavy
@pytest.mark.parametrize("make", [rmt.HaarSpecialOrthogonal, rmt.HaarSymplectic])
def test_characteristic_polynomial_at_one(getkey, make):
    # Keating and Snaith (2000), Commun. Math. Phys. 214, 91, equations 8 and 32: E det(1 - U)^s, here at s = 1 and the
    # derivative at 0.
    m, s = 6, float(make is rmt.HaarSymplectic)
    phases = np.asarray(jax.jit(jax.vmap(make(2 * m).eigenphases))(jax.random.split(getkey(), DRAWS)))
    determinant = np.prod(4 * np.sin(phases[:, m:] / 2) ** 2, axis=-1)
    assert_mean(determinant, m + 1 if s else 2)
    j, psi = np.arange(1, m + 1), scipy.special.digamma
    logarithm = 2 * m * np.log(2) + np.sum(psi(j + s - 0.5) - psi(j + m + 2 * s - 1))
    assert_mean(np.log(determinant), logarithm)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7])
@pytest.mark.parametrize("make", [rmt.HaarSpecialOrthogonal, rmt.HaarSymplectic])
def test_total_mass(make, n):
    if make is rmt.HaarSymplectic and n % 2:
        pytest.skip("symplectic matrices have an even size")
    # The density is a trigonometric polynomial, for which Gauss–Legendre quadrature is exact.
    k = n // 2
    nodes, weights = np.polynomial.legendre.leggauss(30)
    angles = np.stack(np.meshgrid(*[np.pi * (nodes + 1) / 2] * k), axis=-1).reshape(-1, k)
    weight = np.prod(np.stack(np.meshgrid(*[np.pi * weights / 2] * k), axis=-1).reshape(-1, k), axis=-1)
    density = np.exp(jax.vmap(make(n).joint_logpdf)(angles))
    np.testing.assert_allclose(np.sum(weight * density), 1, rtol=1e-12)


def test_joint_density():
    # At the 2m-th roots of -1 the product of all distances is (2m)^m, and that within the pairs is 2.
    m = 1000
    height = rmt.HaarSpecialOrthogonal(2 * m).joint_logpdf(np.pi * (np.arange(m) + 0.5) / m)
    exact = m * np.log(2 * m) - m * np.log(2 * np.pi) - scipy.special.gammaln(m + 1)
    np.testing.assert_allclose(height, exact, rtol=0, atol=1e-7)
    angles = np.array([2.1, 0.4])
    # The constants of Katz and Sarnak (1999), section 5.0, at k = 2: 2^((k-1)²), 2^(k²), 2^(k²), each over k! π^k.
    for ensemble, constant, weight in [
        (rmt.HaarSpecialOrthogonal(4), 2, np.ones_like),
        (rmt.HaarSpecialOrthogonal(5), 2**4, lambda t: np.sin(t / 2) ** 2),
        (rmt.HaarSymplectic(4), 2**4, lambda t: np.sin(t) ** 2),
    ]:
        density = constant / (2 * np.pi**2) * np.diff(np.cos(angles))[0] ** 2 * np.prod(weight(angles))
        np.testing.assert_allclose(ensemble.joint_logpdf(angles), np.log(density), rtol=1e-13)
        check_derivatives(ensemble.joint_logpdf, angles)
        height_and_gradient = jax.jit(jax.value_and_grad(ensemble.joint_logpdf))
        for wrong in ([0.4, 0.4], [0.0, 1.0], [1.0, np.pi], [-0.3, 1.0], [1.0, 3.5]):
            height, gradient = height_and_gradient(jnp.array(wrong))
            assert height == -jnp.inf
            assert jnp.isfinite(gradient).all()
    assert rmt.HaarSpecialOrthogonal(1).joint_logpdf(jnp.zeros(0)) == 0


def test_small_angles_have_their_digits():
    # float32 against LAPACK's float64 for the same entries; from cos θ alone, θ = 0.01 would have an error of 100 eps.
    ensemble = rmt.HaarSymplectic(400)
    with jax.enable_x64(False):
        _, _, (diagonal, beside) = jax.jit(ensemble._model)(KEY)
        phases = np.asarray(jax.jit(ensemble.eigenphases)(KEY))
    dense = [np.diag(np.float64(d)) + np.diag(np.float64(e), 1) for d, e in zip(diagonal, beside, strict=True)]
    cosine, sine = (np.linalg.svd(matrix, compute_uv=False) for matrix in dense)
    angles, eps = phases[200:], np.finfo(np.float32).eps
    assert angles[0] < 0.03
    assert angles[-1] > 3.11
    np.testing.assert_allclose(angles[:100], 2 * np.arcsin(sine[::-1][:100]), rtol=0, atol=20 * eps)
    np.testing.assert_allclose(angles[100:], np.pi - 2 * np.arcsin(cosine[100:]), rtol=0, atol=20 * eps)


@pytest.mark.float32
def test_forced_eigenvalues_are_real(getkey):
    values = np.asarray(jax.jit(jax.vmap(rmt.HaarOrthogonal(3).eigenvalues))(jax.random.split(getkey(), 20)))
    np.testing.assert_array_equal((values.imag == 0).sum(-1), 1)
    assert set(values[values.imag == 0]) == {-1, 1}
    np.testing.assert_allclose(np.abs(values), 1, rtol=4 * np.finfo(values.dtype).eps)


@pytest.mark.parametrize(
    "ensemble",
    [
        rmt.HaarSpecialOrthogonal(1),
        rmt.HaarSpecialOrthogonal(41),
        rmt.HaarSymplectic(2),
        *further(rmt.HaarOrthogonal(40)),
    ],
    ids=repr,
)
def test_counts_and_eigenvalues_are_those_of_the_phases(getkey, ensemble):
    @jax.jit
    def draw(key):
        phases = ensemble.eigenphases(key)
        x = jnp.concatenate([phases - 1e-12, phases + 1e-12, ends])
        return phases, x, ensemble.count_below(key, x), ensemble.eigenvalues(key)

    # The forced phases 0 and π are exact, and not below themselves.
    ends = jnp.array([-4, 4, 0, np.pi, -np.pi, np.inf, -np.inf])
    last = set()
    for key in jax.random.split(getkey(), 6):
        phases, x, counts, eigenvalues = map(np.asarray, draw(key))
        np.testing.assert_array_equal(counts, np.less(phases, x[:, None]).sum(-1))
        np.testing.assert_allclose(eigenvalues, np.exp(1j * phases), rtol=0, atol=1e-15)
        last.add(phases[-1] == np.pi)
    assert last == ({True, False} if isinstance(ensemble, rmt.HaarOrthogonal) else {False})


def test_law_of_many_phases(getkey):
    # The number of phases in an arc has a variance of the order log n.
    ensemble, x = rmt.HaarOrthogonal(400), np.linspace(-3.1, 3.1, 101)
    counts = np.asarray(jax.jit(ensemble.count_below)(getkey(), x))
    assert np.abs(counts - 400 * np.asarray(ensemble.law().cdf(x))).max() < 5


@pytest.mark.parametrize("beta", [1, *further(2), 4])
def test_isometries(getkey, beta):
    frames = rmt.HaarIsometry(5, 2, beta)
    v = np.asarray(jax.jit(jax.vmap(frames.sample))(jax.random.split(getkey(), DRAWS)))
    width = 2 if beta == 4 else 1
    assert v.shape == (DRAWS, 5 * width, 2 * width)
    assert v.dtype == (np.float64 if beta == 1 else np.complex128)
    gram = np.swapaxes(v.conj(), -1, -2) @ v
    np.testing.assert_allclose(gram, np.broadcast_to(np.eye(2 * width), gram.shape), rtol=0, atol=1e-14)
    # A diagonal entry of the projector on the span of k = 2 of n = 5 directions is a beta variate.
    share = (np.abs(v[:, 0]) ** 2).sum(-1)
    assert_law(share, scipy.stats.beta(beta, 1.5 * beta).cdf)
    whole = rmt.HaarIsometry(3, 3, beta).sample(getkey())
    np.testing.assert_allclose(np.abs(np.linalg.det(whole)), 1, rtol=1e-13)


def test_without_64_bit_types():
    with jax.enable_x64(False):
        for make, n in CASES:
            ensemble = make(n)
            drawn = jax.eval_shape(lambda e=ensemble: (e.eigenphases(KEY), e.sample(KEY), e.count_below(KEY, 0.3)))
            entry = jnp.complex64 if make is rmt.HaarSymplectic else jnp.float32
            assert [draw.dtype for draw in drawn] == [jnp.float32, entry, jnp.int32]
        assert rmt.HaarSymplectic(4).joint_logpdf(jnp.array([0.3, 1.0])).dtype == jnp.float32


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: rmt.HaarSymplectic(3), ValueError, "`n` must be even, got 3"),
        (lambda: rmt.HaarSymplectic(0), ValueError, "`n` must be an integer of at least 2, got 0"),
        (lambda: rmt.HaarIsometry(3, 4), ValueError, "`k` must be at most n = 3, got 4"),
        (lambda: rmt.HaarSymplectic(4).joint_logpdf(jnp.ones(4)), ValueError, r"must have the shape \(2,\)"),
        (lambda: rmt.HaarOrthogonal(4).joint_logpdf(jnp.ones(2)), NotImplementedError, "see HaarSpecialOrthogonal"),
    ],
)
def test_bad_input(make, error, message):
    with pytest.raises(error, match=message):
        make()
