"""Matrices with complex eigenvalues: exact laws at finite n of dense matrices and independent moduli, structure."""

import functools
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
from tests.statistical import ERROR_RATE, assert_counts, assert_law, assert_mean

SCALE = 0.7
DRAWS = 8000
TAU = 0.4
MAKERS = {
    "ginibre": lambda n, beta: rmt.Ginibre(n, beta, SCALE),
    "product": lambda n, beta: rmt.GinibreProduct(n, 3, beta, SCALE),
    "induced": lambda n, beta: rmt.InducedGinibre(n, n + 2, beta, SCALE),
    "truncated": lambda n, beta: rmt.TruncatedUnitary(n, 2, beta),
    "spherical": lambda n, beta: rmt.Spherical(n, beta),
    "elliptic": lambda n, beta: rmt.Elliptic(n, TAU, beta, SCALE),
}
RADIAL = [name for name in MAKERS if name != "elliptic"]
ONE_OF_EACH = [("ginibre", 2), ("product", 4), ("induced", 4), ("truncated", 2), ("spherical", 4), ("elliptic", 1)]


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def drawn(name, n, beta, key):
    """Matrices, their eigenvalues, and moduli drawn with the same keys."""
    ensemble = MAKERS[name](n, beta)
    draw = lambda key: (ensemble.sample(key), ensemble.eigenvalues(key), ensemble.moduli(key))
    return jax.vmap(draw)(jax.random.split(key, DRAWS))


def log_determinant(name, n, beta):
    """Mean and variance of log|det|²; for every β, |det| is a product of independent χ or beta variates."""
    a, psi = beta * np.arange(1, n + 1) / 2, scipy.special.polygamma
    sums = lambda *terms: sum(np.array([psi(0, b).sum(), psi(1, b).sum()]) for b in terms)
    constant = lambda number, of: np.array([number * n * np.log(2 / (beta * of)) + 2 * n * np.log(SCALE), 0])
    return {
        "ginibre": lambda: sums(a) + constant(1, n),
        "product": lambda: sums(a, a, a) + constant(3, n),
        "induced": lambda: sums(a + beta) + constant(1, n + 2),
        "truncated": lambda: sums(a) - sums(a + beta),
        "spherical": lambda: sums(a, a) * [0, 1],
    }[name]()


# The last of these cases is tested in single precision as well.
EXACT_LAWS = daily(
    [case for case in itertools.product(RADIAL, (1, 2, 4)) if case != ("spherical", 4)],
    only=[("ginibre", 1), ("product", 4), ("induced", 4)],
)
EXACT_LAWS += [pytest.param("spherical", 4, marks=pytest.mark.float32(further=True))]


@pytest.mark.parametrize(("name", "beta"), EXACT_LAWS)
def test_exact_laws(getkey, name, beta):
    n = 3
    matrices, levels, moduli = map(np.asarray, drawn(name, n, beta, getkey()))
    eps = np.finfo(moduli.dtype).eps
    assert matrices.shape[1:] == ((2 * n, 2 * n) if beta == 4 else (n, n))
    assert levels.shape == (DRAWS, n)
    np.testing.assert_array_equal(levels, np.sort(levels))
    assert (np.diff(moduli) >= 0).all()

    # The determinant shows a degree of freedom more or fewer, a β in place of 1, and a wrong unit.
    mean, variance = log_determinant(name, n, beta)
    for radii in (np.abs(levels), moduli):
        logarithm = 2 * np.log(radii.astype(np.float64)).sum(-1)
        assert_mean(logarithm, mean)
        assert_mean((logarithm - mean) ** 2, variance)

    if name in ("ginibre", "product", "induced"):
        square = (np.abs(matrices.astype(np.complex128)) ** 2).sum((-1, -2))
        assert_mean(square / (2 if beta == 4 else 1), n * SCALE**2)
    if name == "truncated":
        singular = np.linalg.svd(matrices, compute_uv=False)
        assert (singular <= 1 + 20 * eps).all()
        # The corner is cut from n + 2 columns of norm 1 of a Haar matrix; n - 2 singular values are 1.
        assert_mean((singular.astype(np.float64) ** 2).mean(-1), n / (n + 2))
        np.testing.assert_allclose(singular[:, : (n - 2) * (2 if beta == 4 else 1)], 1, rtol=0, atol=50 * eps)

    if beta == 1:
        np.testing.assert_array_equal(np.sort(levels.conj()), levels)
        np.testing.assert_allclose(moduli, np.sort(np.abs(levels)), rtol=10 * eps)
        return
    # By Kostlan the sorted moduli of the matrices have, one by one, the laws of the sorted independent variates.
    for k, radii in enumerate(np.sort(np.abs(levels)).T):
        assert scipy.stats.ks_2samp(radii, moduli[:, k]).pvalue > ERROR_RATE
    if beta == 2:
        # The eigenvalue of largest modulus has a uniform angle, unlike the first one in sorted order.
        angle = np.angle(levels[np.arange(DRAWS), np.abs(levels).argmax(-1)])
        assert_law(angle, scipy.stats.uniform(-np.pi, 2 * np.pi).cdf)
    else:
        assert (levels.imag >= 0).all()
        a, b = matrices[:, ::2, ::2], matrices[:, ::2, 1::2]
        size = eps * np.abs(matrices).max() * 100
        np.testing.assert_allclose(matrices[:, 1::2, 1::2], a.conj(), rtol=0, atol=size)
        np.testing.assert_allclose(matrices[:, 1::2, ::2], -b.conj(), rtol=0, atol=size)


