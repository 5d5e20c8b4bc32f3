import jax.numpy as jnp
import numpy as np
import pytest

from rmtjax.doctor._self_check import Case, cases, judge, verdict_findings

PI = Case("π", lambda: jnp.asarray(np.pi), np.array(np.pi), 1e-6)


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
@pytest.mark.float32
def test_the_numbers_are_right(case):
    verdict = judge(case)
    assert verdict.wrong is None
    assert verdict_findings(verdict) == []
    assert verdict.first > 0
    assert verdict.second > 0
    assert "right" in str(verdict)


def failing():
    raise RuntimeError("no such symbol.")


@pytest.mark.parametrize(
    ("compute", "wrong"),
    [
        (lambda: jnp.asarray(3.25), "off by 0.11, allowed 1e-06"),
        (lambda: jnp.asarray(jnp.nan), "off by nan, allowed 1e-06"),
        (lambda: jnp.full(2, jnp.pi), "shape (2,) instead of ()"),
        (failing, "RuntimeError: no such symbol."),
    ],
    ids=["off", "nan", "shape", "error"],
)
def test_a_wrong_number_is_broken(compute, wrong):
    verdict = judge(Case("π", compute, PI.exact, PI.tolerance))
    assert verdict.wrong == wrong
    assert "WRONG" in str(verdict)
    (finding,) = verdict_findings(verdict)
    assert finding.broken
    assert finding.problem == f"wrong π: {wrong.rstrip('.')}"


def test_counts_that_miss_one_level_are_wrong():
    (count,) = [case for case in cases() if case.tolerance == 0]
    assert judge(Case(count.name, lambda: count.exact + np.array([0, 0, 1, 0]), count.exact, 0)).wrong
