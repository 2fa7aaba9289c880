# Every formula takes a kernel and two vectors, although some do not need all of them.
# ruff: noqa: ARG001
"""Kernels as loops over pairs of points in extended precision: the oracle for the library.

Formulas come from the papers, not from the library; only parameters are read from the kernels.
"""

from functools import singledispatch
from itertools import combinations

import numpy as np

import mercer as mc

Real = np.longdouble


def gram(kernel, X, Z):
    """Return k(x, z) for every pair of rows, in long doubles."""
    X, Z = np.asarray(X).astype(Real), np.asarray(Z).astype(Real)
    return np.array([[value(kernel, x, z) for z in Z] for x in X], Real)


def radius(X):
    """Return the largest distance of a row from the mean of all."""
    X = np.asarray(X).astype(Real)
    return float(np.sqrt(((X - X.mean(axis=0)) ** 2).sum(axis=1).max()))


@singledispatch
def value(kernel, x, z):
    """Return k(x, z) of two vectors of long doubles."""
    raise TypeError(f"write the formula of {type(kernel).__name__} here")


def _sqdist(x, z):
    return ((x - z) ** 2).sum()


@value.register
def gaussian(kernel: mc.Gaussian, x, z):
    return np.exp(-Real(kernel.gamma) * _sqdist(x, z))


@value.register
def laplacian(kernel: mc.Laplacian, x, z):
    return np.exp(-Real(kernel.gamma) * abs(x - z).sum())


@value.register
def matern(kernel: mc.Matern, x, z):
    r = np.sqrt(_sqdist(x, z)) / Real(kernel.length)
    if kernel.nu == 0.5:
        return np.exp(-r)
    if kernel.nu == 1.5:
        return (1 + np.sqrt(Real(3)) * r) * np.exp(-np.sqrt(Real(3)) * r)
    return (1 + np.sqrt(Real(5)) * r + 5 * r**2 / 3) * np.exp(-np.sqrt(Real(5)) * r)


@value.register
def rational_quadratic(kernel: mc.RationalQuadratic, x, z):
    alpha, length = Real(kernel.alpha), Real(kernel.length)
    return (1 + _sqdist(x, z) / (2 * alpha * length**2)) ** -alpha


@value.register
def cauchy(kernel: mc.Cauchy, x, z):
    return 1 / (1 + Real(kernel.gamma) * _sqdist(x, z))


@value.register
def power_distance(kernel: mc.kernels.PowerDistance, x, z):
    return -(np.sqrt(_sqdist(x, z)) ** Real(kernel.beta))


@value.register
def multiquadric(kernel: mc.kernels.Multiquadric, x, z):
    return -np.sqrt(Real(kernel.c) ** 2 + _sqdist(x, z))


@value.register
def thin_plate(kernel: mc.kernels.ThinPlate, x, z):
    r = np.sqrt(_sqdist(x, z))
    return r**2 * np.log(r) if r > 0 else Real(0)


@value.register
def linear(kernel: mc.Linear, x, z):
    return (x * z).sum()


@value.register
def polynomial(kernel: mc.Polynomial, x, z):
    return (Real(kernel.gamma) * (x * z).sum() + Real(kernel.coef0)) ** int(kernel.degree)


@value.register
def sigmoid(kernel: mc.Sigmoid, x, z):
    return np.tanh(Real(kernel.gamma) * (x * z).sum() + Real(kernel.coef0))


@value.register
def chi2(kernel: mc.Chi2, x, z):
    terms = [(a - b) ** 2 / (a + b) for a, b in zip(x, z, strict=True) if a + b > 0]
    return np.exp(-Real(kernel.gamma) * sum(terms, Real(0)))


@value.register
def additive_chi2(kernel: mc.AdditiveChi2, x, z):
    return -sum(((a - b) ** 2 / (a + b) for a, b in zip(x, z, strict=True) if a + b > 0), Real(0))


@value.register
def intersection(kernel: mc.Intersection, x, z):
    return sum((min(a, b) for a, b in zip(x, z, strict=True)), Real(0))


@value.register
def bhattacharyya(kernel: mc.kernels.Bhattacharyya, x, z):
    return sum((np.sqrt(a * b) for a, b in zip(x, z, strict=True)), Real(0))


@value.register
def bspline(kernel: mc.kernels.BSpline, x, z):
    # the recursion of Cox and de Boor
    def basis(m, t):
        if m == 0:
            return Real(0 <= t < 1)
        return (t * basis(m - 1, t) + (m + 1 - t) * basis(m - 1, t - 1)) / m

    m = 2 * int(kernel.order) + 1
    return np.prod([basis(m, abs(a - b) + Real(m + 1) / 2) for a, b in zip(x, z, strict=True)])


@value.register
def constant(kernel: mc.Constant, x, z):
    return Real(kernel.value)


@value.register
def sum_of_two(kernel: mc.Sum, x, z):
    return value(kernel.left, x, z) + value(kernel.right, x, z)


@value.register
def product_of_two(kernel: mc.Product, x, z):
    return value(kernel.left, x, z) * value(kernel.right, x, z)


@value.register
def scaled(kernel: mc.Scaled, x, z):
    return Real(kernel.factor) * value(kernel.kernel, x, z)


@value.register
def power(kernel: mc.Power, x, z):
    return value(kernel.kernel, x, z) ** int(kernel.degree)


@value.register
def exponential(kernel: mc.Exp, x, z):
    return np.exp(value(kernel.kernel, x, z))


@value.register
def normalized(kernel: mc.Normalized, x, z):
    size = np.sqrt(value(kernel.kernel, x, x)) * np.sqrt(value(kernel.kernel, z, z))
    return value(kernel.kernel, x, z) / size if size > 0 else Real(0)


@value.register
def conformal(kernel: mc.Rescaled, x, z):
    return _factor(kernel.c, x) * value(kernel.kernel, x, z) * _factor(kernel.c, z)


def _factor(c, x):
    if not isinstance(c, mc.Expansion):
        return c(x[None, :])[0]
    points, coef = np.asarray(c.points).astype(Real), np.asarray(c.coef).astype(Real)
    return sum(a * value(c.kernel, x, point) for a, point in zip(coef[:, 0], points, strict=True))


@value.register
def mapped(kernel: mc.Mapped, x, z):
    A = kernel.A
    if A.dtype.kind != "f":
        return value(kernel.kernel, x[A], z[A])
    A = np.diag(A) if A.ndim == 1 else A
    return value(kernel.kernel, (A.astype(Real) * x).sum(axis=1), (A.astype(Real) * z).sum(axis=1))


@value.register
def anova(kernel: mc.Anova, x, z):
    subsets = combinations(range(len(x)), kernel.degree)
    return sum(
        np.prod([value(kernel.kernel, x[[c]], z[[c]]) for c in subset]) for subset in subsets
    )


@value.register
def feature_map(kernel: mc.FeatureMap, x, z):
    return (kernel.phi(x[None, :]) * kernel.phi(z[None, :])).sum()


@value.register
def function(kernel: mc.FunctionKernel, x, z):
    return kernel.function(x[None, :], z[None, :])[0, 0]
