"""invariant_feature_kernel: the kernel that scales back the directions of tangents in feature space."""

import numpy as np

from mercer._common import Array, ArrayLike, Memory, PointsLike, check_instance, check_weights
from mercer._compute.memory import require_memory
from mercer._compute.points import as_dense_rows
from mercer.invariance._tangent_features import TangentFeatures, in_float64, tangent_features
from mercer.invariance._tangents import Transforms, tangents
from mercer.invariance.invariant_map import check_weight
from mercer.invariance.projected import Projected
from mercer.kernels.base import Kernel, require_kernel

# Eigenvalues below this share of the largest are cut: their eigenvectors are rounding errors.
_RANK = 1e-9


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
    kept = values > _RANK * values[0]
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
