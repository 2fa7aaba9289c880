"""Determinant of the metric, volume element, and density on the surface phi(x)."""

import numpy as np

from mercer._common import Array, ArrayLike, Memory, PointsLike, as_float64
from mercer._compute.devices import anywhere
from mercer._compute.points import as_vector
from mercer.kernels.base import Kernel
from mercer.manifold.tensors import admitted, pointwise, require_positive, scaled_eigh


@anywhere
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


@anywhere
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


@anywhere
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


@anywhere
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
    require_positive(values, X, first, k, allow_singular=True)
    with np.errstate(divide="ignore"):
        return np.sum(np.log(scale) + np.log(values) / 2, axis=1)
