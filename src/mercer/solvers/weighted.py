"""Inner products of vectors that count more than once, or less, and about their mean."""

import numpy as np

from mercer.factor import InnerProducts


class Weighted:
    """The inner products of vectors that are each scaled by a number: S M S, lazy, with the names of InnerProducts.

    Parameters
    ----------
    inner : InnerProducts
    scale : array (m,)
        The diagonal of S.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.factor import InnerProducts
    >>> from mercer.solvers.weighted import Weighted
    >>> M = Weighted(InnerProducts(mc.features(mc.Linear(), np.array([[1.0], [2.0]]))), np.array([1.0, 3.0]))
    >>> M.diagonal(), M @ np.ones((2, 1))
    (array([ 1., 36.]), array([[ 7.],
           [42.]]))
    """

    __array_ufunc__ = None

    def __init__(self, inner, scale):
        self._inner, self._scale = inner, scale
        self.shape, self.dtype = inner.shape, inner.dtype

    def __matmul__(self, V):
        """Return the products with a block of columns (m, p)."""
        return self._scale[:, None] * np.asarray(self._inner @ (self._scale[:, None] * V), np.float64)

    def diagonal(self):
        """Return the squared norms (m,)."""
        return self._scale**2 * np.asarray(self._inner.diagonal(), np.float64)

    def __getitem__(self, index):
        """Return the block of rows I and columns J."""
        rows, columns = (np.ravel(np.arange(self.shape[0])[i]) for i in index)
        return self._scale[rows, None] * self._inner[rows, columns] * self._scale[columns]

    def dense(self, memory):
        """Return the whole matrix in float64, if it fits into the budget."""
        M = self._inner.dense(memory)
        M *= self._scale[:, None]
        M *= self._scale
        return M


class Centred:
    """The inner products <psi_i - m, psi_j - m> about a weighted mean m, lazy, with the names of InnerProducts.

    Parameters
    ----------
    inner : InnerProducts
    shares : array (m,)
        Weights of the mean, with sum 1.

    Attributes
    ----------
    means : array (m,)
        <psi_i, m>, in float64.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.factor import InnerProducts
    >>> from mercer.solvers.weighted import Centred
    >>> M = Centred(InnerProducts(mc.features(mc.Linear(), np.array([[1.0], [5.0]]))), np.array([0.75, 0.25]))
    >>> M.dense("1kB"), M.means
    (array([[ 1., -3.],
           [-3.,  9.]]), array([ 2., 10.]))
    """

    __array_ufunc__ = None

    def __init__(self, inner, shares):
        self._inner, self._shares = inner, shares
        self.shape, self.dtype = inner.shape, inner.dtype
        self.means = np.asarray(inner @ shares[:, None], np.float64)[:, 0]
        self._square = float(shares @ self.means)

    def __matmul__(self, V):
        """Return the products with a block of columns (m, p)."""
        V = V - self._shares[:, None] * V.sum(axis=0)
        product = np.asarray(self._inner @ V, np.float64)
        return product - self._shares @ product

    def diagonal(self):
        """Return the squared distances to the mean (m,)."""
        return np.asarray(self._inner.diagonal(), np.float64) - 2 * self.means + self._square

    def __getitem__(self, index):
        """Return the block of rows I and columns J."""
        rows, columns = (np.ravel(np.arange(self.shape[0])[i]) for i in index)
        return self._inner[rows, columns] - self.means[rows, None] - self.means[columns] + self._square

    def dense(self, memory):
        """Return the whole matrix in float64, if it fits into the budget."""
        M = self._inner.dense(memory)
        M -= self.means[:, None]
        M -= self.means - self._square
        return M


def weighted(phi, weights):
    """Return the inner products of sqrt(w_i) phi_i, lazy, and the roots of the weights as a column (m, 1).

    Parameters
    ----------
    phi : Expansion
        m vectors.
    weights : array (m,) or None
        At least 0; all 1 when left out.

    Returns
    -------
    inner : InnerProducts or Weighted
    root : array (m, 1)

    Raises
    ------
    ValueError
        For weights of another length, negative, not finite, or all 0.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.solvers.weighted import weighted
    >>> inner, root = weighted(mc.features(mc.Linear(), np.ones((2, 1))), np.array([4.0, 0.0]))
    >>> inner.diagonal(), root.ravel()
    (array([4., 0.]), array([2., 0.]))
    """
    inner = InnerProducts(phi)
    if weights is None:
        return inner, np.ones((len(phi), 1))
    root = np.sqrt(checked(weights, len(phi)))
    return Weighted(inner, root), root[:, None]


def checked(weights, m):
    """Return weights of m vectors as numbers (m,) in float64, after a look at them.

    Parameters
    ----------
    weights : array (m,)
    m : int

    Returns
    -------
    array (m,)

    Raises
    ------
    ValueError
        For weights of another length, negative, not finite, or all 0.

    Examples
    --------
    >>> from mercer.solvers.weighted import checked
    >>> checked([1, 0], 2)
    array([1., 0.])
    """
    weights = np.asarray(weights, np.float64)
    if weights.shape != (m,):
        raise ValueError(f"weights must have shape ({m},), one per vector, got {weights.shape}.")
    if not (np.isfinite(weights).all() and weights.min() >= 0 and weights.any()):
        raise ValueError(
            f"weights must be finite, at least 0 and not all 0; they reach from {weights.min():.3g} to "
            f"{weights.max():.3g}."
        )
    return weights