@pytest.mark.parametrize(("name", "beta"), daily(itertools.product(MAKERS, (1, 2, 4)), only=ONE_OF_EACH))
def test_eigenvalues_are_those_of_the_sample(getkey, name, beta):
    matrices, levels, _ = map(np.asarray, drawn(name, 3, beta, getkey()))
    # The tolerance is 1000 eps, because eigenvalues of non-normal matrices are ill-conditioned.
    wide = matrices[:20].astype(np.complex128)
    power = lambda k: np.trace(np.linalg.matrix_power(wide, k), axis1=-2, axis2=-1)
    for k in (1, 2, 3):
        expected = power(k) if beta < 4 else power(k) / 2
        got = (levels[:20].astype(np.complex128) ** k).sum(-1)
        size = 1000 * np.finfo(levels.dtype).eps * np.linalg.norm(wide, axis=(-2, -1)).max() ** k
        np.testing.assert_allclose(got if beta < 4 else got.real, expected, rtol=0, atol=size)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_traces_of_powers_of_complex_ginibre_matrices(getkey, k):
    # E|tr G^k|² = ((n + k)!/(n - 1)! - n!/(n - k - 1)!)/(k + 1) in unit variance, with 0 for the last term if k ≥ n.
    n = 3
    _, levels, _ = drawn("ginibre", n, 2, getkey())
    power = (np.asarray(levels) ** k).sum(-1)
    falling = scipy.special.poch(n, k + 1), scipy.special.poch(n - k, k + 1)
    expected = (falling[0] - falling[1]) / (k + 1)
    assert_mean(np.abs(power) ** 2, expected * (SCALE**2 / n) ** k)
    assert_mean(power.real, 0)


