"""reduce: the one door to all ways to fewer vectors; it validates, follows the method, and certifies."""

import numpy as np

from mercer._common import check_integer, check_number
from mercer._compute.points import count_points, take_points
from mercer.expansion import Expansion
from mercer.reduction.base import Method, Reduction, Target
from mercer.reduction.construct import Construct
from mercer.reduction.eigenvector import Eigenvector
from mercer.reduction.greedy import Greedy
from mercer.reduction.l1 import L1
from mercer.reduction.max_norm import MaxNorm
from mercer.reduction.merge import Merge
from mercer.reduction.pivoted import Pivoted
from mercer.reduction.refine import Refine
from mercer.reduction.trace import Trace, best

_NAMES = {
    "construct": Construct,
    "merge": Merge,
    "refine": Refine,
    "eigenvector": Eigenvector,
    "greedy": Greedy,
    "l1": L1,
    "max_norm": MaxNorm,
    "pivoted": Pivoted,
}


def reduce(psi, n_vectors=None, tol=None, method="construct", *, callback=None):
    r"""Return vectors of the feature space written with fewer points, shared by all columns of a block.

    .. math:: \psi_j = \sum_{i=1}^n C_{ij}\,\phi(x_i) \;\approx\; \psi'_j = \sum_{i=1}^{s} A_{ij}\,\phi(z_i),
              \qquad A = K_{zz}^+ K_{zx} C

    The method chooses the points z; the coefficients A are the best ones for them (section V-B of the paper).

    Parameters
    ----------
    psi : Expansion
        m vectors over n points.
    n_vectors : int, optional
        Most points of the answer. With n or more psi itself comes back: the answer is never padded.
    tol : float, optional
        Relative error |psi_j - psi'_j| / |psi_j| at which to stop, to be reached by every column. At least one of
        ``n_vectors`` and ``tol`` is needed; the one that is met first ends the run.
    method : str or Method
        "construct", "merge", "refine", or one of the selections "greedy", "eigenvector", "l1", "max_norm" and
        "pivoted"; or a record with options such as ``Construct(starts=5)``.
    callback : callable, optional
        ``callback(n_vectors, relative_error)`` after every set of points; if it returns True the run ends.

    Returns
    -------
    Reduction
        Expansion, relative error per column, and the history of errors against numbers of vectors: ``at(s)`` gives the
        answer of the same run for s vectors.

    Raises
    ------
    TypeError
        When the method cannot take the kernel or the points; the message says which does.
    ValueError
        When neither ``n_vectors`` nor ``tol`` is given, or for a bad value of one of them; for a vector that has a
        negative square under an indefinite kernel.
    KeyboardInterrupt
        Within a second of the signal; ``reduction`` of the exception is the answer as far as the run had come, None
        before the first set.

    Notes
    -----
    O(n^2 (d + m)) for the values of psi, then what the method costs. Points with only zero coefficients are left out
    first. If ``tol`` asks for as many points as psi has, psi itself is the answer.

    References
    ----------
    Schoelkopf, Mika, Burges, Knirsch, Mueller, Raetsch, Smola, *Input space versus feature space in kernel-based
    methods*, IEEE TNN 10 (1999), section V.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> psi = mc.Expansion(mc.Gaussian(2.0), X, np.sin(9 * X))
    >>> answer = mc.reduce(psi, 8, tol=0.05)
    >>> answer.expansion, answer.relative_error <= 0.05
    (Expansion(Gaussian(gamma=2.0), 1 vector over 4 points), array([ True]))
    >>> len(answer.history), len(answer.at(2).expansion.points)
    (4, 2)
    """
    method = _choose(method)
    target = Target(psi)
    _validate_limits(n_vectors, tol)
    method.require(psi)
    target = _without_zeros(target)
    n, tol = count_points(target.points), float(tol or 0.0)
    if n_vectors is not None and n_vectors >= n:
        return _itself(target.original, f"n_vectors = {n_vectors} allows all {n} points of psi")
    if not target.squares.any():
        return _nothing(target)
    limit = n - 1 if n_vectors is None else n_vectors
    trace = Trace(target)
    try:
        reason = trace.follow(method.find(target, limit, tol), limit, tol, callback)
    except KeyboardInterrupt as stop:
        stop.reduction = _answer(trace, method, "interrupted") if trace.stages else None
        raise
    if n_vectors is None and not trace.reached(tol):
        return _itself(target.original, f"tol = {tol:.3g} was not reached with fewer points: {reason}")
    return _answer(trace, method, reason)


def _choose(method):
    if isinstance(method, str):
        if method not in _NAMES:
            raise ValueError(f"method = {method!r} is none of {list(_NAMES)}; options come with a record.")
        return _NAMES[method]()
    if isinstance(method, type) or not isinstance(method, Method):
        raise TypeError(f"method must be a string or a record such as Construct(), got {method!r}.")
    return method


def _validate_limits(n_vectors, tol):
    if n_vectors is None and tol is None:
        raise ValueError("one of n_vectors and tol is needed: the number of vectors, or the relative error to stop at.")
    if n_vectors is not None:
        check_integer("n_vectors", n_vectors)
    if tol is not None:
        check_number("tol", tol)
        if not 0 <= tol < 1:
            raise ValueError(f"tol = {tol!r} must be at least 0 and below 1, the relative error of the vector 0.")


def _without_zeros(target):
    """Return the target without points whose coefficients are all 0."""
    psi = target.original
    if psi.coef is None:
        return target
    rows = np.flatnonzero(psi.coef.any(axis=1))
    if len(rows) in (0, count_points(psi.points)):
        return target
    return Target(Expansion(psi.kernel, take_points(psi.points, rows), psi.coef[rows]))


def _itself(psi, reason):
    n, m = psi.shape
    return Reduction(psi, np.zeros(m), np.array([n]), np.zeros(1), None, reason)


def _nothing(target):
    """Return the vector 0 over one point: no expansion has fewer."""
    expansion, relative_error = best(target, take_points(target.original.points, np.arange(1)))
    return Reduction(expansion, relative_error, np.array([1]), np.zeros(1), None, "psi is 0")


def _answer(trace, method, reason):
    expansion, relative_error = trace.answer(len(trace.stages) - 1)
    return Reduction(expansion, relative_error, trace.sizes, trace.history, method, reason, trace)
