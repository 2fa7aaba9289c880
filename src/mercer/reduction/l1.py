"""L1: reduced set selection by a Lasso in feature space for each column."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._common import Array, check_positive
from mercer.reduction.base import Target
from mercer.reduction.path import Joint, SparsePath, growing
from mercer.reduction.row_sparse import RowSparse, point_weights


@dataclass(frozen=True)
class L1(SparsePath):
    r"""Reduced set selection (RSS): the points with coefficients in the solutions of one Lasso problem per column.

    .. math:: \min_b \; \left|\psi_j - \sum_i b_i\,\phi(x_i)\right|^2 + \lambda \sum_i c_{ij} |b_i|

    over the points at which psi_j has coefficients. One lambda for all columns decreases along a path until the union
    of the supports has the requested size, or it is given; the coefficients of each set are re-optimised.

    Parameters
    ----------
    weighted : bool
        If True, c_ij = mean_i |coef_ij| / |coef_ij|, with the mean over nonzero coefficients, so that small terms are
        penalised more; otherwise c_ij = 1.
    gap : float
        Relative duality gap to which each problem is solved.
    memory : str or int
        Memory limit for four n x n matrices.
    penalty : float, optional
        lambda. ``reduce`` then needs neither ``n_vectors`` nor ``tol``: the set is the support of the solution, or the
        first point of the path if that is empty. A lambda below 1e-7 of the least one that keeps no point counts as
        that share. Smaller sets of the history keep the largest terms of the penalty.

    Notes
    -----
    With one column the sets are those of the Lasso path (scikit-learn's ``lars_path_gram`` gives the same), and
    ``MaxNorm`` gives the same sets. With several columns the problems are independent: only ``MaxNorm`` favours points
    that columns share. O(s^3) for each column and each of 20 to 40 penalties.

    References
    ----------
    Schoelkopf, Mika, Burges, Knirsch, Mueller, Raetsch, Smola, *Input space versus feature space in kernel-based
    methods*, IEEE TNN 10 (1999), section V-C.2.
    Tibshirani, *Regression shrinkage and selection via the Lasso*, JRSS B 58 (1996).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.reduction import L1, reduce
    >>> X = np.array([[0.0], [0.1], [3.0]])
    >>> psi = mc.Expansion(mc.Gaussian(1.0), X, np.array([[1.0], [0.2], [0.5]]))
    >>> reduce(psi, 2, method=L1()).expansion.points.ravel().tolist()
    [0.0, 3.0]
    """

    penalty: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.penalty is not None:
            check_positive("penalty", self.penalty)

    @property
    def fixes_size(self) -> bool:
        """Whether the penalty determines the number of points."""
        return self.penalty is not None

    def find(self, target: Target, n_vectors: int, tol: float) -> Iterator[Any]:
        """Yield the supports along the path, or the sets up to the support for a given penalty."""
        if self.penalty is None:
            yield from super().find(target, n_vectors, tol)
            return
        problems = self.problems(self.matrix(target), target.coef)
        terms = Joint(problems, self.gap).solve_at(float(self.penalty))
        if not terms.any():
            terms[np.argmax(np.max([problem.entering for problem in problems], axis=0))] = 1.0
        yield from growing(target, np.empty(0, np.intp), terms)

    def problems(self, K: Array, coef: Array) -> list[RowSparse]:
        """Return a problem for each column."""
        columns = [column[:, None] for column in coef.T if column.any()]
        weights = [
            np.where(column[:, 0] != 0, point_weights(column, self.weighted), np.inf)
            for column in columns
        ]
        return [RowSparse(K, column, c) for column, c in zip(columns, weights, strict=True)]
