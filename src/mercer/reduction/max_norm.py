"""MaxNorm: keep the points that a quadratic programme keeps which prices the largest coefficient of each point."""

from dataclasses import dataclass

import numpy as np

from mercer._common import check_positive
from mercer._compute.points import take_points
from mercer.expansion import Expansion
from mercer.reduction.base import Target
from mercer.reduction.path import path
from mercer.reduction.row_sparse import Programme
from mercer.reduction.subset import gram


@dataclass(frozen=True)
class MaxNorm:
    r"""Keep the points with coefficients in the solution of a programme that all columns share.

    .. math:: \min_B \; \sum_j \left|\psi_j - \sum_i B_{ij}\,\phi(x_i)\right|^2 + \lambda \sum_i c_i \max_j |B_{ij}|

    The penalty lambda falls along a path until there are as many points as are wanted; coefficients are chosen anew for
    each set. A point that one column needs is free for the others, which a sum of Lassos does not see.

    Parameters
    ----------
    weighted : bool
        c_i = mean |coef| / max_j |coef_ij|, the mean over coefficients that are not 0, so that small terms pay more;
        otherwise c_i = 1.
    gap : float
        Relative duality gap to which each programme is solved.
    memory : str or int
        Bytes for four n x n matrices.

    Notes
    -----
    ``minimise`` solves the programme for one lambda and returns its certificate. Sets of the path need not be nested;
    between two of its solutions points enter one by one, by their price. O(m s^3) for each of some 20 to 40 penalties.

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

    weighted: bool = True
    gap: float = 1e-4
    memory: str | int = "1GB"

    def __post_init__(self):
        check_positive("gap", self.gap)

    def require(self, psi):
        """Take every expansion; an indefinite Gram matrix is refused when it is there."""

    def find(self, target, n_vectors, tol):  # noqa: ARG002 - the driver ends the run
        """Yield the supports along the path."""
        programme = _programme(target, self.weighted, self.memory)
        coef = None

        def paid(penalty):
            nonlocal coef
            coef = programme.solve(penalty, self.gap, coef).coef
            largest = np.abs(coef).max(axis=1)
            return np.where(largest > 0, programme.cost, 0) * largest

        yield from path(target, programme.largest, paid, n_vectors)


@dataclass(frozen=True)
class Certified:
    """The solution of the programme for one lambda, with the vectors that prove how good it is.

    Attributes
    ----------
    expansion : Expansion
        sum_i B_ij phi(x_i), in float64, over the points that are kept; their best coefficients are other ones.
    dual : Expansion
        m vectors theta_j over the points of psi with 2 sum_j |<theta_j, phi(x_i)>| <= lambda c_i for all points.
    primal : float
        The objective.
    bound : float
        sum_j 2 <theta_j, psi_j> - |theta_j|^2, the lower bound that these vectors prove.
    gap : float
        (primal - bound) / primal.
    cost : array (n,)
        c; infinite for a point without coefficients.
    """

    expansion: Expansion
    dual: Expansion
    primal: float
    bound: float
    gap: float
    cost: np.ndarray


def minimise(psi, penalty, *, weighted=True, gap=1e-4, memory="1GB"):
    """Solve the programme of ``MaxNorm`` for one lambda, with a certificate.

    Parameters
    ----------
    psi : Expansion
        m vectors over n points.
    penalty : float
        lambda, above 0.
    weighted : bool
        c_i = mean |coef| / max_j |coef_ij|; otherwise 1.
    gap : float
        Relative duality gap.
    memory : str or int
        Bytes for four n x n matrices.

    Returns
    -------
    Certified

    Raises
    ------
    ValueError
        For a penalty or gap that is not positive, or an indefinite kernel.
    MemoryError
        When four n x n matrices are larger than the budget.

    Warns
    -----
    ConvergenceWarning
        When the gap stays above ``gap``, with the number.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.reduction.max_norm import minimise
    >>> psi = mc.Expansion(mc.Linear(), np.eye(2), np.array([[3.0, -2.0], [0.1, 0.5]]))
    >>> found = minimise(psi, 2.0, weighted=False)
    >>> found.expansion.points, found.expansion.coef.round(6), bool(found.gap < 1e-4)
    (array([[1., 0.]]), array([[ 2., -2.]]), True)
    """
    check_positive("penalty", penalty)
    check_positive("gap", gap)
    target = Target(psi)
    programme = _programme(target, weighted, memory)
    found = programme.solve(penalty, gap)
    kept = np.flatnonzero(found.coef.any(axis=1))
    # an expansion has a point, if only one without coefficients
    kept = kept if len(kept) else np.arange(1)
    return Certified(
        Expansion(psi.kernel, take_points(target.points, kept), found.coef[kept]),
        Expansion(psi.kernel, target.points, found.dual),
        found.primal,
        found.bound,
        found.gap,
        programme.cost,
    )


def costs(coef, weighted):
    """Return the prices c (n,) of points: 1, or the mean size of coefficients over the largest of the point.

    Points without coefficients have an infinite price when weighted.

    Parameters
    ----------
    coef : array (n, m)
    weighted : bool

    Returns
    -------
    array (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.reduction.max_norm import costs
    >>> costs(np.array([[4.0, 0.0], [-1.0, 1.0]]), True)
    array([0.5, 2. ])
    """
    sizes = np.abs(coef)
    if not weighted:
        return np.ones(len(coef))
    mean = sizes.sum() / max(np.count_nonzero(sizes), 1)
    with np.errstate(divide="ignore"):
        return mean / sizes.max(axis=1)


def _programme(target, weighted, memory):
    K = gram(target, memory, 4).astype(np.float64, copy=False)
    return Programme(K, target.coef, costs(target.coef, weighted))
