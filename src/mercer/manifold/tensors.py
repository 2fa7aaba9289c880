"""Tensors of the surface phi(x): metric, Christoffel symbols, curvature, volume, and their evaluation at points."""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from mercer._common import EPS, Array, ArrayLike, Memory, PointsLike, as_float64, shown, warn
from mercer._compute.memory import blocks, require_memory
from mercer._compute.points import as_rows, as_vector
from mercer._compute.profile import evaluate_profile
from mercer.kernels import Dot
from mercer.kernels.base import ORDERS, Kernel, require_resolved
from mercer.linalg.operators import ROUNDINGS
from mercer.manifold.jets import Jet
from mercer.manifold.rules import jet, require_rules

# Temporary arrays of the size of the largest tensor in a jet.
_COPIES = 8


# --- the metric ------------------------------------------------------------------------------------------------------


def metric(k: Kernel, X: PointsLike, *, memory: Memory = "1GB") -> Array:
    r"""Return the metric tensor of the surface phi(x) in feature space, in the coordinates of input space.

    .. math:: g_{ab}(x) = \langle \partial_a \phi, \partial_b \phi \rangle
       = \partial_{x_a} \partial_{z_b}\, k(x, z) |_{z = x}

    A step dx in input space has length (dx' g dx)^(1/2) in feature space. For k = f(<x, z>) the metric is
    f' delta_ab + f'' x_a x_b at |x|^2, for k = f(|x - z|^2) it is -2 f'(0) delta_ab.

    Parameters
    ----------
    k : Kernel
        Resolved kernel of inner products or Euclidean distances, or a composition of such kernels.
    X : rows (n, N)
    memory : str or int
        Largest size of the arrays, in bytes.

    Returns
    -------
    array (n, N, N)
        Symmetric; computed in float64, returned in the type of X.

    Raises
    ------
    TypeError
        For a kernel without derivatives at x = z (Laplacian, Matern with nu = 1/2, histogram kernels, Precomputed,
        Python functions), and for sparse rows.
    ValueError
        For an unresolved kernel, rows that are not finite, or derivatives that overflow.
    MemoryError
        When the arrays exceed the limit.

    Warns
    -----
    UserWarning
        For a function of <x, z> with a negative derivative at 0, such as a polynomial with coef0 < 0: there is no
        surface.

    Notes
    -----
    O(n N^2). Derivatives are exact: the chain rule on the kernel's profile, without finite differences.

    References
    ----------
    Schoelkopf et al., *Input space versus feature space in kernel-based methods*, IEEE TNN 10 (1999), section II-E.
    Burges, *Geometry and invariance in kernel based methods*, in: Advances in Kernel Methods (1999).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.manifold.metric(mc.Polynomial(2), np.array([[1.0, 0.0]]))
    array([[[6., 0.],
            [0., 4.]]])
    """
    found = pointwise(lambda jet, *_: jet.term(1, 1), k, X, (1, 1), 2, memory)
    if isinstance(k, Dot) and any(evaluate_profile(k, np.zeros(1), j) < 0 for j in range(ORDERS)):
        warn(
            f"{shown(k)} is not positive semidefinite, since its series in <x, z> has a negative coefficient: no map "
            "phi has its values as inner products, and its metric is that of no surface; use coef0 >= 0."
        )
    return found


def inverse_metric(k: Kernel, X: PointsLike, *, memory: Memory = "1GB") -> Array:
    r"""Return the inverse of the metric tensor, g^ab.

    Parameters
    ----------
    k, X, memory
        As in `metric`.

    Returns
    -------
    array (n, N, N)

    Raises
    ------
    ValueError
        When the metric is singular, as for homogeneous polynomials of degree 2 and more at 0, or not positive
        definite; the message names the first such point.
    TypeError, MemoryError
        As in `metric`.

    Notes
    -----
    O(n N^3). The metric is scaled by the sizes of the terms that sum to its diagonal, to unit diagonal where none
    cancel, and is singular when an eigenvalue is below 64 N eps: the units of the features do not matter.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.manifold.inverse_metric(mc.Gaussian(0.25), np.zeros((1, 2)))
    array([[[2., 0.],
            [0., 2.]]])
    """
    return pointwise(_inverse, k, X, (1, 1), 2, memory)


