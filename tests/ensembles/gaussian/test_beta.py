"""GOE and the Gaussian β-ensembles: exact finite-n laws, the soft edge, rigidity of counts, streaming, derivatives.

On single draws `eigenvalues`, `count_below`, `largest_eigenvalues` and `leading_block_eigenvalues` are compared with
the entries of `tridiagonal`, and these with exact formulas; so the laws hold for all of these methods.
"""

import functools
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
import scipy.special
import scipy.stats

import rmtjax as rmt
from tests.cases import further
from tests.ensembles.gaussian.beta_hermite import assert_beta_hermite, fourth_moment, level_unit, log_repulsion
from tests.statistical import assert_mean

BETAS = [0.5, 1.0, 2.0, 4.0, 17.3]
SCALE = 0.7
EPS = np.finfo(float).eps
# A size beyond one block of rows; blocks have 512.
BEYOND_A_BLOCK = 5000
LARGE = 10**6
STREAMED = rmt.GaussianBeta(3 * 4096 + 17, 2.0, SCALE)
GRID = np.concatenate([[-np.inf], np.linspace(-2.02, 2.02, 98), [np.inf]])


@functools.partial(jax.jit, static_argnames="chunk")
def counts(ensemble, key, x, chunk=None):
    return ensemble.count_below(key, x, chunk=chunk)


@functools.cache
def compiled_blocks(n):
    """A compiled function for the leading blocks of many draws, for every β and order, and a list of its traces."""
    traces = []

    @jax.jit
    def blocks(beta, order, keys):
        traces.append(None)
        return jax.vmap(lambda key: rmt.GaussianBeta(n, beta, SCALE).leading_block_eigenvalues(key, order).values)(keys)

    return blocks, traces


@functools.cache
def draws_of_50(beta, seed):
    """Spectra of 4000 tridiagonal matrices of size 50, their levels from LAPACK."""
    keys = jax.random.split(jax.random.fold_in(jax.random.key(seed), round(beta)), 4000)
    draw = entries_of_50(beta, keys)
    return np.array([scipy.linalg.eigvalsh_tridiagonal(d, e) for d, e in zip(*map(np.asarray, draw), strict=True)])


@jax.jit
def entries_of_50(beta, keys):
    draw = jax.vmap(rmt.GaussianBeta(50, beta).tridiagonal)(keys)
    return draw.diagonal, draw.off_diagonal


def test_reference_formulas():
    n = 7
    # Genus expansions for unit variance off the diagonal. GOE: Ledoux (2009); GUE: Harer and Zagier (1986).
    np.testing.assert_allclose(fourth_moment(n, 1) * 2**2, 2 * n**3 + 5 * n**2 + 5 * n)
    np.testing.assert_allclose(fourth_moment(n, 2), 2 * n**3 + n)
    # Two levels: x_2 - x_1 = √2 χ_{β+1}.
    np.testing.assert_allclose(log_repulsion(2, 3.0), np.log(2) + scipy.special.digamma(2) / 2)
    # In the units of the ensemble: E tr T² = n s² (2/(βn) + (n - 1)/n).
    for beta in BETAS:
        degrees = n + beta * n * (n - 1) / 2
        np.testing.assert_allclose(level_unit(n, beta, 0.3) ** 2 * degrees, n * 0.09 * (2 / (beta * n) + (n - 1) / n))


@pytest.mark.heavy
@pytest.mark.float32
@pytest.mark.parametrize("order", [1, 2, 4])
@pytest.mark.parametrize("beta", BETAS)
def test_exact_laws_of_every_order(getkey, beta, order):
    # Leading rows instead of trailing rows would have χ with too many degrees of freedom at orders 1 < k < n.
    n = 4
    blocks, traces = compiled_blocks(n)
    values = np.asarray(blocks(beta, order, jax.random.split(getkey(), 5000)))
    assert np.isposinf(values[:, order:]).all()
    assert (np.diff(values[:, :order]) >= 0).all()
    assert_beta_hermite(values[:, :order], beta, level_unit(n, beta, SCALE))
    assert len(traces) == 1


