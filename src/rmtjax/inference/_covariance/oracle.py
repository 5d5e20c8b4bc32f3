"""Measures for estimates where the true covariance is known: the best levels, and a loss."""

from functools import partial
from typing import Annotated, Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._promotion import common_dtype
from rmtjax._typing import ArrayLike
from rmtjax._units import times
from rmtjax.inference._core.data import in_unit, masked_each, observations, without_mean
from rmtjax.inference._core.sample_spectrum import sample_spectrum


def oracle_covariance(
    data: Annotated[ArrayLike, "*batch n p"], population: Annotated[ArrayLike, "p p"], *, center: bool = True
) -> Inexact[Array, "*batch p p"]:
    r"""The matrix with the vectors of the sample that is nearest to the true covariance matrix.

    It is $\sum_i d_i v_i v_i^*$ with $d_i = v_i^* \Sigma v_i$, and the mean of Σ in the directions without data. No
    estimate that keeps the vectors of the sample has a smaller Frobenius distance to Σ. So studies in which Σ is known
    measure `shrink_covariance` by it.

    Args:
        data: n observations of p variables, batched over leading axes.
        population: the true covariance matrix Σ, Hermitian.
        center: whether the mean is unknown and is taken away; static.

    Returns:
        Hermitian matrices of shape `(*batch, p, p)`.

    Raises:
        ValueError: `data` have fewer than 2 rows, have entries that are not finite, or are a covariance matrix.
        ValueError: `population` is not finite or has another order.

    Example:
        >>> import numpy as np
        >>> data = np.random.default_rng(0).normal(size=(40, 30))
        >>> print(bool(np.allclose(oracle_covariance(data, np.eye(30)), np.eye(30), atol=1e-5)))
        True

    References:
        Ledoit and Péché (2011), Probab. Theory Relat. Fields 151, 233, section 1.
    """
    array, valid = observations(data)
    truth = _of_order("population", population, array.shape[-1])
    return masked_each(valid, array.ndim - 2, _oracle(array, truth, bool(center)))


def minimum_variance_loss(
    estimate: Annotated[ArrayLike, "*batch p p"], population: Annotated[ArrayLike, "p p"]
) -> Float[Array, "*batch"]:
    r"""Excess variance of the minimum-variance portfolio of an estimate over the portfolio of the true covariance.

    $$L = p\,\frac{\operatorname{tr}(\hat\Sigma^{-1} \Sigma \hat\Sigma^{-1})}{(\operatorname{tr} \hat\Sigma^{-1})^2}
    - \frac{p}{\operatorname{tr} \Sigma^{-1}},$$

    which is p times the mean over a random direction of the constraint. It does not depend on the scale of the
    estimate, and is 0 for estimates proportional to Σ.

    Args:
        estimate: positive definite matrices, batched over leading axes.
        population: the true covariance matrix Σ, positive definite.

    Returns:
        A number that is not negative, for each matrix.

    Raises:
        ValueError: the matrices are not square, of one order and finite.

    Example:
        >>> import numpy as np
        >>> print(f"{minimum_variance_loss(np.eye(2), np.diag([1.0, 3.0])):.2f}")  # 2 - 1.5
        0.50

    References:
        Ledoit and Wolf (2017), Rev. Financ. Stud. 30, 4349, section 3; Engle, Ledoit and Wolf (2019), J. Bus. Econ.
        Stat. 37, 363, definition 2.
    """
    matrices = _checks.square_matrix("estimate", estimate)
    truth = _of_order("population", population, matrices.shape[-1])
    dtype = common_dtype(matrices, truth)
    return _loss(matrices.astype(dtype), truth.astype(dtype))


def _of_order(name: str, matrix: Any, p: int) -> Inexact[Array, "p p"]:
    array = _checks.square_matrix(name, matrix)
    if array.shape != (p, p):
        raise _checks.refusal(name, f"have the shape ({p}, {p})", array.shape)
    return array


@compiled
def _loss(estimate: Inexact[Array, "*batch p p"], population: Inexact[Array, "p p"]) -> Float[Array, "*batch"]:
    p = population.shape[-1]
    (estimate, _), (population, unit) = in_unit(estimate), in_unit(population)
    inverse = jnp.linalg.inv(estimate)
    mean = lambda matrix: jnp.real(jnp.trace(matrix, axis1=-2, axis2=-1)) / p
    loss = mean(inverse @ population @ inverse) / mean(inverse) ** 2 - 1 / mean(jnp.linalg.inv(population))
    return loss * unit[0, 0]


@partial(compiled, static_argnums=2)
def _oracle(data: Inexact[Array, "*batch n p"], population: Inexact[Array, "p p"], center: bool) -> Array:
    dtype = common_dtype(data, population)
    (data, _), (population, unit) = in_unit(data.astype(dtype)), in_unit(population.astype(dtype))
    spectrum = sample_spectrum(without_mean(data) if center else data)
    vectors = spectrum.vectors
    levels = jnp.real(jnp.sum(jnp.conj(vectors) * (population @ vectors), axis=-2))
    p, k = vectors.shape[-2:]
    rest = jnp.real(jnp.trace(population)) - jnp.sum(levels, -1)
    return times(spectrum.matrix(levels, rest / max(p - k, 1)), unit[0, 0])
