"""reduce: check the arguments, run a reduced-set method, and recompute the errors of its sets."""

from typing import Any

import numpy as np

from mercer._common import AnyFunction, PointsLike, check_function, shown, warn
from mercer._compute.points import count_points, take_points
from mercer._compute.threads import serial_blas
from mercer.expansion import Expansion, features
from mercer.kernels.base import check_pairwise, refuse_conditional
from mercer.linalg.operators import NEGATIVE
from mercer.projection import project
from mercer.reduction.base import Reduction, Stage, Target
from mercer.reduction.methods import by_default, check_limits, check_reduction
from mercer.reduction.subset import Greedy
from mercer.reduction.trace import Trace, best


def reduce(
    psi: Expansion,
    n_vectors: int | None = None,
    tol: float | None = None,
    method: Any = None,
    *,
    candidates: PointsLike | None = None,
    callback: AnyFunction | None = None,
) -> Reduction:
    r"""Return a reduced set: an approximation of the vectors of a block with fewer points, shared by all columns.

    .. math:: \psi_j = \sum_{i=1}^n C_{ij}\,\phi(x_i) \;\approx\; \psi'_j = \sum_{i=1}^{s} A_{ij}\,\phi(z_i),
              \qquad A = K_{zz}^+ K_{zx} C

    The method determines the points z, by construction (RSC) or by selection among the points of psi (RSS); the
    coefficients A are the best ones for these points (Schoelkopf et al. 1999, section V-B).

    Parameters
    ----------
    psi : Expansion
        m vectors over n points.
    n_vectors : int, optional
        Maximum number of points of the reduced set. With n or more, psi is returned unchanged.
    tol : float, optional
        Relative error |psi_j - psi'_j| / |psi_j| at which to stop, for every column. At least one of ``n_vectors`` and
        ``tol`` is needed, unless the method fixes the number of points as ``L1(penalty=0.1)`` does; the run ends when
        the first of them is reached.
    method : str or Method
        Reduced set construction: "construct", "merge", "refine" or "variable_widths". Reduced set selection: "greedy",
        "eigenvector", "l1", "max_norm", "pivoted" or "exhaustive". Or a record with options such as
        ``Construct(starts=5)``. By default "construct", "variable_widths" of vectors with several widths, and "greedy"
        with ``candidates`` or for a kernel without gradient.
    candidates : points (p), optional
        Points that the method selects from, in place of those of psi, which need not be among them; for reduced set
        selection. The vectors psi are projected onto the span of their features first; errors are those of psi.
    callback : callable, optional
        ``callback(n_vectors, relative_error)`` is called after every set of points; if it returns True the run ends.

    Returns
    -------
    Reduction
        Expansion, relative error per column, and the history of errors by number of vectors; ``at(s)`` gives the
        reduced set with s vectors of the same run.

    Raises
    ------
    TypeError
        If the method does not apply to the kernel or the points; the message names a method that does.
    ValueError
        If neither ``n_vectors`` nor ``tol`` is given, or one of them is out of range; for a conditionally positive
        definite kernel, and for a vector with a negative squared norm under an indefinite one.
    KeyboardInterrupt
        Within a second of the signal; the attribute ``reduction`` of the exception is the reduced set found so far,
        None before the first set.

    Notes
    -----
    O(n^2 (d + m)) for the values of psi, plus the cost of the method. Points whose coefficients are all 0 are removed
    first. If ``tol`` needs as many points as psi has, psi is returned unchanged.

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
    method = check_reduction(method)
    check_function("callback", callback)
    target = Target(psi)
    if method is None:
        method = by_default(psi.kernel) if candidates is None else Greedy()
    check_limits(n_vectors, "tol", tol, method)
    # NumPy makes fractions of whole numbers without sign and differences of them
    n_vectors = None if n_vectors is None else int(n_vectors)
    method.require(psi)
    refuse_conditional(
        psi.kernel, "reduced sets", "for a model take mercer.compress(model, X, y) without a method"
    )
    check_pairwise(psi.kernel, psi.points)
    target = _without_zeros(target)
    tol = float(tol or 0.0)
    fixed = n_vectors is None and getattr(method, "fixes_size", False)
    if candidates is not None:
        return _selected(target, method, candidates, n_vectors, fixed, tol, callback)
    n = count_points(target.points)
    if n_vectors is not None and n_vectors >= n:
        return _unchanged(target.original, f"n_vectors = {n_vectors} allows all {n} points of psi")
    if not target.squares.any():
        one = take_points(target.original.points, np.arange(1))
        return _unchanged(best(target, one)[0], "psi is 0")
    limit = n_vectors or (n if fixed else n - 1)
    if not limit:
        return _unchanged(target.original, f"tol = {tol:.3g} needs the single point of psi")
    # a reduced set may be over another kernel, whose features contain those of psi
    target = Target(method.embed(target.original)) if hasattr(method, "embed") else target
    trace = Trace(target)
    reason = _run(trace, method, target, limit, tol, callback)
    if not trace.stages:
        # psi is 0 up to rounding, or no candidate has a positive square under an indefinite kernel
        trace.record(Stage(target.points, np.arange(1)))
    if n_vectors is None and not fixed and not trace.reached(tol):
        return _unchanged(psi, f"tol = {tol:.3g} was not reached with fewer points: {reason}")
    return _result(trace, method, reason)


def _run(trace, method, target, limit, tol, callback):
    """Record the sets that a method finds for a target; return why the run ends."""
    try:
        with serial_blas:
            return trace.run(method.find(target, limit, tol), limit, tol, callback)
    except KeyboardInterrupt as stop:
        stop.reduction = _result(trace, method, "interrupted") if trace.stages else None
        raise


def _selected(target, method, candidates, n_vectors, fixed, tol, callback):
    """Return a reduced set of points that are given: |psi - psi'|^2 = |psi - P psi|^2 + |P psi - psi'|^2."""
    if not getattr(method, "selects", False):
        raise TypeError(
            f"candidates are for methods that select points, got {type(method).__name__}; use "
            'method="greedy", "eigenvector", "l1", "max_norm", "pivoted" or "exhaustive".'
        )
    onto = features(target.kernel, target.kernel.admit(candidates, "candidates"))
    given, own = (
        getattr(psi.prepared.container, "shape", [])[1:] for psi in (onto, target.original)
    )
    # objects have no columns
    if given and own and given != own:
        raise ValueError(
            f"candidates have {given[0]} features, but psi has {own[0]}; they must be equal."
        )
    projected = Target(project(target.psi, onto))
    trace = Trace(target)
    if not projected.squares.any():
        trace.record(Stage(projected.points, np.arange(1)))
        return _result(trace, method, "psi is 0, or orthogonal to all candidates")
    limit = n_vectors or (len(onto) if fixed else len(onto) - 1)
    reason = "all candidates are allowed"
    done = False
    if fixed or limit < len(onto):
        reason = _run(trace, method, projected, limit, tol, callback)
        done = fixed or n_vectors or trace.reached(tol)
    if not done or not trace.stages:
        size = 1 if done else len(onto)
        reason = "all candidates are needed" if trace.stages else reason
        trace.record(Stage(projected.points, np.arange(size)))
    return _result(trace, method, reason)


def _without_zeros(target):
    """Return the target without points whose coefficients are all 0."""
    psi = target.original
    if psi.coef is None:
        return target
    rows = np.flatnonzero(psi.coef.any(axis=1))
    if len(rows) in (0, count_points(psi.points)):
        return target
    return Target(Expansion(psi.kernel, take_points(psi.points, rows), psi.coef[rows]))


def _unchanged(psi, reason):
    n, m = psi.shape
    return Reduction(psi, np.zeros(m), np.array([n]), np.zeros(1), None, reason)


def _result(trace, method, reason):
    expansion, relative_error = trace.result(len(trace.stages) - 1)
    negative = trace.residuals[-1] < -NEGATIVE * trace.target.squares
    if negative.any() and not expansion.kernel.tags.positive_semidefinite:
        warn(
            f"{negative.sum()} of {len(negative)} reduced vectors have negative squared distances from those of psi: "
            f"{shown(expansion.kernel)} is indefinite there, and they may be anywhere; use a positive semidefinite "
            "kernel, or for a model mercer.compress(model, X, y) without a method."
        )
    return Reduction(expansion, relative_error, trace.sizes, trace.history, method, reason, trace)