def test_tridiagonal_entries_are_all_different(getkey):
    # If all blocks of rows, or both diagonals, had the same key, entries would repeat.
    n, key = 3 * BEYOND_A_BLOCK, getkey()
    draw = rmt.GOE(n).tridiagonal(key)
    diagonal, off_diagonal = np.asarray(draw.diagonal), np.asarray(draw.off_diagonal)
    assert np.unique(diagonal).size == n
    # A block that starts counting its rows from 1 again would have χ of a wrong size.
    left = np.arange(n - 1, 0, -1)
    noise = np.sqrt(n) * off_diagonal - np.sqrt(left)
    assert np.abs(noise).max() < 7
    assert abs(np.corrcoef(noise, diagonal[1:])[0, 1]) < 5 * n**-0.5
    beta_one = rmt.GaussianBeta(n, 1.0).tridiagonal(key)
    np.testing.assert_array_equal(diagonal, beta_one.diagonal)
    np.testing.assert_array_equal(off_diagonal, beta_one.off_diagonal)


@jax.jit
def everything(ensemble, key, order, x):
    draw = ensemble.tridiagonal(key)
    return {
        "entries": (draw.diagonal, draw.off_diagonal),
        "levels": ensemble.eigenvalues(key),
        "counts": ensemble.count_below(key, x),
        "block": ensemble.leading_block(key, order).values,
        "leading_block_spectrum": ensemble.leading_block_eigenvalues(key, order).values,
    }


@pytest.mark.parametrize(("beta", "order"), [(0.3, 2), (1.0, 9), (10.0, 5), (np.inf, 1)])
def test_all_methods_speak_of_one_matrix(getkey, beta, order):
    n, key, ensemble = 9, getkey(), rmt.GaussianBeta(9, beta, SCALE)
    levels = everything(ensemble, key, order, jnp.zeros(3 * n))["levels"]
    x = np.concatenate([levels - 1e-12, levels + 1e-12, np.linspace(-2, 2, n)])
    draw = everything(ensemble, key, order, x)
    (d, e), close = draw["entries"], functools.partial(np.testing.assert_allclose, rtol=0, atol=1e-14)
    close(levels, scipy.linalg.eigvalsh_tridiagonal(d, e))
    np.testing.assert_array_equal(draw["counts"], np.less(levels[None], x[:, None]).sum(-1))
    # The block is made of the trailing rows, moved to the front.
    expected = np.zeros((n, n))
    last, inner = d[n - order :], e[n - order :]
    expected[:order, :order] = np.diag(last) + np.diag(inner, 1) + np.diag(inner, -1)
    close(draw["block"], expected)
    close(draw["leading_block_spectrum"][:order], np.linalg.eigvalsh(expected[:order, :order]))
    assert np.isposinf(draw["leading_block_spectrum"][order:]).all()


def test_infinite_beta_is_the_lattice_of_hermite_zeros(getkey):
    n, key = 9, getkey()
    zeros = np.polynomial.hermite_e.hermegauss(n)[0] * SCALE / n**0.5
    at = lambda beta: np.asarray(
        everything(rmt.GaussianBeta(n, beta, SCALE), key, 1, jnp.zeros(3 * n))["levels"], np.float64
    )
    np.testing.assert_allclose(at(np.inf), zeros, rtol=0, atol=1e-14)
    # The limit is approached as β^(-1/2), linearly in the same noise.
    near, nearer = at(1e12) - zeros, at(1e14) - zeros
    assert 1e-9 < np.abs(near).max() < 10 * (2 / (1e12 * n)) ** 0.5
    np.testing.assert_allclose(nearer, near / 10, rtol=0, atol=1e-4 * np.abs(near).max())


