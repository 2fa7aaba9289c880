"""Centring of a symmetric matrix, H K H with H = I - 11'/n: given at once, or as a lazy operator."""

import array_api_compat

from mercer._compute.namespace import namespace_of


class CentredGram:
    """The operator H K H with H = I - 11'/n, applied by centring what goes in and what comes out.

    Parameters
    ----------
    operator : symmetric operator (n, n)
        An array, a ``Gram``, anything with ``shape``, ``dtype`` and ``@``.

    Notes
    -----
    A product costs one product of the operator; means are summed in float64 and the result is float64.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linalg.operators import CentredGram
    >>> CentredGram(np.eye(2)) @ np.eye(2)
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """

    __array_ufunc__ = None

    def __init__(self, operator):
        self._operator = operator
        self.shape, self.dtype = operator.shape, operator.dtype

    def __matmul__(self, V):
        """Return H K H V, in float64."""
        return _without_mean(self._operator @ _without_mean(V))


def centre(K):
    """Return H K H of a matrix that is there, symmetric, in float64.

    Parameters
    ----------
    K : symmetric array (n, n)

    Returns
    -------
    array (n, n)
        A new one: K - 1 m' - m 1' + mean(m) with the column means m.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linalg.operators import centre
    >>> centre(np.diag([2.0, 0.0]))
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    xp = array_api_compat.array_namespace(K)
    K = xp.astype(K, xp.float64, copy=True)
    # one sum of the two means keeps the matrix symmetric to the last bit, which centring rows and columns in turn does
    # not
    means = xp.mean(K, axis=0)
    means = means - xp.mean(means) / 2
    for i in range(K.shape[0]):
        K[i, :] -= means + means[i]
    return K


def _without_mean(V):
    xp = namespace_of(V)
    V = xp.astype(V, xp.float64)
    return V - xp.mean(V, axis=0, keepdims=True)
