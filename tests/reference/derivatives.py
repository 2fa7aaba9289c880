"""Derivatives to nearly full precision without formulas: Cauchy integrals and central differences of high order."""

from itertools import product

import numpy as np
from tests.reference.inside import points_of

# Central difference of order 8: coefficients of f(x + j h) - f(x - j h).
_CENTRAL = (4 / 5, -1 / 5, 4 / 105, -1 / 280)


def directional(k, x, z, in_x, in_z, radius=0.1, nodes=12):
    """Return the mixed derivative of an analytic k(x, z) along directions in x and directions in z, at one pair.

    A derivative is an integral over a circle, and the trapezoidal rule on circles converges geometrically.

    Parameters
    ----------
    k : callable
        Complex arrays (m, N) and (m, N) to (m,).
    x, z : array (N,)
    in_x, in_z : array (p, N), (q, N)
        Of length about 1.
    radius : float
        (p + q) radius stays well inside the region where k is analytic.
    nodes : int

    Returns
    -------
    float
    """
    p, q = len(in_x), len(in_z)
    circle = radius * np.exp(2j * np.pi * np.arange(nodes) / nodes)
    t = np.array(list(product(circle, repeat=p + q))).reshape(-1, p + q)
    X = x + t[:, :p] @ np.reshape(in_x, (p, len(x)))
    Z = z + t[:, p:] @ np.reshape(in_z, (q, len(z)))
    # the coefficient of t_1 ... t_(p + q) in the power series
    return float(np.real(np.mean(k(X, Z) / np.prod(t, axis=1))))


def directions(rng, count, N):
    """Return random directions of length 1, (count, N)."""
    found = rng.normal(size=(count, N))
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def central(field, X, h=0.02):
    """Return the partial derivatives of a tensor field at all points, the new index first after that of the points.

    Parameters
    ----------
    field : callable
        (n, N) to (n, ...).
    X : array (n, N)
    h : float

    Returns
    -------
    array (n, N, ...)
    """
    steps = h * np.eye(X.shape[1])
    parts = [
        sum(
            c * (field(X + (j + 1) * step) - field(X - (j + 1) * step))
            for j, c in enumerate(_CENTRAL)
        )
        / h
        for step in steps
    ]
    return np.stack(parts, axis=1)


def assert_gradients(kernel, X, Z, seed):
    """Compare both gradients of a kernel with differences of its values, for random weights."""
    rng = np.random.default_rng(seed)
    W, w = rng.standard_normal((len(X), len(Z))), rng.standard_normal(len(X))
    pairs = central(lambda X: (W * kernel(X, Z)).sum(axis=1), X)
    np.testing.assert_allclose(kernel.vjp(X, Z, W), pairs, rtol=1e-6, atol=1e-6 * abs(pairs).max())
    own = central(lambda X: w * kernel.diag(X), X)
    # values that are constant have differences of rounding size
    diagonal = kernel.diagonal_gradient(points_of(X), w)
    np.testing.assert_allclose(diagonal, own, rtol=1e-6, atol=1e-6 * max(1, abs(own).max()))
