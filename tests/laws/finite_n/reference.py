"""An independent implementation of level densities in mpmath, by de Bruijn's formulas.

With the joint density ∏|x_i - x_j|^β ∏ v(x_i), the density of all levels is a sum over the inverse of a matrix of
moments of the monomials, without orthogonal polynomials or recurrences. For the weights
x^p e^{-x²/2} (p = 0), x^p e^{-x/2} on x > 0 and x^p (1 - x)^q on (0, 1) all moments are elementary.
"""

import mpmath


class Weight:
    """A weight v, given by the integrals of x^k v up to x."""

    def __init__(self, below, density, ends):
        self.below, self.density, self.ends = below, density, ends

    def moment(self, k):
        return self.below(k, self.ends[-1])


def gaussian(rate):
    """exp(-rate x²)."""

    def below(k, x):
        half = mpmath.mpf(k + 1) / 2
        part = lambda y: mpmath.gammainc(half, 0, rate * y**2) / (2 * rate**half)
        return (-1) ** k * part(mpmath.inf) + (part(x) if x > 0 else (-1) ** (k + 1) * part(-x))

    return Weight(below, lambda x: mpmath.exp(-rate * x**2), [-mpmath.inf, 0, mpmath.inf])


def gamma(power, rate):
    """x^power exp(-rate x)."""
    below = lambda k, x: mpmath.gammainc(power + k + 1, 0, rate * x) / mpmath.mpf(rate) ** (power + k + 1)
    return Weight(below, lambda x: x**power * mpmath.exp(-rate * x), [0, 1, 10, mpmath.inf])


def beta(p, q):
    """x^p (1 - x)^q."""
    below = lambda k, x: mpmath.betainc(p + k + 1, q + 1, 0, x)
    return Weight(below, lambda x: x**p * (1 - x) ** q, [0, mpmath.mpf(1) / 2, 1])


def _unitary(weight, n):
    m = [weight.moment(k) for k in range(2 * n)]
    inverse = mpmath.matrix([[m[j + k] for k in range(n)] for j in range(n)]) ** -1
    return lambda x: sum(inverse[j, k] * x ** (j + k) for j in range(n) for k in range(n))


def _symplectic(weight, n):
    """The density from 2n monomials with the skew product ∫ (f g' - f' g) v."""
    order = range(2 * n)
    m = [weight.moment(k) for k in range(4 * n)]
    inverse = mpmath.matrix([[(k - j) * m[j + k - 1] if j != k else 0 for k in order] for j in order]) ** -1
    return lambda x: sum(inverse[k, j] * k * x ** (j + k - 1) for j in order for k in order if k)


def _orthogonal(weight, n):
    """The density with the skew product ∬ f(x) g(y) sgn(x - y) v v, bordered by ∫ f v if n is odd."""
    sign = lambda k, x: 2 * weight.below(k, x) - weight.moment(k)
    product = lambda j, k: mpmath.quad(lambda x: x**j * weight.density(x) * sign(k, x), weight.ends)
    skew = mpmath.zeros(n + n % 2)
    for j in range(n):
        for k in range(j):
            skew[j, k] = product(j, k)
            skew[k, j] = -skew[j, k]
        if n % 2:
            skew[j, n], skew[n, j] = weight.moment(j), -weight.moment(j)
    inverse = skew**-1

    def total(x):
        inner = sum(inverse[k, j] * x**j * sign(k, x) for j in range(n) for k in range(n))
        return inner + (sum(inverse[n, j] * x**j for j in range(n)) if n % 2 else 0)

    return total


def density(dyson_index, weight, n):
    """The density of one level as a function."""
    polynomial = {1: _orthogonal, 2: _unitary, 4: _symplectic}[dyson_index](weight, n)
    return lambda x: polynomial(mpmath.mpf(x)) * weight.density(mpmath.mpf(x)) / n