def christoffel(k: Kernel, X: PointsLike, *, memory: Memory = "1GB") -> Array:
    r"""Return the Christoffel symbols of the second kind.

    .. math:: \Gamma^a_{bc} = g^{ad} \langle \partial_d \phi, \partial_b \partial_c \phi \rangle
       = g^{ad}\, \partial_{x_b} \partial_{x_c} \partial_{z_d}\, k(x, z) |_{z = x}

    Parameters
    ----------
    k, X, memory
        As in `metric`.

    Returns
    -------
    array (n, N, N, N)
        The upper index first; symmetric in the other two.

    Raises
    ------
    TypeError, ValueError, MemoryError
        As in `inverse_metric`. A TypeError also for a FeatureMap, and for a factor of a conformal kernel without a
        second derivative.

    Notes
    -----
    O(n N^4).

    References
    ----------
    Schoelkopf et al., *Input space versus feature space in kernel-based methods*, IEEE TNN 10 (1999), section II-E.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.manifold.christoffel(mc.Polynomial(2), np.array([[1.0]]))
    array([[[[0.6667]]]])
    """
    return pointwise(_second_kind, k, X, (2, 1), 3, memory)


def _second_kind(jet, *at):
    return np.einsum("nad,nbcd->nabc", _inverse(jet, *at), jet.term(2, 1))


# --- curvature -------------------------------------------------------------------------------------------------------


def riemann(k: Kernel, X: PointsLike, *, memory: Memory = "1GB") -> Array:
    r"""Return the Riemann curvature tensor, all indices lowered.

    .. math:: R_{abcd} = B_{ac,bd} - B_{ad,bc}, \quad
       B_{ab,cd} = \langle \phi_{ab}, \phi_{cd} \rangle
       - \langle \phi_{ab}, \phi_e \rangle\, g^{ef} \langle \phi_f, \phi_{cd} \rangle

    the equation of Gauss: B holds the inner products of the components of the second derivatives phi_ab normal to the
    surface. In terms of Christoffel symbols the tensor is
    R^a_bcd = d_c Gamma^a_bd - d_d Gamma^a_bc + Gamma^a_ce Gamma^e_bd - Gamma^a_de Gamma^e_bc, lowered with g.

    Parameters
    ----------
    k, X, memory
        As in `metric`.

    Returns
    -------
    array (n, N, N, N, N)
        A sphere of radius r has R_abcd = (g_ac g_bd - g_ad g_bc) / r^2.

    Raises
    ------
    TypeError, ValueError, MemoryError
        As in `christoffel`.

    Notes
    -----
    O(n N^5). Exact derivatives up to the fourth order; errors are a few eps of the largest <phi_ab, phi_cd>, times the
    condition number of the scaled metric of `inverse_metric`, which is large where features are correlated. For Matern
    with nu = 3/2, whose phi has no second derivatives, the result is the curvature of its constant metric, 0.

    References
    ----------
    Schoelkopf et al., *Input space versus feature space in kernel-based methods*, IEEE TNN 10 (1999), section II-E.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> R = mc.manifold.riemann(mc.Polynomial(2), np.array([[1.0, 0.0]]))
    >>> float(R[0, 0, 1, 0, 1]), float(R[0, 0, 1, 1, 0])
    (-1.0, 1.0)
    """
    return pointwise(lambda *chunk: _lowered(*chunk)[0], k, X, (2, 2), 4, memory)


