"""Kernels without a share of some directions of their feature space, such as those of tangents."""

from typing import Any

import numpy as np

from mercer._common import (
    Array,
    ArrayLike,
    Memory,
    PointsLike,
    as_float64,
    check_instance,
    check_weights,
    shown,
)
from mercer._compute.memory import require_memory
from mercer._compute.points import Points, as_dense_rows, as_vector, owned
from mercer._compute.tile import Tile
from mercer.definiteness.proofs import closed, register
from mercer.expansion import Expansion
from mercer.invariance._tangent_features import TangentFeatures, in_float64, tangent_features
from mercer.invariance._tangents import Transforms, tangents
from mercer.invariance.invariant_map import check_weight
from mercer.kernels.algebra import Composite
from mercer.kernels.base import (
    Kernel,
    kernel_class,
    refuse_infinite,
    require_kernel,
    storable_kernel,
)
from mercer.kernels.feature_map import Featured
from mercer.linalg.operators import CLEAR

# Largest difference of the inner products of directions from the identity.
_ORTHONORMAL = 1e-5


@storable_kernel
class Projected(Composite):
    r"""Kernel of feature vectors from which shares of orthonormal directions are removed.

    .. math:: k'(x, z) = k(x, z) - \sum_j w_j\, u_j(x)\, u_j(z), \qquad u_j(x) = \langle u_j, \phi(x) \rangle

    It is the inner product of (I - sum_j w_j u_j u_j')^(1/2) phi(x), and positive semidefinite for weights from 0 to 1.
    A weight of 1 removes the direction: functions of this kernel do not change along it.

    Parameters
    ----------
    kernel : Kernel
        Resolved, on rows.
    directions : TangentFeatures or Expansion
        r orthonormal vectors u_j of the feature space of the kernel.
    weights : array (r,)
        w_j, from 0 to 1.

    Raises
    ------
    ValueError
        When the directions have another kernel or are not orthonormal (inner products that differ from 0 and 1 by more
        than 1e-5), or a weight is outside of [0, 1].

    Notes
    -----
    Values of u_j are computed in float64, once for a block of points. Values of the kernel are differences: they are
    accurate to the rounding error of k(x, z). Where directions that are orthonormal up to rounding give sum_j w_j u_j
    u_j' a norm above 1, the weights are divided by it, so that k' stays positive semidefinite.

    References
    ----------
    Schoelkopf, Smola, Mueller, Burges, Vapnik, *Support vector methods in learning and feature extraction*, Australian
    Journal of Intelligent Information Processing Systems 5 (1998), the remark after eq. (42).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> k = mc.Linear()
    >>> u = mc.Expansion(k, np.array([[1.0, 0.0]]), np.array([1.0]))
    >>> mc.invariance.Projected(k, u, [0.75])(np.array([[2.0, 3.0]]))
    array([[10.]])
    """

    _tagged = {"points": "rows", "sparse": False}

    kernel: Kernel
    directions: Any
    weights: np.ndarray

    def __post_init__(self) -> None:
        super().__post_init__()
        kinds = "TangentFeatures or an Expansion, a block of vectors"
        check_instance("directions", self.directions, (TangentFeatures, Expansion), kinds)
        weights = as_vector(self.weights, "weights")
        if weights.shape != (len(self.directions),):
            raise ValueError(
                f"weights must have shape ({len(self.directions)},), one for each of the directions, got "
                f"{weights.shape}."
            )
        wrong = np.flatnonzero(~((weights >= 0) & (weights <= 1)))
        if len(wrong):
            raise ValueError(
                f"weights[{wrong[0]}] = {weights[wrong[0]]} must be from 0 to 1, a share of a direction to remove."
            )
        object.__setattr__(self, "weights", owned(weights))
        if self.directions.kernel != self.kernel:
            raise ValueError(
                f"directions must have the kernel {shown(self.kernel)}, got {shown(self.directions.kernel)}."
            )
        products = _orthonormal_products(self.directions)
        roots = np.sqrt(weights)
        norm = np.linalg.eigvalsh(roots[:, None] * products * roots)[-1]
        roots = roots / max(1.0, float(norm)) ** 0.5
        object.__setattr__(self, "_removed", _Removed(self.directions, roots))

    def __repr__(self) -> str:
        return f"Projected(kernel={self.kernel!r}, {len(self.weights)} directions)"

    def admit(self, points: PointsLike, name: str) -> PointsLike:
        return self.kernel.admit(Kernel.admit(self, points, name), name)

    def evaluate(self, tile: Tile) -> Array:
        return self._less(self.kernel.evaluate(tile), self._removed.evaluate(tile))

    def diagonal(self, points: Points) -> Array:
        return self._less(self.kernel.diagonal(points), self._removed.diagonal(points))

    def gradient(self, tile: Tile, W: Array) -> Array:
        return self.kernel.gradient(tile, W) - self._removed.gradient(tile, W)

    def diagonal_gradient(self, points: Points, w: Array) -> Array:
        removed = self._removed.diagonal_gradient(points, w)
        return self.kernel.diagonal_gradient(points, w) - removed

    def _less(self, values, removed):
        return refuse_infinite(self, (values - removed).astype(values.dtype, copy=False))


