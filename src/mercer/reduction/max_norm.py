"""MaxNorm: reduced set selection by a penalty on the largest coefficient of each point."""

from mercer._common import Array
from mercer.reduction.path import SparsePath
from mercer.reduction.row_sparse import RowSparse, point_weights


class MaxNorm(SparsePath):
    r"""Reduced set selection (RSS): the points with coefficients in the solution of one problem for all columns.

    .. math:: \min_B \; \sum_j \left|\psi_j - \sum_i B_{ij}\,\phi(x_i)\right|^2 + \lambda \sum_i c_i \max_j |B_{ij}|

    The penalty lambda decreases along a path until the support has the requested size; the coefficients of each set are
    re-optimised. Only the largest coefficient of a point is penalised, so points that several columns share are
    favoured, unlike in a sum of Lasso problems.

    Parameters
    ----------
    weighted : bool
        If True, c_i = mean |coef| / max_j |coef_ij|, with the mean over nonzero coefficients, so that small terms are
        penalised more; otherwise c_i = 1.
    gap : float
        Relative duality gap to which each problem is solved.
    memory : str or int
        Memory limit for four n x n matrices.

    Notes
    -----
    The sets of the path need not be nested; between two solutions points enter one by one, the largest penalty term
    first. O(m s^3) for each of 20 to 40 penalties. ``mercer.reduction.row_sparse.RowSparse`` solves the problem for one
    lambda, with a lower bound.

    References
    ----------
    Schoelkopf, Mika, Burges, Knirsch, Mueller, Raetsch, Smola, *Input space versus feature space in kernel-based
    methods*, IEEE TNN 10 (1999), section V-C.3.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.reduction import MaxNorm, reduce
    >>> X = np.array([[0.0], [0.1], [3.0]])
    >>> psi = mc.Expansion(mc.Gaussian(1.0), X, np.array([[1.0, 0.0], [0.2, 0.2], [0.0, 1.0]]))
    >>> reduce(psi, 2, method=MaxNorm()).expansion.points.ravel().tolist()
    [0.0, 3.0]
    """

    def problems(self, K: Array, coef: Array) -> list[RowSparse]:
        """Return one problem for all columns."""
        return [RowSparse(K, coef, point_weights(coef, self.weighted))]