# Atas et al. (2013), Phys. Rev. Lett. 110, 084101, table I, with errors of 1e-4. At n = 50 the inner half is within
# 5e-4 of it (20 000 draws); a standard error here is 1e-3. A diagonal N(0, 1) gave 0.556, 0.629 and 0.704.
@pytest.mark.slow
@pytest.mark.parametrize(("beta", "expected"), [(1.0, 0.5307), (4.0, 0.6744), (2.0, 0.5996)])
def test_mean_gap_ratio(getkey, beta, expected):
    gaps = np.diff(draws_of_50(beta, getkey.seed)[:, 13:37])
    ratio = np.minimum(gaps[:, 1:], gaps[:, :-1]) / np.maximum(gaps[:, 1:], gaps[:, :-1])
    assert_mean(ratio.mean(-1), expected)


@pytest.mark.slow
def test_dense_and_tridiagonal_goe_have_the_same_edge(getkey):
    # The exact laws above test neither n = 50 nor the largest level by itself; here are its mean and variance.
    keys = jax.random.split(getkey(), 4000)
    dense = np.linalg.eigvalsh(jax.jit(jax.vmap(rmt.GOE(50).sample))(keys))[:, -1]
    tridiagonal = draws_of_50(1.0, getkey.seed)[:, -1]
    assert_mean(dense - tridiagonal, 0)
    assert_mean((dense - dense.mean()) ** 2 - (tridiagonal - tridiagonal.mean()) ** 2, 0)
    assert scipy.stats.ks_2samp(dense, tridiagonal).pvalue > 1e-6


@jax.jit
def edges(beta, keys):
    # A traced β of at least 1 needs no corner.
    ensemble = rmt.GaussianBeta(LARGE, beta, SCALE)
    return jax.vmap(lambda key: ensemble.soft_edge().standardize(ensemble.largest_eigenvalues(key)[0]))(keys)


# Bornemann (2010), Markov Process. Relat. Fields 16, 803, table 7. Tracy and Widom's variable at β = 4 is 2^(1/6)
# times the variable of the stochastic Airy operator: their numbers are 11 standard errors away from these.
@pytest.mark.slow
@pytest.mark.heavy
@pytest.mark.parametrize(
    ("beta", "mean", "variance"),
    [
        (1.0, -1.2065335745820, 1.6077810345810),
        pytest.param(2.0, -1.7710868074, 0.8131947928, marks=pytest.mark.slow),
        pytest.param(4.0, -2.306884893 / 2 ** (1 / 6), 0.5177237208 / 2 ** (1 / 3), marks=pytest.mark.slow),
    ],
)
def test_largest_level_is_tracy_widom(getkey, beta, mean, variance):
    x = np.asarray(edges(beta, jax.random.split(getkey(), 1000)))
    # Finite n matters at the order n^(-2/3), where the standard errors are 0.04 to 0.02.
    assert_mean(x, mean)
    assert_mean((x - x.mean()) ** 2, variance)


@jax.jit
def levels_largest_counts(ensemble, key, x):
    return ensemble.eigenvalues(key), ensemble.largest_eigenvalues(key, 30), ensemble.count_below(key, x)


@pytest.mark.slow
@pytest.mark.parametrize("beta", [1.0, 10.0])
def test_largest_levels_need_only_the_corner(getkey, beta):
    # This sees a corner too small for the turning point of the k-th level, and the wrong corner of T.
    n, key = BEYOND_A_BLOCK, getkey()
    ensemble = rmt.GaussianBeta(n, beta, SCALE)
    levels, largest, _ = map(np.asarray, levels_largest_counts(ensemble, key, jnp.zeros(n + 1)))
    norm = np.abs(levels).max()
    np.testing.assert_allclose(largest, levels[-30:], rtol=0, atol=8 * EPS * norm)
    # The stream counts the same levels across block boundaries.
    x = np.concatenate([[levels[0] - 1], (levels[1:] + levels[:-1]) / 2, [levels[-1] + 1]])
    clear = np.diff(levels, prepend=-9, append=9) > 16 * EPS * norm
    below = np.asarray(levels_largest_counts(ensemble, key, x)[2])
    np.testing.assert_array_equal(below[clear], np.arange(n + 1)[clear])