def ricci(k: Kernel, X: PointsLike, *, memory: Memory = "1GB") -> Array:
    r"""Return the Ricci tensor.

    .. math:: R_{bd} = g^{ac} R_{abcd}

    Parameters
    ----------
    k, X, memory
        As in `metric`.

    Returns
    -------
    array (n, N, N)

    Raises
    ------
    TypeError, ValueError, MemoryError
        As in `christoffel`.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> sphere = mc.Normalized(mc.Linear() + 1)                # the ray through (x, 1) meets the unit sphere
    >>> X = np.array([[0.3, -0.5, 1.0]])
    >>> np.allclose(mc.manifold.ricci(sphere, X), 2 * mc.manifold.metric(sphere, X))
    True
    """
    return pointwise(lambda *chunk: _contracted(*chunk)[0], k, X, (2, 2), 2, memory)


def scalar_curvature(k: Kernel, X: PointsLike, *, memory: Memory = "1GB") -> Array:
    r"""Return the scalar curvature, positive for spheres.

    .. math:: R = g^{bd} R_{bd}

    For the polynomial kernel (<x, z> + c)^p with u = |x|^2 + c it is
    -(N - 1) (p - 1) / (p u^p) [(N - 2) + 2 c / (c + p |x|^2)]; for radial kernels it is 0.

    Parameters
    ----------
    k, X, memory
        As in `metric`.

    Returns
    -------
    array (n,)
        N (N - 1) / r^2 for a sphere of radius r; twice the Gaussian curvature for N = 2.

    Raises
    ------
    TypeError, ValueError, MemoryError
        As in `christoffel`.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.array([[1.0, 0.0]])
    >>> mc.manifold.scalar_curvature(mc.Polynomial(2), X), mc.manifold.scalar_curvature(mc.Gaussian(1.0), X)
    (array([-0.0833]), array([0.]))
    """
    return pointwise(_traced, k, X, (2, 2), 0, memory)


def _lowered(jet, *at):
    """Return R_abcd and g^ab."""
    G = jet.term(2, 1)
    upper = _inverse(jet, *at)
    tangent = np.einsum("nabe,nef,ncdf->nabcd", G, upper, G, optimize=True)
    normal = jet.term(2, 2) - tangent
    return np.einsum("nacbd->nabcd", normal) - np.einsum("nadbc->nabcd", normal), upper


def _contracted(*chunk):
    """Return R_bd and g^ab."""
    R, upper = _lowered(*chunk)
    return np.einsum("nac,nabcd->nbd", upper, R), upper


def _traced(*chunk):
    R, upper = _contracted(*chunk)
    return np.einsum("nbd,nbd->n", upper, R)


# --- volume ----------------------------------------------------------------------------------------------------------


def determinant(k: Kernel, X: PointsLike, *, memory: Memory = "1GB") -> Array:
    """Return the determinant of the metric tensor.

    Parameters
    ----------
    k, X, memory
        As in `metric`.

    Returns
    -------
    array (n,)
        Negative or 0 values are returned unchanged. In many dimensions it may overflow where `log_volume_element` does
        not.

    Raises
    ------
    TypeError, ValueError, MemoryError
        As in `metric`.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.manifold.determinant(mc.Polynomial(2), np.array([[1.0, 0.0]])).round(6)
    array([24.])
    """
    with np.errstate(over="ignore"):
        return pointwise(lambda jet, *_: np.linalg.det(jet.term(1, 1)), k, X, (1, 1), 0, memory)


def log_volume_element(k: Kernel, X: PointsLike, *, memory: Memory = "1GB") -> Array:
    r"""Return the logarithm of the volume element, log sqrt(det g), which neither overflows nor underflows.

    Parameters
    ----------
    k, X, memory
        As in `metric`.

    Returns
    -------
    array (n,)
        -inf where the metric is singular, as defined in `inverse_metric`.

    Raises
    ------
    ValueError
        When the metric has a negative eigenvalue, so that the kernel is indefinite; otherwise as in `metric`.
    TypeError, MemoryError
        As in `metric`.

    Notes
    -----
    O(n N^3).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.manifold.log_volume_element(mc.Gaussian(0.5), np.zeros((1, 200)))
    array([0.])
    """
    return pointwise(_log_volume, k, X, (1, 1), 0, memory)


