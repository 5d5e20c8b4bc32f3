"""Covariance and correlation matrices without their largest modes."""

from functools import partial
from typing import Annotated

from jaxtyping import Array, Inexact

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._promotion import like
from rmtjax._typing import ArrayLike
from rmtjax._units import times
from rmtjax.inference._core.data import HERMITIAN, in_unit, masked_each
from rmtjax.inference._covariance.shrink import correlation
from rmtjax.linalg.internal import adjoint, decompose, hermitian_part


def detone(
    matrix: Annotated[ArrayLike, "*batch p p"], modes: int = 1, *, unit_diagonal: bool = False
) -> Inexact[Array, "*batch p p"]:
    r"""A covariance or correlation matrix without its largest modes: $C - \sum_{i > p - k} \lambda_i v_i v_i^*$.

    The largest mode of many variables is what they have in common; for asset returns it is the market. It hides groups
    among the variables, since all correlations are then large. Without it, groups of variables have positive
    correlations inside and negative ones between them.

    The result is singular: it has k levels 0. It serves to group variables and to look at them, and not to be inverted.
    The part that is taken away is `matrix - detone(matrix)`, so it can be put back.

    Args:
        matrix: Hermitian matrices, batched over leading axes; usually estimates of `shrink_covariance`.
        modes: number k of modes, from 0 to p; static.
        unit_diagonal: whether to divide rows and columns by the roots of the diagonal, so that the result is a
            correlation matrix; static. Variables of which nothing is left have correlations 0.

    Returns:
        Hermitian matrices of the shape of `matrix`. Derivatives are right where the modes are distinct from the rest.

    Raises:
        ValueError: `matrix` is not square, not finite or not Hermitian.
        ValueError: `modes` is not an integer from 0 to p.

    Example:
        >>> import jax.numpy as jnp
        >>> groups = jnp.kron(jnp.eye(2), jnp.ones((3, 3)))
        >>> print(detone(0.5 + 0.3 * groups + 0.2 * jnp.eye(6), unit_diagonal=True)[0].round(2))
        [ 1.    0.37  0.37 -0.58 -0.58 -0.58]

    References:
        López de Prado (2020), Machine Learning for Asset Managers, section 2.6.
    """
    array = _checks.square_matrix("matrix", matrix)
    modes = _checks.integer("modes", modes, at_least=0, at_most=array.shape[-1])
    return masked_each(HERMITIAN.kept("matrix", array), array.ndim - 2, _detoned(array, modes, bool(unit_diagonal)))


@partial(compiled, static_argnums=(1, 2))
def _detoned(matrix: Inexact[Array, "*batch p p"], modes: int, unit_diagonal: bool) -> Inexact[Array, "*batch p p"]:
    matrix, unit = in_unit(hermitian_part(matrix))
    levels, vectors = decompose(matrix)
    first = matrix.shape[-1] - modes
    largest = vectors[..., first:]
    rest = matrix - (largest * like(largest, levels[..., None, first:])) @ adjoint(largest)
    return correlation(rest, matrix) if unit_diagonal else times(rest, unit)