@pytest.mark.slow
@pytest.mark.heavy
def test_the_corner_has_every_digit_of_the_whole_matrix(getkey):
    # The noise of small β reaches farthest: at β = 0.01 the levels need 15 to 45 n^(1/3) rows, but only 21 n^(1/3) rows
    # would be kept if β were ignored. The counts of a stream of all rows place each level within 8 eps of the norm, so
    # a larger corner changes nothing. A Python number is a known β inside `jit` too, and needs no `corner`.
    k, keys = 4, jax.random.split(getkey(), 6)
    largest = functools.partial(rmt.GaussianBeta(LARGE, 0.01).largest_eigenvalues, k=k)
    expected = LARGE - k + np.concatenate([np.arange(k), np.arange(1, k + 1)])
    for key, top in zip(keys, np.asarray(jax.jit(jax.vmap(largest))(keys)), strict=True):
        x = np.resize(np.concatenate([top - 16 * EPS, top + 16 * EPS]), GRID.size)
        below = counts(rmt.GaussianBeta(LARGE, np.float64(0.01)), key, x)
        np.testing.assert_array_equal(below[: 2 * k], expected)


def test_a_traced_beta_below_one_needs_a_corner(getkey):
    assert jnp.all(jnp.isnan(edges(0.9, jax.random.split(getkey(), 2))))


@pytest.mark.parametrize("chunk", [1, *further(5000)])
def test_a_stream_does_not_depend_on_its_chunks(getkey, chunk):
    # This sees a state that is lost between chunks, and rows beyond n that are counted as levels.
    key, x = getkey(), np.linspace(-1.5, 1.5, 40)
    at_once = np.asarray(counts(STREAMED, key, x, 10**9))
    assert (at_once[0], at_once[-1]) == (0, STREAMED.n)
    np.testing.assert_array_equal(counts(STREAMED, key, x, chunk), at_once)


def semicircle_counts(n):
    return n * np.asarray(rmt.laws.Semicircle().cdf(np.clip(GRID, -2, 2)), np.float64)


@pytest.mark.heavy
@pytest.mark.parametrize("dtype", [pytest.param(np.float32, marks=pytest.mark.float32), *further(np.float64)])
def test_levels_are_rigid(getkey, dtype):
    # Counts deviate from the semicircle by √(2 log n / (β π²)) = 1.7 at β = 1, not by the √n of independent levels.
    # Rounding moves a level by a few eps of the norm, 2, and there are n/π of them in a unit interval.
    allowed = 10 + 4 * np.finfo(dtype).eps * 2 * LARGE / np.pi
    for beta in (1.0, 2.0, 17.3):
        below = np.asarray(counts(rmt.GaussianBeta(LARGE, dtype(beta)), getkey(), GRID.astype(dtype)))
        assert (below[0], below[-1]) == (0, LARGE)
        assert np.abs(below - semicircle_counts(LARGE)).max() < allowed


