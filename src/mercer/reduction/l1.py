"""L1: keep the points that a Lasso in feature space keeps, one for each column."""

from dataclasses import dataclass

import numpy as np

from mercer._common import check_positive
from mercer.reduction.max_norm import costs
from mercer.reduction.path import path
from mercer.reduction.row_sparse import Programme
from mercer.reduction.subset import gram


@dataclass(frozen=True)
class L1:
    r"""Keep the points with coefficients in the solutions of one quadratic programme per column.

    .. math:: \min_b \; \left|\psi_j - \sum_i b_i\,\phi(x_i)\right|^2 + \lambda \sum_i c_{ij} |b_i|

    over the points at which psi_j has coefficients. One lambda for all columns falls along a path until the union of
    the supports is as large as is wanted; coefficients are chosen anew for each set.

    Parameters
    ----------
    weighted : bool
        c_ij = mean_i |coef_ij| / |coef_ij|, the mean over coefficients that are not 0, so that small terms pay more;
        otherwise c_ij = 1.
    gap : float
        Relative duality gap to which each programme is solved.
    memory : str or int
        Bytes for four n x n matrices.

    Notes
    -----
    With one column the sets are those of the Lasso path (scikit-learn's ``lars_path_gram`` gives the same), and
    ``MaxNorm`` coincides. Columns that could share points do not know of each other here: ``MaxNorm`` lets them. O(s^3)
    for each column and each of some 20 to 40 penalties.

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

    weighted: bool = True
    gap: float = 1e-4
    memory: str | int = "1GB"

    def __post_init__(self):
        check_positive("gap", self.gap)

    def require(self, psi):
        """Take every expansion; an indefinite Gram matrix is refused when it is there."""

    def find(self, target, n_vectors, tol):  # noqa: ARG002 - the driver ends the run
        """Yield the unions of supports along the path."""
        K = gram(target, self.memory, 4).astype(np.float64, copy=False)
        columns = [_Column(K, coef, self.weighted) for coef in target.coef.T if coef.any()]

        def paid(penalty):
            return np.max([column.paid(penalty, self.gap) for column in columns], axis=0)

        yield from path(target, max(column.programme.largest for column in columns), paid, n_vectors)


class _Column:
    """The programme of one column over its own points, and its latest solution."""

    def __init__(self, K, coef, weighted):
        coef = coef[:, None]
        self.programme, self.coef = Programme(K, coef, np.where(coef[:, 0] != 0, costs(coef, weighted), np.inf)), None

    def paid(self, penalty, gap):
        """Return what each point pays."""
        self.coef = self.programme.solve(penalty, gap, self.coef).coef
        sizes = np.abs(self.coef[:, 0])
        return np.where(sizes > 0, self.programme.cost, 0) * sizes