def volume_element(k: Kernel, X: PointsLike, *, memory: Memory = "1GB") -> Array:
    r"""Return the volume element: the factor by which the feature map magnifies volume at each point.

    .. math:: \sqrt{\det g(x)}

    For k = f(<x, z>) its square is f'^(N-1) (f' + |x|^2 f''); for radial kernels it is constant.

    Parameters
    ----------
    k, X, memory
        As in `metric`.

    Returns
    -------
    array (n,)
        0 where the metric is singular.

    Raises
    ------
    TypeError, ValueError, MemoryError
        As in `log_volume_element`.

    References
    ----------
    Schoelkopf et al., *Input space versus feature space in kernel-based methods*, IEEE TNN 10 (1999), section II-E.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.manifold.volume_element(mc.Polynomial(2, coef0=0.0), np.array([[1.0, 0.0], [0.0, 0.0]]))
    array([2.8284, 0.    ])
    """
    with np.errstate(over="ignore"):
        return pointwise(lambda *chunk: np.exp(_log_volume(*chunk)), k, X, (1, 1), 0, memory)


def density(k: Kernel, X: PointsLike, p: ArrayLike, *, memory: Memory = "1GB") -> Array:
    r"""Return the density on the surface of phi(x) when x has the density p in input space.

    .. math:: p_S(\phi(x)) = p(x) / \sqrt{\det g(x)}

    Its integral over the surface is 1.

    Parameters
    ----------
    k, X, memory
        As in `metric`.
    p : array (n,)
        Values of the density in input space at the rows of X.

    Returns
    -------
    array (n,)
        inf where p is positive and the metric singular, as for homogeneous polynomials of degree 2 and more at 0; 0
        where p is 0.

    Raises
    ------
    ValueError
        Unless p is one finite number of at least 0 per row; otherwise as in `log_volume_element`.
    TypeError, MemoryError
        As in `metric`.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.manifold.density(mc.Polynomial(2, coef0=0.0), np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([1.0, 1.0]))
    array([0.3536,    inf])
    """
    X = admitted(k, X)
    p = as_vector(p, "p")
    n = len(X)
    if p.shape != (n,):
        raise ValueError(
            f"p has shape {p.shape}; it must be ({n},), one density for each row of X."
        )
    if not (p >= 0).all():
        wrong = int(np.argmin(p))
        raise ValueError(f"p[{wrong}] = {p[wrong]} must be at least 0.")
    # a logarithm in float32 has too few digits for its exponential
    log_volume = log_volume_element(k, as_float64(X), memory=memory)
    with np.errstate(divide="ignore", over="ignore"):
        return np.exp(np.where(p > 0, np.log(p), -np.inf) - np.where(p > 0, log_volume, 0)).astype(
            X.dtype, copy=False
        )


def _log_volume(jet, X, first, k):
    scale, values, _ = scaled_eigh(jet)
    _require_positive(values, X, first, k, allow_singular=True)
    with np.errstate(divide="ignore"):
        return np.sum(np.log(scale) + np.log(values) / 2, axis=1)


# --- in chunks of points within a memory limit, from jets at x = z ---------------------------------------------------


def pointwise(
    function: Callable[[Jet, Array, int, Kernel], Array],
    k: Kernel,
    X: PointsLike,
    order: tuple[int, int],
    out: int,
    memory: Memory,
) -> Array:
    """Return ``function(jet, chunk, first, k)`` for all rows of X, chunk by chunk, in the type of X.

    The jet of k has the derivatives up to ``order`` at z = x in the rows of the chunk, the first one is X[first];
    ``out`` is the number of tensor indices of the result.
    """
    X = admitted(k, X)
    (n, N) = X.shape
    work = sum(order)
    require_memory(
        8 * (n * N**out + _COPIES * N**work),
        memory,
        f"a tensor of {out} indices at {n} points of {N} dimensions",
        "fewer points or dimensions at a time, or a larger memory=",
    )
    wide = as_float64(X)
    values = np.empty((n, *[N] * out), X.dtype)
    largest = 0.0
    for rows in blocks(n, _COPIES * N**work):
        found = function(_coincident(k, wide[rows], order), wide[rows], rows.start, k)
        largest = np.maximum(largest, np.abs(found).max())
        with np.errstate(over="ignore"):
            values[rows] = found
    if out and not np.isfinite(values).all():
        raise ValueError(
            f"the result has values up to {largest:.3g}, which overflow {X.dtype}, the type of X; give "
            "X.astype(float), or scale X first, for example with StandardScaler."
        )
    return values