STREAM = """
import resource, jax, jax.numpy as jnp, rmtjax as rmt
below = rmt.GaussianBeta({n}, 2.0).count_below(jax.random.key({seed}), jnp.array({x}))
print(*below.tolist(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
def test_memory_of_a_stream_does_not_grow_with_n(getkey):
    peaks = []
    for n in (LARGE, 10**8):
        finite = np.clip(GRID, -9, 9).tolist()
        process = subprocess.run(
            [sys.executable, "-c", STREAM.format(n=n, seed=getkey.seed, x=finite)],
            env=os.environ | {"JAX_ENABLE_X64": "1"},
            capture_output=True,
            text=True,
            check=True,
        )
        *below, peak = map(int, process.stdout.split())
        assert (below[0], below[-1]) == (0, n)
        assert np.abs(below - semicircle_counts(n)).max() < 10
        peaks.append(peak)
    # The peaks are in KiB. The rows of n = 10⁸ would take 1.6 GB.
    assert peaks[1] < peaks[0] + 100_000


@jax.jit
def slopes(beta, scale, keys):
    """Traces of T² and T⁴ from the entries, their derivatives by β, and the gradient of Σ λ⁴ by β and the scale."""

    def traces(beta, key):
        t = rmt.GaussianBeta(4, beta, scale).tridiagonal(key).todense()
        return jnp.sum(t**2), jnp.sum((t @ t) ** 2)

    def one(key):
        power = lambda beta, scale: (rmt.GaussianBeta(4, beta, scale).eigenvalues(key) ** 4).sum()
        forward = jax.jvp(lambda beta: traces(beta, key), (beta,), (jnp.ones_like(beta),))
        return forward, jax.grad(power, (0, 1))(beta, scale)

    return jax.vmap(one)(keys)


@pytest.mark.parametrize("beta", [0.5, 2.0, 17.3])
def test_derivatives(getkey, beta):
    n = 4
    draws = slopes(jnp.asarray(beta), jnp.asarray(SCALE), jax.random.split(getkey(), 4000))
    ((_, fourth), (second_slope, fourth_slope)), (by_beta, by_scale) = jax.tree.map(np.asarray, draws)
    # E tr T² = s² (2/β + n - 1) tests the diagonal. E tr T⁴ also contains E χ⁴, so a χ without a derivative fails.
    assert_mean(second_slope, -2 * SCALE**2 / beta**2)
    assert_mean(fourth_slope, -(SCALE**4) * (24 / (beta**3 * n) + 10 * (n - 1) / (beta**2 * n)))
    # The levels are differentiated in reverse mode, the entries in forward mode.
    np.testing.assert_allclose(by_beta, fourth_slope, rtol=1e-9, atol=1e-11 * np.abs(by_beta).max())
    np.testing.assert_allclose(by_scale, 4 * fourth / SCALE, rtol=1e-11)


def test_laws():
    for ensemble in (rmt.GOE(5, 3.0), rmt.GaussianBeta(5, 0.3, 3.0), rmt.Wigner(5, 3.0), rmt.Wigner(5, 3.0, 2.0)):
        assert ensemble.law().radius == 6.0


KEY = jax.random.key(0)
GOE3, BETA3 = rmt.GOE(3), rmt.GaussianBeta(3, 2.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rmt.GOE(3 * 10**9), "`n` must be at most 2000000000.* got 3000000000"),
        (lambda: rmt.GOE(3, float("inf")), "`scale` must be positive and finite, got .*inf"),
        (lambda: rmt.GaussianBeta(3, 0.0), "`beta` must be positive, got 0"),
        (lambda: rmt.GaussianBeta(3, jnp.ones(2)), "`beta` must be a real scalar"),
        (lambda: jax.jit(lambda key: rmt.GOE(3, -1.0).sample(key))(KEY), "`scale` must .* got -1.0"),
        (lambda: BETA3.largest_eigenvalues(0, 1), "`key` must be a typed key .* got 0"),
        (lambda: BETA3.count_below(KEY, 0.0, chunk=0), "`chunk` must be an integer of at least 1, got 0"),
        (lambda: BETA3.count_below(KEY, 0.0, chunk=1.5), "`chunk` must be an integer of at least 1, got 1.5"),
        (lambda: BETA3.largest_eigenvalues(KEY, 0), "`k` must be an integer of at least 1, got 0"),
        (lambda: BETA3.largest_eigenvalues(KEY, 4), "`k` must be at most 3, got 4"),
        (lambda: BETA3.largest_eigenvalues(KEY, 4, corner=9), "`k` must be at most 3, got 4"),
        (lambda: BETA3.largest_eigenvalues(KEY, 2, corner=1), "`corner` must be an integer of at least 2, got 1"),
        (lambda: BETA3.largest_eigenvalues(KEY, 2, corner=2.5), "`corner` must .* got 2.5"),
        (lambda: GOE3.leading_block(KEY, 4), "`order` must lie between 1 and 3, got .*4"),
        (lambda: BETA3.leading_block(KEY, 0), "`order` must lie between 1 and 3, got .*0"),
        (lambda: BETA3.leading_block_eigenvalues(KEY, 1.5), "`order` must be an integer, got 1.5"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_points_without_nan_under_jit(getkey):
    assert jnp.all(counts(STREAMED, getkey(), np.full(40, np.nan), 10**9) == -1)
