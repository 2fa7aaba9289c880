"""Jets of kernels by the rules of calculus, and gradients of sums of them: one rule for each class of kernels."""

from collections.abc import Callable
from functools import partial, reduce, singledispatch

import numpy as np

from mercer import kernels
from mercer._common import Array, as_float64, shown
from mercer._compute.memory import blocks
from mercer._compute.objects import as_table
from mercer._compute.points import Points
from mercer._compute.profile import evaluate_profile
from mercer._compute.tile import Tile
from mercer.expansion import Expansion
from mercer.kernels.algebra import Function
from mercer.kernels.base import Kernel, inner_kernels
from mercer.kernels.mapped import map_rows, pull_back
from mercer.manifold.jets import (
    Jet,
    Planes,
    constant,
    inner_product,
    of_one_point,
    on_diagonal,
    squared_distance,
    still,
)


@singledispatch
def jet(kernel: Kernel, X: Array | Planes, Z: Array | Planes, order: tuple[int, int]) -> Jet:  # noqa: ARG001 (arguments of the registered rules)
    """Return the jet of a resolved kernel at the pairs of rows of X and Z; new kernel classes register a rule here.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.manifold.rules import jet
    >>> X = np.array([[1.0, 2.0]])
    >>> jet(mc.Gaussian(0.5) * mc.Linear(), X, X, (1, 1)).term(1, 1)
    array([[[6., 0.],
            [0., 6.]]])
    """
    raise _without_derivatives(kernel)


def require_rules(kernel: Kernel) -> None:
    """Raise a TypeError unless the kernel and all its parts have a rule."""
    if not isinstance(kernel, kernels.Kernel):
        raise TypeError(f"k must be a Kernel, got {shown(kernel)} of type {type(kernel).__name__}.")
    if jet.dispatch(type(kernel)) is jet.dispatch(object):
        raise _without_derivatives(kernel)
    for part in inner_kernels(kernel).values():
        require_rules(part)


def _without_derivatives(kernel):
    return TypeError(
        f"{shown(kernel)} has no derivatives for mercer.manifold; use a kernel of inner products or Euclidean "
        "distances (Linear, Polynomial, Gaussian, Cauchy, RationalQuadratic, Matern with nu = 1.5 or 2.5, a subclass "
        "of Dot or Radial), Periodic, or a sum, product, power, multiple, Exp, Normalized, Rescaled, OnColumns, "
        "EmpiricalMap or Mapped of such kernels."
    )


@jet.register(kernels.Dot)
def _dot(kernel, X, Z, order):
    s = inner_product(X, Z, order)
    return s.compose(lambda j: evaluate_profile(kernel, s.terms[0, 0], j))


@jet.register(kernels.Radial)
def _radial(kernel, X, Z, order):
    distance = squared_distance(X, Z, order)
    s = distance.terms[0, 0]

    def derivative(j):
        values = evaluate_profile(kernel, s, j)
        infinite = ~np.isfinite(values) & (s == 0)
        if j == 1 and infinite.any():
            raise TypeError(
                f"{shown(kernel)} is not differentiable at x = z, so its surface has no tangents; use a smoother "
                "kernel, such as Matern with nu = 1.5 or 2.5, or Gaussian."
            )
        # An infinite second derivative at s = 0 multiplies 0 or, in fourth derivatives, a tensor symmetric in all
        # indices, which cancels in the curvature.
        return np.where(infinite, 0.0, values) if j >= 2 else values

    return distance.compose(derivative)


@jet.register(kernels.Constant)
def _constant(kernel, X, Z, order):
    return constant(X, Z, order, float(kernel.value))


@jet.register(Function)
def _function(kernel, X, Z, order):
    return kernel._compose(lambda part: jet(part, X, Z, order))  # noqa: SLF001


@jet.register(kernels.Periodic)
def _periodic(kernel, X, Z, order):
    # exp(s / l^2), s the sum over columns of cos(w t) - 1, t = x_c - z_c, w = 2 pi / p_c
    _require_rows(kernel, X)
    n, N = X.shape
    period = np.broadcast_to(kernel.period, N)
    rates = 2 * np.pi / period
    phases = rates * np.remainder(X - Z, period)
    columns = np.arange(N)
    terms = {(0, 0): -2 * np.sum(np.sin(phases / 2) ** 2, axis=1)}
    for p, q in list(np.ndindex(order[0] + 1, order[1] + 1))[1:]:
        terms[p, q] = np.zeros((n, *(N,) * (p + q)))
        slopes = (-1.0) ** q * rates ** (p + q) * np.cos(phases + (p + q) * np.pi / 2)
        terms[p, q][(slice(None), *[columns] * (p + q))] = slopes
    s = Jet((n, N), order, terms, np.broadcast_to(rates**2, (n, N)))
    return s.scaled(kernel.length**-2).exp()