def admitted(k: Kernel, X: PointsLike, name: str = "X") -> Array:
    """Return points as dense rows, or raise when the kernel has no derivatives or does not take them."""
    require_rules(k)
    require_resolved(k)
    if sp.issparse(X):
        raise TypeError(
            f"{name} must be dense, since a metric has an entry for each pair of features; use {name}.toarray()."
        )
    X = as_rows(X, name)
    k.admit(X, name)
    return X


def _coincident(k, X, order):
    """Return the jet of a kernel at pairs (x, x), or raise when a derivative overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = jet(k, X, X, order)
    for value in found.terms.values():
        if not np.isfinite(value).all():
            row = int(np.argwhere(~np.isfinite(value))[0, 0])
            raise ValueError(
                f"derivatives of {shown(k)} overflow float64 at x of norm {np.linalg.norm(X[row]):.3g}; "
                "scale X first, for example with StandardScaler."
            )
    return found


def rounding(N: int) -> float:
    """Return the share of their sizes to which metrics in N dimensions are known."""
    return ROUNDINGS * N * EPS


def sizes_of(jet: Jet) -> Array:
    """Return the sizes of the terms of the diagonal of a metric (n, N), its entries where they are not known."""
    return np.abs(np.einsum("naa->na", jet.term(1, 1))) if jet.sizes is None else jet.sizes


def scaled_eigh(jet: Jet) -> tuple[Array, Array, Array]:
    """Return scale (n, N), and ascending eigenvalues and eigenvectors of g_ab / (scale_a scale_b).

    The scale is the square root of the sizes of the terms of the diagonal, to unit diagonal where none cancel, or 1
    where they are 0; eigenvalues at rounding level are set to 0.
    """
    g = jet.term(1, 1)
    scale = np.sqrt(sizes_of(jet))
    scale = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(g / scale[:, :, None] / scale[:, None, :])
    values[np.abs(values) <= rounding(g.shape[1])] = 0.0
    return scale, values, vectors


def _require_positive(values, X, first, k, allow_singular=False):
    """Raise a ValueError that names the first point whose metric is not positive definite (or semidefinite)."""
    least = values[:, 0]
    wrong = np.flatnonzero(least < 0 if allow_singular else least <= 0)
    if not len(wrong):
        return
    i = int(wrong[0])
    where = f"at X[{first + i}] = {np.array2string(X[i], precision=4, threshold=6)}"
    if least[i] < 0:
        raise ValueError(
            f"the metric of {shown(k)} is not positive definite {where}: scaled by its terms it has the eigenvalue "
            f"{least[i]:.3g}, so the kernel is not positive semidefinite; use another kernel or other parameters."
        )
    raise ValueError(
        f"the metric of {shown(k)} is singular {where}: some direction has length 0 in feature space, so the inverse "
        "and the curvature do not exist; omit points where volume_element is 0, or use coef0 > 0 for a polynomial."
    )


def _inverse(jet, X, first, k):
    """Return the inverses of the metrics of a jet, or raise at the first singular one."""
    scale, values, vectors = scaled_eigh(jet)
    _require_positive(values, X, first, k)
    scaled = (vectors / values[:, None, :]) @ np.swapaxes(vectors, 1, 2)
    return scaled / scale[:, :, None] / scale[:, None, :]
