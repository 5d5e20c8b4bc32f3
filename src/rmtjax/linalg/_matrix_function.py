r"""Functions of a Hermitian matrix and their Daleckii-Krein derivative.

For $f(A) = V f(\Lambda) V^*$ the derivative in the direction $\dot A$ is (Daleckii and Krein 1965; Higham 2008,
theorem 3.11)

$$\dot{f(A)} = V\,\big(f[\lambda_i, \lambda_j] \circ V^* \dot A V\big)\,V^*, \qquad
f[x, y] = \frac{f(x) - f(y)}{x - y} = \int_0^1 f'(y + t(x - y))\,dt .$$

The quotient loses digits as $x \to y$: its rounding error is about eps/|x - y| times
$\max_k |f(\lambda_k)| + |x f'(x)|$, the size of the values of $f$ and the effect of the rounding of its argument. The
integral by the Gauss-Legendre rule is exact for close arguments, but wrong for distant ones or across a jump of $f$.
The integral is used where it agrees with the quotient to within the rounding error of the quotient. It is also used for
levels closer than 4 eps‖A‖, which cannot be told apart (as in `eigh`).
"""

from collections.abc import Callable
from typing import Annotated

import jax
import jax.numpy as jnp
from jaxtyping import Array, Inexact, Real

from rmtjax import _checks
from rmtjax._promotion import aligned, like
from rmtjax._staging import opened
from rmtjax._typing import ArrayLike
from rmtjax._varying import varying_like
from rmtjax.linalg._decompose import adjoint, decompose, hermitian_part, parted
from rmtjax.special.internal import gauss_legendre

# With five nodes the error of the integral is f⁽¹¹⁾(x-y)¹⁰/3e12. It takes over from the quotient near |x - y| = 1 in
# float32 and 0.3 in float64, where for a smooth f the quotient is still right to a few ulp.
_NUM_NODES = 5


def divided_differences(f: Callable[[Array], Array], x: Real[Array, "*batch n"]) -> Inexact[Array, "*batch n n"]:
    """The matrix f[x_i, x_j], right at coincident and close arguments too."""
    eps = jnp.finfo(x.dtype).eps
    slope = lambda y: jax.jvp(f, (y,), (jnp.ones_like(y),))[1]
    fx = f(x)
    a, b = x[..., :, None], x[..., None, :]
    gap = a - b
    norm = jnp.max(jnp.abs(x), axis=-1)[..., None, None]
    one_level = jnp.abs(gap) <= 4 * eps * norm
    safe_gap = jnp.where(one_level, 1, gap)
    quotient = jnp.where(one_level, 0, (fx[..., :, None] - fx[..., None, :]) / like(fx, safe_gap))

    integral = jnp.zeros_like(quotient)
    for node, weight in zip(*gauss_legendre(_NUM_NODES), strict=True):
        integral += float(weight) / 2 * slope(b + float(1 + node) / 2 * gap)

    argument = jnp.abs(jnp.multiply(*aligned(x, slope(x))))
    size = jnp.max(jnp.abs(fx), axis=-1)[..., None, None] + jnp.maximum(argument[..., :, None], argument[..., None, :])
    # At a singularity of f a slope is NaN or infinite; the finite quotient is kept there.
    agrees = jnp.abs(integral - quotient) <= 4 * eps * size / jnp.abs(safe_gap)
    return jnp.where(one_level | (jax.lax.stop_gradient(agrees) & jnp.isfinite(size)), integral, quotient)


def matrix_function(f: Callable[[Array], Array], a: Annotated[ArrayLike, "*batch n n"]) -> Inexact[Array, "*batch n n"]:
    r"""The function of a Hermitian matrix, $f(A) = V f(\Lambda) V^*$.

    The derivative follows Daleckii and Krein and is right at coincident and close eigenvalues. If `f` closes over
    parameters, it is differentiated in them too. Second derivatives in the matrix are right for distinct eigenvalues,
    and NaN for coincident ones.

    Args:
        f: a JAX function of one real number, e.g. `jnp.exp`, `jnp.log`, `jnp.sqrt`, `jnp.sign`, or
            `lambda x: jnp.exp(-1j * t * x)`; it must be finite on the spectrum.
        a: finite matrices, batched over leading axes; read as their Hermitian part.

    Returns:
        f(A), of the shape of `a`; Hermitian for a real-valued `f`.

    Raises:
        ValueError: `a` is not square or not finite, or `f` calls numpy.

    Example:
        >>> import jax.numpy as jnp
        >>> print(matrix_function(jnp.sqrt, jnp.diag(jnp.array([4.0, 9.0]))))
        [[2. 0.]
         [0. 3.]]

    References:
        Daleckii and Krein (1965), Amer. Math. Soc. Transl. 47, 1; Higham (2008), Functions of Matrices, theorem 3.11.
    """
    a = hermitian_part(_checks.square_matrix("a", a))
    # Parameters that f closes over become explicit, so that the rule below can pass on their derivatives.
    scalar_f, parameters, _ = opened("f", f, varying_like(jnp.zeros((), jnp.finfo(a.dtype).dtype), a))

    def elementwise(x: Array, *parameters: Array) -> Array:
        return jax.vmap(lambda y: scalar_f(y, *parameters))(x.ravel()).reshape(x.shape)

    @jax.custom_jvp
    def apply(a: Array, *parameters: Array) -> Array:
        eigenvalues, v = decompose(a)
        values, v = aligned(elementwise(eigenvalues, *parameters)[..., None, :], v)
        return (v * values) @ adjoint(v)

    @apply.defjvp
    def apply_jvp(primals: tuple, tangents: tuple) -> tuple:
        (a, *parameters), (tangent, *parameter_tangents) = primals, tangents
        eigenvalues, v = decompose(a)
        v = parted(a, eigenvalues, v)
        values, values_dot = jax.jvp(
            lambda *p: elementwise(eigenvalues, *p), tuple(parameters), tuple(parameter_tangents)
        )
        differences = divided_differences(lambda x: elementwise(x, *parameters), eigenvalues)
        along_a = jnp.multiply(*aligned(differences, adjoint(v) @ tangent @ v))
        along_parameters = jnp.multiply(*aligned(values_dot[..., None], jnp.eye(v.shape[-1], dtype=values_dot.dtype)))
        values, v = aligned(values[..., None, :], v)
        change = jnp.add(*aligned(along_a, along_parameters))
        return (v * values) @ adjoint(v), v @ like(v, change) @ adjoint(v)

    return apply(a, *parameters)