@jet.register(kernels.EmpiricalMap)
def _empirical_map(kernel, X, Z, order):
    _require_rows(kernel, X)
    F = as_float64(kernel.F)
    points = as_float64(kernel.points)
    left = _of_rows(kernel.kernel, X, points, F, order[0])
    right = (
        left if Z is X and order[0] >= order[1] else _of_rows(kernel.kernel, Z, points, F, order[1])
    )
    return _of_features(X.shape, order, left, right)


def _of_features(shape, order, left, right):
    """Return the jet of <f(x), f(z)> from features f (n, r) and their derivatives (n, r, N, ...) at x and at z."""
    n, N = shape
    left, right = (
        [np.reshape(each, (n, len(each[0]), -1)) for each in side] for side in (left, right)
    )
    terms = {
        (p, q): (left[p].swapaxes(1, 2) @ right[q]).reshape(n, *(N,) * (p + q))
        for p, q in np.ndindex(order[0] + 1, order[1] + 1)
    }
    sizes = np.einsum("naa->na", terms[1, 1]) if min(order) else None
    return Jet(shape, order, terms, sizes)


def _require_rows(kernel, X):
    if isinstance(X, Planes):
        raise TypeError(f"{shown(kernel)} has no derivatives along planes.")


@jet.register(kernels.OnColumns)
def _on_columns(kernel, X, Z, order):
    table = as_table(X.points if isinstance(X, Planes) else X)
    columns = np.array([table.position(column) for column in kernel.columns])
    return _mapped(kernels.Mapped(kernel.kernel, columns), X, Z, order)


def _require_first(kernel, order):
    """Raise unless a kernel with a Jacobian has derivatives of an order."""
    if kernel.jacobian is None:
        raise TypeError(
            f"{shown(kernel)} has no derivatives; set jacobian=, a function X -> (n, D, d)."
        )
    if max(order) > 1:
        raise TypeError(
            f"{shown(kernel)} has no second derivatives, which Christoffel symbols, curvature and geodesics need; use "
            "metric, volume_element or length."
        )


@jet.register(kernels.Mapped)
def _mapped(kernel, X, Z, order):
    A = kernel.A
    if callable(A):
        _require_rows(kernel, X)
        _require_first(kernel, order)
        images = [as_float64(A(points)) for points in (X, Z)]
        slopes = [as_float64(kernel.jacobian(points)) for points in (X, Z)]
        pulls = [partial(np.einsum, "nqa,n...q->n...a", J) for J in (*slopes, np.abs(slopes[0]))]
    elif isinstance(X, Planes):
        return jet(kernel.kernel, X.mapped(A), Z.mapped(A), order)
    else:
        images = [map_rows(A, points) for points in (X, Z)]
        size = np.abs(A) if A.dtype.kind == "f" else A
        pulls = [partial(pull_back, each, d=X.shape[1]) for each in (A, A, size)]
    inner = jet(kernel.kernel, *images, order)
    left, right, of_sizes = pulls
    # each derivative is pulled back along all its indices in x and in z
    terms = {
        (p, q): reduce(
            lambda value, pull: pull(np.moveaxis(value, 1, -1)), [left] * p + [right] * q, value
        )
        for (p, q), value in inner.terms.items()
    }
    sizes = None if inner.sizes is None else of_sizes(np.sqrt(inner.sizes)) ** 2
    return Jet(X.shape, order, terms, sizes)


@jet.register(kernels.Normalized)
def _normalized(kernel, X, Z, order):
    return _with_factors(kernel, X, Z, order, _inverse_norm)


def _inverse_norm(kernel, X, order):
    """Return the derivatives of k(x, x)^(-1/2)."""
    inner = kernel.kernel
    if order < 2:
        # gradients of the norms take less time than a jet
        points = Points(X)
        squares = inner.diagonal(points)
        require_norms(kernel, squares)
        return squares**-0.5, inner.diagonal_gradient(points, -0.5 * squares**-1.5)
    squares = on_diagonal(jet(inner, X, X, (2, 1)), 2)
    require_norms(kernel, squares[0])
    square = of_one_point(squares, X.shape, (2, 0), 0)
    root = square.compose(lambda j: np.prod(-0.5 - np.arange(j)) * squares[0] ** (-0.5 - j))
    return [root.term(p, 0) for p in range(3)]


def require_norms(kernel: Kernel, squares: Array) -> None:
    """Raise where k(x, x) of the inner kernel of a normalised one is not positive."""
    least = int(np.argmin(squares))
    if not squares[least] > 0:
        raise ValueError(
            f"{shown(kernel)} has no derivatives at X[{least}], where the norm in its denominator is 0: "
            f"k(x, x) = {squares[least]:.3g}; omit such points."
        )


@jet.register(kernels.Rescaled)
def _conformal(kernel, X, Z, order):
    return _with_factors(
        kernel, X, Z, order, lambda kernel, points, p: derivatives(kernel.c, points, p, kernel)
    )


