"""Gradients of sums of kernel values and of their derivatives along directions: one rule for each class of kernels."""

from functools import singledispatch

import numpy as np

from mercer import kernels
from mercer._common import Array, shown
from mercer._compute.points import Points
from mercer._compute.tile import Tile
from mercer.kernels.algebra import Function, derivatives
from mercer.kernels.base import Kernel
from mercer.kernels.mapped import map_rows, pull_back
from mercer.manifold.jets import Planes, still
from mercer.manifold.rules import jet, require_norms


@singledispatch
def pullback(kernel: Kernel, X: Array, Z: Planes, W: Array, V: Array) -> Array:  # noqa: ARG001 (arguments of the registered rules)
    """Return the gradients (n, d) of sum_j W_ij k(x_i, z_j) + sum_ja V_ija d/dt k(x_i, z_j + t S_ja) in x_i.

    X are float64 rows (n, d), Z ``Planes`` (m) with a directions each, W (n, m), V (n, m, a).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.manifold.jets import Planes, still
    >>> from mercer.manifold.pullback import pullback
    >>> Z = Planes(np.array([[2.0, 0.0]]), np.array([[[1.0, 0.0]]]))
    >>> pullback(mc.Linear(), np.eye(2), Z, np.zeros((2, 1)), np.ones((2, 1, 1)))
    array([[1., 0.],
           [1., 0.]])
    """
    raise TypeError(
        f"{shown(kernel)} has no gradient of its derivatives along directions; use a kernel of inner products or "
        "Euclidean distances, or a sum, product, power, multiple, Exp, Normalized or linear Mapped of such kernels."
    )


def _along(kernel, X, Z):
    """Return the jet of k(x_i, z_j) along the directions of z_j."""
    return jet(kernel, still(X), Z, (0, 1))


def _pairs(found, V):
    """Return the values (n, m) and the derivatives (n, m, a) of a jet in the shapes of weights V."""
    return found.terms[0, 0].reshape(V.shape[:2]), found.term(0, 1).reshape(V.shape)


def _flat(directions):
    return directions.reshape(-1, directions.shape[2])


@pullback.register(kernels.Dot)
def _dot(kernel, X, Z, W, V):
    tile = Tile(Points(X), Points(Z.points))
    first, second = (tile.dot(kernel, order) for order in (1, 2))
    along = (X @ _flat(Z.directions).T).reshape(V.shape)
    own = W * first + second * np.einsum("nma,nma->nm", V, along)
    return own @ Z.points + (V * first[:, :, None]).reshape(len(X), -1) @ _flat(Z.directions)


@pullback.register(kernels.Radial)
def _radial(kernel, X, Z, W, V):
    tile = Tile(Points(X), Points(Z.points))
    first, second = (_finite(tile.radial(kernel, order)) for order in (1, 2))
    left, right = tile.centred
    S = _flat(Z.directions)
    along = (left @ S.T).reshape(V.shape) - np.einsum("mad,md->ma", Z.directions, right)
    own = 2 * W * first - 4 * second * np.einsum("nma,nma->nm", V, along)
    return (
        own.sum(axis=1)[:, None] * left
        - own @ right
        - 2 * (V * first[:, :, None]).reshape(len(X), -1) @ S
    )


def _finite(values):
    # an infinite derivative at x = z multiplies 0
    return np.where(np.isfinite(values), values, 0.0)


@pullback.register(kernels.Constant)
def _constant(kernel, X, Z, W, V):  # noqa: ARG001
    return np.zeros(X.shape)


@pullback.register(Function)
def _function(kernel, X, Z, W, V):
    one = _along(kernels.Constant(1.0), X, Z)
    total = 0.0
    for part, slope in derivatives(kernel, lambda part: _along(part, X, Z)):
        # slopes vary along the directions too
        values, slopes = _pairs(slope * one, V)
        weights = W * values + np.einsum("nma,nma->nm", V, slopes)
        total = total + pullback(part, X, Z, weights, V * values[:, :, None])
    return total


@pullback.register(kernels.Mapped)
def _mapped(kernel, X, Z, W, V):
    found = pullback(kernel.kernel, map_rows(kernel.A, X), Z.mapped(kernel.A), W, V)
    return pull_back(kernel.A, found, X.shape[1])


@pullback.register(kernels.Normalized)
def _normalized(kernel, X, Z, W, V):
    inner = kernel.kernel
    own = Points(X)
    other = Points(Z.points)
    squares = [inner.diagonal(points) for points in (own, other)]
    for each in squares:
        require_norms(kernel, each)
    left, right = (each**-0.5 for each in squares)
    slopes = Z.along(inner.diagonal_gradient(other, -0.5 * right**3))
    weights = left[:, None] * (W * right + np.einsum("nma,ma->nm", V, slopes))
    scaled = left[:, None, None] * V * right[:, None]
    values, along = _pairs(_along(inner, X, Z), V)
    total = np.einsum("nm,nm->n", weights, values) + np.einsum("nma,nma->n", scaled, along)
    return pullback(inner, X, Z, weights, scaled) - inner.diagonal_gradient(
        own, 0.5 * left**2 * total
    )
