"""The metric that a kernel induces on input space, its inverse, and the Christoffel symbols."""

import numpy as np
import scipy.sparse as sp

from mercer._compute.memory import require_memory
from mercer._compute.points import as_rows
from mercer.kernels.base import require_resolved
from mercer.manifold.rules import jet, require_rules

# Entries of all arrays that are worked on at a time.
_ENTRIES = 2**22
# Arrays of the size of the largest that a jet makes on the way.
_COPIES = 8
# A metric scaled to unit diagonal counts as singular where its smallest eigenvalue is below this many N eps.
_ROUNDING = 64


def metric(k, X, *, memory="1GB"):
    r"""Return the metric tensor of the surface phi(x) in feature space, in the coordinates of input space.

    .. math:: g_{ab}(x) = \langle \partial_a \phi, \partial_b \phi \rangle
       = \partial_{x_a} \partial_{z_b}\, k(x, z) |_{z = x}

    so that a step dx in input space has length (dx' g dx)^(1/2) in feature space. For k = f(<x, z>) it is
    f' delta_ab + f'' x_a x_b at |x|^2, for k = f(|x - z|^2) it is -2 f'(0) delta_ab.

    Parameters
    ----------
    k : Kernel
        Resolved; of inner products or Euclidean distances, or made of such kernels.
    X : rows (n, N)
    memory : str or int
        Bytes that arrays may take.

    Returns
    -------
    array (n, N, N)
        Symmetric; in the type of X, computed in float64.

    Raises
    ------
    TypeError
        For a kernel without derivatives at x = z: Laplacian, Matern with nu = 1/2, histogram kernels, Precomputed,
        Python functions; for sparse rows.
    ValueError
        For an unresolved kernel, rows that are not finite, or derivatives that overflow.
    MemoryError
        When the arrays exceed the budget.

    Notes
    -----
    O(n N^2). Derivatives are exact: the chain rule on the kernel's profile, no differences.

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
    return pointwise(lambda chunk, _first: coincident(k, chunk, (1, 1)).term(1, 1), k, X, 2, 2, memory)


def inverse_metric(k, X, *, memory="1GB"):
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
        Where the metric is singular, as for homogeneous polynomials of degree 2 and more at 0, or not positive
        definite; the first such point is named.
    TypeError, MemoryError
        As in `metric`.

    Notes
    -----
    O(n N^3). Singular is decided on the metric scaled to unit diagonal, at 64 N eps, so that units do not matter.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.manifold.inverse_metric(mc.Gaussian(0.25), np.zeros((1, 2)))
    array([[[2., 0.],
            [0., 2.]]])
    """
    return pointwise(
        lambda chunk, first: inverse(coincident(k, chunk, (1, 1)).term(1, 1), chunk, first, k), k, X, 2, 2, memory
    )


def christoffel(k, X, *, memory="1GB"):
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
        As in `inverse_metric`; a FeatureMap, and a factor of a conformal kernel without a second derivative, have none.

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
    return pointwise(lambda chunk, first: _second_kind(k, chunk, first), k, X, 3, 3, memory)


def _second_kind(k, X, first):
    j = coincident(k, X, (2, 1))
    return np.einsum("nad,nbcd->nabc", inverse(j.term(1, 1), X, first, k), j.term(2, 1))


# --- shared ----------------------------------------------------------------------------------------------------------


def pointwise(function, k, X, out, work, memory):
    """Evaluate a tensor field at all points, some at a time.

    Parameters
    ----------
    function : callable
        Some rows (float64) and the index of the first of them, to an array whose first axis is theirs.
    k : Kernel
    X : rows (n, N)
    out, work : int
        Numbers of indices of the result and of the largest tensor on the way, aside from that of the points.
    memory : str or int

    Returns
    -------
    array (n, ...)
        In the type of X.
    """
    X = admitted(k, X)
    n, N = X.shape
    largest = 8 * _COPIES * N**work
    require_memory(
        8 * n * N**out + largest,
        memory,
        f"a tensor of {out} indices at {n} points of {N} dimensions",
        "fewer points or dimensions at a time, or a larger memory=",
    )
    rows = max(1, _ENTRIES // (_COPIES * N**work))
    wide = X.astype(np.float64, copy=False)
    parts = [function(wide[i : i + rows], i) for i in range(0, n, rows)]
    return np.concatenate(parts).astype(X.dtype, copy=False)


def admitted(k, X, name="X"):
    """Return points as dense rows that the kernel takes."""
    require_rules(k)
    require_resolved(k)
    if sp.issparse(X):
        raise TypeError(
            f"{name} must be dense: a metric has an entry for every pair of features; pass {name}.toarray()."
        )
    X = as_rows(np.asarray(X), name)
    k.admit(X, name)
    return X


def coincident(k, X, order):
    """Return the jet of a kernel at pairs (x, x), all of it finite.

    Parameters
    ----------
    k : Kernel
    X : float64 array (n, N)
    order : (int, int)

    Returns
    -------
    Jet
    """
    with np.errstate(over="ignore", invalid="ignore"):
        found = jet(k, X, X, order)
    for value in found.terms.values():
        if not np.isfinite(value).all():
            row = int(np.argwhere(~np.isfinite(value))[0, 0])
            raise ValueError(
                f"derivatives of {k!r} overflow float64 at x of norm {np.linalg.norm(X[row]):.3g}; "
                "scale X (StandardScaler) first."
            )
    return found


def spectrum(g):
    """Return the scale of metrics, and eigenvalues and eigenvectors of the metrics scaled to unit diagonal.

    Parameters
    ----------
    g : array (n, N, N)

    Returns
    -------
    scale : array (n, N)
        Square roots of the diagonal; 1 where that is 0.
    values : array (n, N)
        Eigenvalues of g_ab / (scale_a scale_b), ascending; those that are rounding are exactly 0.
    vectors : array (n, N, N)
    """
    N = g.shape[1]
    scale = np.sqrt(np.abs(np.einsum("naa->na", g)))
    scale[scale == 0] = 1.0
    values, vectors = np.linalg.eigh(g / scale[:, :, None] / scale[:, None, :])
    values[np.abs(values) <= _ROUNDING * N * np.finfo(np.float64).eps] = 0.0
    return scale, values, vectors


def require_positive(values, X, first, k, allow_singular=False):
    """Raise a ValueError at the first point whose metric has an eigenvalue that is negative or, unless allowed, 0."""
    least = values[:, 0]
    wrong = np.flatnonzero(least < 0 if allow_singular else least <= 0)
    if not len(wrong):
        return
    i = int(wrong[0])
    where = f"at X[{first + i}] = {np.array2string(X[i], precision=4, threshold=6)}"
    if least[i] < 0:
        raise ValueError(
            f"the metric of {k!r} is not positive definite {where}: scaled to unit diagonal it has the eigenvalue "
            f"{least[i]:.3g}, which no positive semidefinite kernel gives; use another kernel or other parameters."
        )
    raise ValueError(
        f"the metric of {k!r} is singular {where}: some direction has length 0 in feature space, so that there is no "
        "inverse and no curvature. Leave out points where volume_element is 0; polynomials need coef0 > 0 there."
    )


def inverse(g, X, first, k):
    """Return the inverses of metrics, or raise at the first that has none."""
    scale, values, vectors = spectrum(g)
    require_positive(values, X, first, k)
    scaled = (vectors / values[:, None, :]) @ np.swapaxes(vectors, 1, 2)
    return scaled / scale[:, :, None] / scale[:, None, :]