@kernel_class
class _Removed(Featured):
    """Inner products of the features w_j^(1/2) u_j(x), in float64; ``roots`` are w_j^(1/2)."""

    directions: Any
    roots: np.ndarray

    def _features(self, points):
        return points.per_point(
            self, lambda block: self.directions(as_float64(block.container)) * self.roots
        )

    def _pull_back(self, G, points):
        U = self.directions
        X = points.container
        W = G * self.roots
        if isinstance(U, TangentFeatures):
            return U.vjp(X, W)
        return U.kernel.vjp(X, U.points, W @ as_float64(U.dense_coef().T))


def _orthonormal_products(directions):
    """Return the inner products of directions, or raise unless they are those of orthonormal vectors."""
    directions = in_float64(directions)
    products = directions.inner(directions)
    error = np.triu(np.abs(products - np.eye(len(directions))))
    if error.max() > _ORTHONORMAL:
        i, j = np.unravel_index(np.argmax(error), error.shape)
        raise ValueError(
            f"directions must be orthonormal, but <u_{i}, u_{j}> = {products[i, j]:.6g}; mercer.qr returns an "
            "orthonormal block, and mercer.invariance.tangent_components that of tangents."
        )
    return products


@register
def _(kernel: Projected):
    return closed(
        "k less shares of at most 1 of orthonormal directions, of a positive semidefinite kernel k",
        kernel,
    )


def tangent_components(
    psi: TangentFeatures, sample_weight: ArrayLike | None = None, *, memory: Memory = "1GB"
) -> tuple[TangentFeatures, Array]:
    r"""Return the principal components of tangents in feature space: kernel PCA of tangent features, not centred.

    .. math:: C = \frac{1}{\sum_i s_i} \sum_{ia} s_i\, \psi_{ia} \psi_{ia}', \qquad C u_j = \mu_j u_j

    Parameters
    ----------
    psi : TangentFeatures
        Tangents of n points.
    sample_weight : array (n,), optional
        Weights s_i of the points.
    memory : str or int
        Memory limit, in bytes, of the matrices of inner products.

    Returns
    -------
    directions : TangentFeatures
        r orthonormal vectors u_j.
    eigenvalues : array (r,)
        mu_j, descending, above 1e-9 times the largest.

    Raises
    ------
    TypeError
        When psi are not tangent features.
    ValueError
        When all tangents are 0 in feature space, or weights are negative.
    MemoryError
        When the matrices exceed the limit.

    Notes
    -----
    O(m^3) for m tangents, on an (m, m) matrix in float64.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> psi = mc.invariance.tangent_features(mc.Linear(), np.eye(2), np.array([[[2.0, 0.0]], [[0.0, 1.0]]]))
    >>> directions, eigenvalues = mc.invariance.tangent_components(psi)
    >>> eigenvalues, abs(directions(np.array([[1.0, 0.0]])))
    (array([2. , 0.5]), array([[1., 0.]]))
    """
    check_instance(
        "psi",
        psi,
        TangentFeatures,
        "tangent features, as mercer.invariance.tangent_features returns",
    )
    if psi.coef is not None:
        raise ValueError(
            f"psi must be the tangents of points, got {len(psi)} combinations of them; give psi before @."
        )
    n, a, _ = psi.directions.shape
    m = n * a
    weights = np.repeat(check_weights("sample_weight", sample_weight, n), a)
    require_memory(
        3 * 8 * m**2, memory, f"inner products of {m} tangents", "fewer points, or a larger memory="
    )
    scale = np.sqrt(weights / weights.sum() * a)
    wide = in_float64(psi)
    values, vectors = np.linalg.eigh(scale[:, None] * wide.inner(wide) * scale)
    values = values[::-1]
    vectors = vectors[:, ::-1]
    if not values[0] > 0:
        raise ValueError(
            "psi has no direction: all tangents are 0 in feature space; give tangents that are not 0."
        )
    kept = values > CLEAR * values[0]
    return psi @ (scale[:, None] * vectors[:, kept] / np.sqrt(values[kept])), values[kept]


