"""Metric tensor of the surface phi(x), its inverse, and the Christoffel symbols."""

import numpy as np

from mercer._common import Array, Memory, PointsLike, shown, warn
from mercer._compute.devices import anywhere
from mercer._compute.profile import evaluate_profile
from mercer.kernels import Dot
from mercer.kernels.base import ORDERS, Kernel
from mercer.manifold.tensors import inverse, pointwise


@anywhere
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


@anywhere
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
    return pointwise(inverse, k, X, (1, 1), 2, memory)


@anywhere
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
    return np.einsum("nad,nbcd->nabc", inverse(jet, *at), jet.term(2, 1))
