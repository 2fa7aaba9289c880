"""Curvature of the surface phi(x): Riemann tensor, Ricci tensor and scalar curvature."""

import numpy as np

from mercer._common import Array, Memory, PointsLike
from mercer._compute.devices import anywhere
from mercer.kernels.base import Kernel
from mercer.manifold.tensors import inverse, pointwise


@anywhere
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


@anywhere
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


@anywhere
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
    upper = inverse(jet, *at)
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