def invariant_feature_kernel(
    kernel: Kernel,
    X: PointsLike,
    transforms: Transforms,
    weight: float = 0.9,
    sample_weight: ArrayLike | None = None,
    *,
    step: float | None = None,
    memory: Memory = "1GB",
) -> Kernel:
    r"""Return the kernel whose feature vectors are scaled back along tangents of the points in feature space.

    .. math:: k'(x, z) = k(x, z) - \sum_j w_j\, u_j(x)\, u_j(z), \qquad
       w_j = \frac{(1 - \lambda) \mu_j}{(1 - \lambda) \mu_j + \lambda}

    with the eigenvalues mu_j and eigenvectors u_j of the tangent covariance C in feature space. It is lambda times the
    inner product of C_lambda^(-1/2) phi(x), C_lambda = (1 - lambda) C + lambda I, as in `invariant_kernel` but in
    feature space; for a linear kernel the two are equal up to this factor.

    Parameters
    ----------
    kernel : Kernel
        On rows, differentiable at x = z. Bandwidth rules are resolved on X.
    X : rows (n, d)
        Points whose tangents are used.
    transforms : list, dict or callable
        Functions ``g(X, t)``, as in `tangents`; the covariances of a transformations are added.
    weight : float
        lambda, above 0 and at most 1; 1 means no invariance.
    sample_weight : array (n,), optional
        Weights of the rows in the covariance.
    step : float, optional
        Of central differences, as in `tangents`.
    memory : str or int
        Memory limit, in bytes, of the matrices of inner products.

    Returns
    -------
    Projected

    Raises
    ------
    TypeError, ValueError, MemoryError
        As in `tangents`, `tangent_features` and `tangent_components`; for a weight outside of (0, 1].

    Notes
    -----
    O((n a)^3) once; a value of a new point costs O(n a d) operations. With many points give some of them.

    References
    ----------
    Schoelkopf, Smola, Mueller, Burges, Vapnik, *Support vector methods in learning and feature extraction*, Australian
    Journal of Intelligent Information Processing Systems 5 (1998), eq. (42) and the remark after it.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, shift = np.array([[1.0, 1.0], [2.0, 0.0]]), lambda X, t: X + [t, 0.0]
    >>> k = mc.invariance.invariant_feature_kernel(mc.Linear(), X, [shift], weight=0.25)
    >>> np.allclose(k(X), 0.25 * mc.invariance.invariant_kernel(mc.Linear(), X, [shift], weight=0.25)(X))
    True
    """
    require_kernel(kernel)
    check_weight(weight)
    if weight == 0:
        raise ValueError(
            "weight = 0 must be above 0 in feature space, whose other directions would be lost; use a small weight."
        )
    X = as_dense_rows(X, "X")
    check_weights("sample_weight", sample_weight, len(X))
    kernel = kernel.resolve(X, sample_weight)
    psi = tangent_features(kernel, X, tangents(X, transforms, step))
    directions, eigenvalues = tangent_components(psi, sample_weight, memory=memory)
    scaled = (1 - weight) * eigenvalues
    return Projected(kernel, directions, scaled / (scaled + weight))