def _with_factors(kernel, X, Z, order, factor):
    """Return the jet of c(x) k(x, z) c(z); ``factor(kernel, points, order)`` returns the derivatives of c."""
    inner = jet(kernel.kernel, X, Z, order)
    if isinstance(X, Planes):
        return inner * X.factors(Z, order, lambda points: factor(kernel, points, 1))
    left = factor(kernel, X, order[0])
    right = left if Z is X and order[0] >= order[1] else factor(kernel, Z, order[1])
    # functions of one point have no second derivative in x and z
    sizes = np.zeros(X.shape)
    factors = [of_one_point(c, X.shape, order, j, sizes) for j, c in enumerate((left, right))]
    return factors[0] * factors[1] * inner


@jet.register(kernels.FeatureMap)
def _feature_map(kernel, X, Z, order):
    if isinstance(X, Planes):
        raise TypeError(
            f"{shown(kernel)} has no derivatives along planes; use Mapped(Linear(), phi, jacobian)."
        )
    _require_first(kernel, order)
    left, right = (
        (kernel._features(Points(points)), kernel.jacobian(points))  # noqa: SLF001
        for points in (X, Z)
    )
    return _of_features(X.shape, order, left, right)


# --- functions of one point ------------------------------------------------------------------------------------------


@singledispatch
def derivatives(c: Callable[[Array], Array], X: Array, order: int, kernel: Kernel) -> list[Array]:
    """Return the factor c (n,) of a conformal kernel, its gradient (n, N) and Hessian (n, N, N), up to the order.

    Order 1 needs ``c.gradient(X)``, order 2 ``c.hessian(X)``; an Expansion has both.
    """
    n, N = X.shape
    found = [as_float64(kernel._factors(Points(X)))]  # noqa: SLF001
    for name, shape in [("gradient", (n, N)), ("hessian", (n, N, N))][:order]:
        if not hasattr(c, name):
            raise TypeError(
                f"{shown(kernel)} needs c.{name}(X) of shape {shape}: the metric uses the gradient of c, Christoffel "
                "symbols and curvature its Hessian; use an Expansion of one column, which has both."
            )
        found.append(as_float64(getattr(c, name)(X)).reshape(shape))
    return found


@derivatives.register(Expansion)
def _of_expansion(c, X, order, _kernel):
    if len(c) != 1:
        raise ValueError(f"c is an Expansion of {len(c)} vectors, but must be of one; use c[:, j].")
    Z = as_float64(c.points)
    coef = as_float64(c.dense_coef())
    m, N = Z.shape
    parts = [_of_rows(c.kernel, X[rows], Z, coef, order) for rows in blocks(len(X), m * N**order)]
    return [np.concatenate(terms)[:, 0] for terms in zip(*parts, strict=True)]


def _of_rows(kernel, X, Z, coef, order):
    n = len(X)
    m = len(Z)
    pairs = jet(kernel, np.repeat(X, m, axis=0), np.tile(Z, (n, 1)), (order, 0))
    terms = [pairs.term(p, 0) for p in range(order + 1)]
    return [
        np.einsum("nm...,mr->nr...", term.reshape(n, m, *term.shape[1:]), coef) for term in terms
    ]


# --- gradients of sums of kernel values and of their derivatives along directions -------------------------------------


@singledispatch
def pullback(kernel: Kernel, X: Array, Z: Planes, W: Array, V: Array) -> Array:  # noqa: ARG001 (arguments of the registered rules)
    """Return the gradients (n, d) of sum_j W_ij k(x_i, z_j) + sum_ja V_ija d/dt k(x_i, z_j + t S_ja) in x_i.

    X are float64 rows (n, d), Z ``Planes`` (m) with a directions each, W (n, m), V (n, m, a).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.manifold.jets import Planes, still
    >>> from mercer.manifold.rules import pullback
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
def _(kernel, X, Z, W, V):
    tile = Tile(Points(X), Points(Z.points))
    first, second = (tile.dot(kernel, order) for order in (1, 2))
    along = (X @ _flat(Z.directions).T).reshape(V.shape)
    own = W * first + second * np.einsum("nma,nma->nm", V, along)
    return own @ Z.points + (V * first[:, :, None]).reshape(len(X), -1) @ _flat(Z.directions)


@pullback.register(kernels.Radial)
def _(kernel, X, Z, W, V):
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
def _(kernel, X, Z, W, V):  # noqa: ARG001
    return np.zeros(X.shape)


@pullback.register(Function)
def _(kernel, X, Z, W, V):
    one = _along(kernels.Constant(1.0), X, Z)
    total = 0.0
    for part, slope in kernel._derivatives(lambda part: _along(part, X, Z)):  # noqa: SLF001
        # slopes vary along the directions too
        values, slopes = _pairs(slope * one, V)
        weights = W * values + np.einsum("nma,nma->nm", V, slopes)
        total = total + pullback(part, X, Z, weights, V * values[:, :, None])
    return total


@pullback.register(kernels.Mapped)
def _(kernel, X, Z, W, V):
    found = pullback(kernel.kernel, map_rows(kernel.A, X), Z.mapped(kernel.A), W, V)
    return pull_back(kernel.A, found, X.shape[1])


@pullback.register(kernels.Normalized)
def _(kernel, X, Z, W, V):
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
