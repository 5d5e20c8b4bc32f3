import functools
import os
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rmtjax.benchmark import _cases
from rmtjax.benchmark.__main__ import CASES
from rmtjax.benchmark._cases import Problem, WrongAnswer, expect_close
from tests.cases import daily
from tests.processes import printed

FLOAT32 = np.dtype(np.float32)
NAMES = list(CASES)
SIZES = {"cat": 150, "wigner": 60, "while": 200}


@functools.cache
def problems(name):
    return list(CASES[name].problems(SIZES.get(name, 24), FLOAT32))


def only(name) -> Problem:
    (problem,) = problems(name)
    return problem


def answer(problem):
    fn = jax.jit(problem.fn) if problem.jit else problem.fn
    return fn(*problem.args)


@functools.cache
def answers(name):
    return [answer(problem) for problem in problems(name)]


def refused(problem, wrong):
    with pytest.raises(WrongAnswer):
        problem.check(wrong)


@pytest.mark.parametrize("name", NAMES)
def test_right_answers_pass_in_float32(name):
    for problem, right in zip(problems(name), answers(name), strict=True):
        problem.check(right)


@pytest.mark.parametrize("name", daily(NAMES, but=["cat", "spectral_radius", "wigner"]))
def test_right_answers_pass_in_float64_with_its_own_tolerance(name):
    with jax.enable_x64(True):
        for problem in CASES[name].problems(SIZES.get(name, 24), np.dtype(np.float64)):
            problem.check(answer(problem))


@pytest.mark.parametrize("name", NAMES)
def test_nan_is_a_wrong_answer(name):
    spoil = lambda leaf: leaf * np.nan if jnp.issubdtype(jnp.result_type(leaf), jnp.floating) else leaf * 0
    for problem, right in zip(problems(name), answers(name), strict=True):
        refused(problem, jax.tree.map(spoil, right))


def test_products_with_a_transposed_factor_or_one_wrong_entry_are_refused():
    problem = only("matmul")
    a, b = problem.args
    refused(problem, jnp.sum(a @ b.T))
    refused(only("sharded_matmul"), answers("sharded_matmul")[0].at[3, 4].add(0.1))


def test_recurrence_with_one_step_too_few_or_no_feedback_is_refused(monkeypatch):
    def after(steps):
        monkeypatch.setattr(_cases, "_STEPS", {jax.default_backend(): steps})
        (problem,) = _cases.recurrence(24, FLOAT32)
        return problem, answer(problem)

    (five, right), (_, four) = after(5), after(4)
    work = five.check(right)
    assert (work.flops, work.bytes_accessed) == (2 * 24**2 * 5, 4 * 24**2 * 5)
    refused(five, four)
    w, b, x = five.args
    for _ in range(5):
        x = jnp.tanh(w @ x + b)
    refused(five, x)


def test_power_iteration_that_never_ran_or_never_stopped_or_missed_the_outlier_is_refused():
    problem = only("while")
    ((value, v, count),) = answers("while")
    (a,) = problem.args
    refused(problem, (value, v, jnp.asarray(1)))
    refused(problem, (value, v, jnp.asarray(1000)))
    refused(problem, (value, jnp.roll(v, 1), count))
    refused(problem, (value * 1.01, v, count))
    levels, vectors = jnp.linalg.eigh(a)
    problem.check((levels[-1], vectors[:, -1], count))
    refused(problem, (levels[-2], vectors[:, -2], count))


def test_wigner_spectra_of_another_matrix_or_law_are_refused():
    problem = only("wigner")
    (levels,) = answers("wigner")
    refused(problem, levels[::-1])
    refused(problem, levels * 1.01)
    refused(problem, levels + 0.01)
    # These have the right traces, but half of the levels sit at each of two places.
    n, mean = levels.size, levels.mean()
    spread = jnp.sqrt((levels**2).mean() - mean**2)
    refused(problem, jnp.repeat(mean + spread * jnp.array([-1.0, 1.0], levels.dtype), n // 2))


def test_cats_with_levels_lost_or_padded_otherwise_are_refused():
    problem = only("cat")
    (right,) = answers("cat")
    problem.check(right)
    refused(problem, replace(right, counts=right.counts - (right.counts > 0)))
    # The mirror image is the density of a padding that repeats the largest levels.
    refused(problem, replace(right, counts=right.counts[::-1]))
    # The symmetrised histogram has as many copies, but of both ends.
    both = right.counts + right.counts[::-1]
    refused(problem, replace(right, counts=both / 2))


def test_derivatives_without_a_factor_or_of_another_entry_are_refused():
    for problem, right in zip(problems("derivatives"), answers("derivatives"), strict=True):
        refused(problem, right / 2)
        refused(problem, right.at[(0, 1) * (right.ndim // 2)].add(0.1))


def test_spectral_radii_that_are_norms_or_real_parts_are_refused():
    problem = problems("spectral_radius")[0]
    (matrices,) = problem.args
    refused(problem, jnp.linalg.norm(matrices, ord=2, axis=(1, 2)))
    refused(problem, jnp.real(jnp.linalg.eigvals(matrices)).max(axis=1))


def test_the_four_ways_to_spectral_radii_agree():
    ways = problems("spectral_radius")
    assert [(way.variant, way.jit) for way in ways] == [
        ("loop", False), ("jitted loop", True), ("vmap", False), ("jitted vmap", True)
    ]  # fmt: skip
    first, *others = answers("spectral_radius")
    for other in others:
        np.testing.assert_allclose(other, first, rtol=1e-5)


def test_closeness_refuses_nan_and_other_shapes():
    expect_close("x", [1.0, 2.0], [1.0, 2.5], 0.5)
    for wrong in ([1.0, np.nan], [1.0], [1.0, 1.9]):
        with pytest.raises(WrongAnswer):
            expect_close("x", wrong, [1.0, 2.5], 0.5)


SHARDED = """
import jax, numpy as np
from rmtjax.benchmark import _cases, measure
(problem,) = _cases.sharded_matmul(21, np.dtype(np.float32))
m, c = measure(problem.fn, *problem.args, repeats=1), problem.fn(*problem.args)
a, b = problem.args
work, error = problem.check(c), np.abs(np.asarray(c) - np.asarray(a) @ np.asarray(b)).max()
print(*a.sharding.mesh.axis_sizes, problem.size, m.num_devices)
print(round(m.xla_flops * m.num_devices / work.flops, 1), error < 1e-4)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("devices", "grid", "size"), [(2, "2 1", 22), (6, "3 2", 24), (8, "4 2", 24)])
def test_sharded_matmul_over_several_devices(devices, grid, size):
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={devices}"
    output = printed("-c", SHARDED, XLA_FLAGS=flags, JAX_PLATFORMS="cpu")
    assert output.splitlines() == [f"{grid} {size} {devices}", "1.0 True"]