def expected_number_of_real_eigenvalues(n):
    """Edelman, Kostlan and Shub (1994), corollary 5.1: double factorials, one sum for each parity of n."""
    double = lambda k: scipy.special.factorial2(k) if k > 0 else 1.0
    if n % 2 == 0:
        return 2**0.5 * sum(double(4 * k - 1) / double(4 * k) for k in range(n // 2))
    return 1 + 2**0.5 * sum(double(4 * k - 3) / double(4 * k - 2) for k in range(1, (n - 1) // 2 + 1))


@pytest.mark.parametrize("n", [2, 3])
def test_real_eigenvalues_of_real_matrices(getkey, n):
    _, levels, _ = drawn("ginibre", n, 1, getkey())
    real = (np.asarray(levels).imag == 0).sum(-1)
    assert_mean(real, expected_number_of_real_eigenvalues(n))
    assert_mean(real == n, 2 ** (-n * (n - 1) / 4))
    _, levels, _ = drawn("spherical", n, 1, getkey())
    real = (np.asarray(levels).imag == 0).sum(-1)
    # Edelman, Kostlan and Shub (1994), theorem 6.1: all angles of a real pencil are equally likely.
    assert_mean(real, np.pi**0.5 * scipy.special.gamma((n + 1) / 2) / scipy.special.gamma(n / 2))


@pytest.mark.parametrize("m", [1, 3])
def test_one_eigenvalue_of_an_orthogonal_corner(getkey, m):
    corner = jax.jit(jax.vmap(rmt.TruncatedUnitary(1, m, 1).eigenvalues))(jax.random.split(getkey(), DRAWS))
    entry = np.asarray(corner)[:, 0].real
    assert_mean(entry, 0)
    assert_law(entry**2, scipy.stats.beta(0.5, m / 2).cdf) if m > 1 else assert_mean(entry**4, 3 / 8)


@pytest.mark.parametrize("beta", [1, 2, 4])
def test_moments_of_elliptic_matrices(getkey, beta):
    n, unit = 3, SCALE**2
    matrices, levels, _ = map(np.asarray, drawn("elliptic", n, beta, getkey()))
    assert_mean(levels.sum(-1).real ** 2, (1 + TAU) * unit / beta)
    assert_mean((levels**2).sum(-1).real, unit * (n * TAU + 2 / beta - 1))
    step = 2 if beta == 4 else 1
    # Entries (0, 1) and (1, 0), the components of a quaternion separately.
    a, b = matrices[:, 0, step], matrices[:, step, 0]
    share = 0.5 if beta == 4 else 1
    assert_mean(np.abs(a) ** 2, share * unit / n)
    assert_mean((a * b).real, share * TAU * unit / n)
    assert_mean((a * b.conj()).real, TAU * unit / n if beta == 1 else 0)
    assert_mean(matrices[:, 0, 0].real ** 2, (1 + TAU) * unit / (beta * n))
    if beta > 1:
        assert_mean(matrices[:, 0, 0].imag ** 2, (1 - TAU) * unit / (beta * n))


@functools.partial(jax.jit, static_argnums=0)
def elliptic(beta, correlation, keys):
    return jax.vmap(rmt.Elliptic(3, correlation, beta, SCALE).sample)(keys)


@pytest.mark.parametrize(("beta", "limit"), [*further((1, rmt.GOE)), (2, rmt.GUE), *further((4, rmt.GSE))])
def test_hermitian_ends_of_elliptic_matrices(getkey, beta, limit):
    keys = jax.random.split(getkey(), 4000)
    h = np.asarray(elliptic(beta, 1.0, keys))
    np.testing.assert_array_equal(h, np.swapaxes(h.conj(), -1, -2))
    others = jax.jit(jax.vmap(limit(3, SCALE).sample))(jax.random.split(getkey(), 4000))
    largest = (np.linalg.eigvalsh(matrices)[:, -1] for matrices in (h, others))
    assert scipy.stats.ks_2samp(*largest).pvalue > ERROR_RATE
    k = np.asarray(elliptic(beta, -1.0, keys))
    np.testing.assert_array_equal(k, -np.swapaxes(k.conj(), -1, -2))


@pytest.mark.parametrize(
    ("name", "beta"),
    daily([*((name, 2) for name in RADIAL), ("truncated", 1)], only=[("ginibre", 2), ("truncated", 1)]),
)
def test_pooled_moduli_have_the_law(getkey, name, beta):
    # Counts differ from n F(r) by √n at the edge and by less elsewhere: 0.04 n at n = 400.
    n, number = 400, 1 if beta == 1 else 20
    ensemble = {
        "product": lambda: rmt.GinibreProduct(n, 2, beta, SCALE),
        "induced": lambda: rmt.InducedGinibre(n, 2 * n, beta, SCALE),
        "truncated": lambda: rmt.TruncatedUnitary(n, n // 2, beta),
    }.get(name, lambda: MAKERS[name](n, beta))()
    r = np.linspace(0.05, 1.5, 30)
    below = np.asarray(jax.vmap(lambda key: ensemble.count_below(key, r))(jax.random.split(getkey(), number)))
    np.testing.assert_allclose(below.mean(0) / n, ensemble.law().radial_cdf(r), rtol=0, atol=0.04)


@pytest.mark.float32
def test_eigenvalues_of_elliptic_matrices_fill_the_ellipse(getkey):
    ensemble = rmt.Elliptic(300, TAU, 1, SCALE)
    levels, law = np.asarray(ensemble.eigenvalues(getkey())), ensemble.law()
    assert abs(np.mean(np.asarray(law.pdf(levels)) > 0) - 1) < 0.1
    assert abs(np.mean(levels.real**2) / (SCALE * (1 + TAU)) ** 2 - 1 / 4) < 0.03
    assert abs(np.mean(levels.imag**2) / (SCALE * (1 - TAU)) ** 2 - 1 / 4) < 0.03


def test_counts_are_those_of_the_moduli(getkey):
    key = getkey()
    for ensemble in (rmt.Ginibre(6, 1), rmt.Ginibre(6, 2)):
        moduli = np.unique(ensemble.moduli(key))
        radii = np.concatenate([moduli * (1 - 1e-9), moduli * (1 + 1e-9), [-1, 0, np.inf, 5]])
        expected = (np.asarray(ensemble.moduli(key)) < radii[:, None]).sum(-1)
        np.testing.assert_array_equal(ensemble.count_below(key, radii), expected)
        assert ensemble.count_below(key, radii.reshape(2, -1)).shape == (2, radii.size // 2)


def test_disc_has_binomial_counts(getkey):
    # For the single level at n = 1, P(|λ| < r) has a closed form, tested through `count_below`.
    draw = jax.jit(jax.vmap(lambda key: rmt.Ginibre(1, 2, SCALE).count_below(key, 0.5)))
    inside = int(np.asarray(draw(jax.random.split(getkey(), DRAWS))).sum())
    p = 1 - np.exp(-((0.5 / SCALE) ** 2))
    assert_counts(np.array([inside, DRAWS - inside]), np.array([p, 1 - p]))


# JAX 0.8 has a rule for the eigenvalues of a real matrix that warns.
@pytest.mark.filterwarnings("ignore:Casting complex values to real:numpy.exceptions.ComplexWarning")
def test_derivatives(getkey):
    key = getkey()
    levels = lambda scale: rmt.Ginibre(3, 4, scale).eigenvalues(key)
    np.testing.assert_allclose(jax.jacfwd(levels)(SCALE), levels(1.0), rtol=1e-13)
    check_derivatives(lambda scale: rmt.InducedGinibre(3, 4, 2, scale).moduli(key), SCALE)
    # The entries depend on τ, so this goes through the derivatives of eigenvalues, and then of eigenvectors.
    check_derivatives(lambda tau, scale: rmt.Elliptic(4, tau, 1, scale).eigenvalues(key), TAU, SCALE)
    check_derivatives(jax.jacfwd(lambda tau: rmt.Elliptic(3, tau, 2).eigenvalues(key)), TAU)


def test_laws():
    for ensemble, radius in [(rmt.Ginibre(3, 1, SCALE), SCALE), (rmt.GinibreProduct(3, 2, 1, SCALE), SCALE)]:
        assert ensemble.law().radius == radius
    assert rmt.GinibreProduct(3, 5).law().power == 5
    assert rmt.TruncatedUnitary(3, 5).law().fraction == 3 / 8
    assert rmt.InducedGinibre(4, 4).law().inner == 0
    ellipse = rmt.Elliptic(3, 0.2, 2, SCALE).law()
    assert (ellipse.correlation, ellipse.scale) == (0.2, SCALE)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rmt.Elliptic(3, 1.5), "`correlation` must lie between -1 and 1, got 1.5"),
        (lambda: rmt.Elliptic(3, 1.0).law(), "`correlation` must lie strictly between -1 and 1, got 1"),
        (lambda: rmt.Elliptic(2, -1.0, 2).joint_logpdf(jnp.arange(2.0)), "`correlation` must lie strictly between"),
        (lambda: rmt.InducedGinibre(3, 2), "`m` must be an integer of at least 3, got 2"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()
