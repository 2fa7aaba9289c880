"""check_kernel: proofs by formula, necessary conditions over the range of the data, numerical evidence on the data."""

import numpy as np
import scipy.sparse as sp

from mercer._common import AnyFunction, PointsLike, as_float64, shown
from mercer._compute.costs import BLOCK
from mercer._compute.points import count_points, evenly_spaced
from mercer._progress import counting, notify
from mercer.definiteness.evidence import (
    asymmetry,
    find_witness,
    largest_asymmetry,
    smallest_eigenpair,
    try_pairs,
)
from mercer.definiteness.profiles import ENOUGH_COLUMNS, disagreement, examine
from mercer.definiteness.proofs import ORDERS, prove
from mercer.definiteness.report import KernelReport, Statement
from mercer.kernels.base import Kernel, require_kernel
from mercer.kernels.precomputed import Precomputed, row_numbers
from mercer.kernels.rescaled import NegativeSquare
from mercer.kernels.shorthand import as_kernel
from mercer.linalg.convexity import convexity
from mercer.manifold.tensors import pointwise, scaled_eigh

# Parts of the evidence on points: pairs; smallest eigenvalue; witness; profile with metric.
_PARTS = 4


def check_kernel(
    k: Kernel | AnyFunction,
    X: PointsLike | None = None,
    *,
    callback: AnyFunction | None = None,
) -> KernelReport:
    r"""Check whether a function of two points is a positive semidefinite kernel.

    A kernel is symmetric and positive semidefinite: sum_ij c_i c_j k(x_i, x_j) >= 0 for all points and coefficients.

    - Proof by formula: each kernel class has a proof, and sums, products, multiples, powers, exponentials, normalised,
      conformal and mapped kernels inherit the proofs of their parts.
    - Necessary conditions over the range of X: signs of the profile of kernels of inner products and distances, and the
      eigenvalues of the metric of differentiable kernels.
    - Of a kernel that is not positive semidefinite: its order if it is conditionally positive definite, 1 if c'Kc >= 0
      for all c of sum 0, 2 if c'Kc >= 0 for all c that are also orthogonal to the columns of X. The order of a formula
      is proved; that of a function is sought on X.
    - Evidence on X: symmetry, k(x, x) >= 0, the Cauchy-Schwarz inequality, and the smallest eigenvalue of the Gram
      matrix. When it is negative by more than its error, a witness is returned: a vector over few points with a
      negative squared norm.

    Parameters
    ----------
    k : Kernel or callable
        A callable takes two blocks of points and returns an array (n, m).
    X : points (n), optional
        Rules such as ``gamma="scale"`` are resolved on them. Rows are converted to float64.
    callback : callable, optional
        ``callback(done, most)`` is called after each part of the evidence on X; an exception in it ends the call.

    Returns
    -------
    KernelReport
        Without X ``positive_semidefinite`` refers to all points. With X it is True when proved for all points, False
        when X refutes it, and otherwise None, also when other points refute it.

    Raises
    ------
    TypeError
        When k is neither a kernel nor a callable.
    ValueError
        When bandwidth rules need X, or X is invalid.

    Notes
    -----
    For fewer than 2 000 points O(n^3), with symmetry and Cauchy-Schwarz tested on all pairs; otherwise 40 products with
    the lazy matrix, and all pairs of 1 000 evenly spaced points; sets of more than 1 000 points are tried as witnesses
    only where the smallest eigenvalue is below minus its error. Differences of k(x, z) and k(z, x) up to eps^(1/2) of
    the largest value count as rounding.

    References
    ----------
    Schoenberg, *Metric spaces and completely monotone functions*, Annals of Mathematics 39 (1938);
    Burges, *Geometry and invariance in kernel based methods*, Advances in Kernel Methods (1999).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> report = mc.check_kernel(mc.Sigmoid(1.0, -1.0), np.array([[0.1, 0.0], [0.0, 1.0]]))
    >>> report.positive_semidefinite, report.witness.coef, round(report.square, 3)
    (False, array([[1.]]), -0.757)
    >>> print(mc.check_kernel(mc.Gaussian(1.0) * mc.Linear()))
    Gaussian(gamma=1.0) * Linear()
      positive semidefinite
      + proved for all rows: a product of positive semidefinite kernels (Schur)
        + proved for all rows: exp(-gamma s) of s = |x - z|^2 is completely monotone (Schoenberg 1938)
        + proved for all rows: an inner product
    """
    if callable(k):
        k = as_kernel(k)
    require_kernel(k)
    if X is None and (not isinstance(k, Precomputed) or k.matrix is None):
        return _by_formula(k)
    # all rows of a given matrix
    X = np.arange(len(k.matrix)) if X is None else X
    k = k.resolve(X)
    X = k.admit(row_numbers(k, X), "X")
    if k.tags.points == "rows":
        X = X.astype(np.float64) if sp.issparse(X) else as_float64(X)
    try:
        with counting(callback, "evidence"):
            return _on_points(k, X)
    except NegativeSquare as error:
        # the values do not exist
        n = count_points(X)
        statement = Statement("refuted", f"these {n} points", str(error))
        return KernelReport(
            k, n, None, False, None, None, None, None, (*prove(k).statements, statement)
        )


def _by_formula(k):
    if rule := k.unresolved():
        raise ValueError(
            f"{rule[0]} = {shown(rule[1])} needs points; use check_kernel(k, X) to resolve it."
        )
    proof = prove(k)
    found = examine(k, None)
    refuted = any(each.verdict == "refuted" and each.where != ENOUGH_COLUMNS for each in found)
    holds = False if refuted and proof.holds is None else proof.holds
    return KernelReport(k, 0, None, holds, None, None, None, None, (*proof.statements, *found))


def _on_points(k, X):
    n = count_points(X)
    proof = prove(k)
    pairs = try_pairs(k, X)
    notify("evidence", done=1, most=_PARTS)
    difference, size = asymmetry(pairs)
    symmetric = difference <= largest_asymmetry(pairs.K) * size
    least = smallest_eigenpair(k, X, pairs)
    notify("evidence", done=2, most=_PARTS)
    witness = square = None
    if symmetric and not proof.holds:
        # of many points all together only with the evidence of the smallest eigenvalue
        most = n if least.value < -least.error else len(pairs.rows)
        witness, square = find_witness(k, X, pairs, least.vector, most)
    notify("evidence", done=3, most=_PARTS)
    where = f"these {n} points"
    # all rows of a given matrix
    whole = isinstance(k, Precomputed) and len(np.unique(np.arange(len(k.matrix))[X])) == len(
        k.matrix
    )
    verdict, gap = (
        ("not refuted", f"at most {difference:.2g}")
        if symmetric
        else ("refuted", f"up to {difference:.3g}")
    )
    found = [
        Statement(
            verdict, where, f"k(x, z) and k(z, x) differ by {gap}, for values up to {size:.3g}"
        ),
        _spectral(least, witness, square, where, whole),
    ]
    if witness is not None and k.tags.order is None:
        found += _conditional(k, X, where)
    found += examine(k, X)
    if disagreement(k, X) is None:
        found += _metric(k, X)
    notify("evidence", done=_PARTS, most=_PARTS)
    holds = True if proof.holds else None
    if not symmetric or witness is not None:
        holds = False
    elif found[1].verdict == "proved":
        holds = True
    return KernelReport(
        k,
        n,
        symmetric,
        holds,
        least.value,
        least.error,
        witness,
        square,
        (*proof.statements, *found),
    )


def _conditional(k, X, where):
    """Return a list of at most one statement: the least order of a conditionally positive definite kernel on X."""
    orders = {1: None}
    if isinstance(X, np.ndarray) and X.ndim == 2:
        orders[2] = np.insert(X - X.mean(axis=0), 0, 1.0, axis=1)
    for order, free in orders.items():
        if convexity(k, X, order == 1, free=free).proved is not False:
            return [Statement("not refuted", where, f"order {order}, {ORDERS[order]}")]
    return []


def _spectral(least, witness, square, where, whole):
    """Return the statement on the Gram matrix; for all rows of a given matrix it is a proof."""
    reason = f"the smallest eigenvalue of the symmetrised Gram matrix is {least.value:.4g} +- {least.error:.2g}"
    if witness is not None:
        reason = f"a vector over {len(witness.coef)} of them has the squared norm {square:.4g}"
        return Statement("refuted", where, reason)
    if whole and least.value >= -least.error:
        return Statement("proved", where, f"{reason}, for all rows of the given matrix")
    return Statement("not refuted", where, reason)


def _metric(k, X):
    """Return a list of at most one statement, on the eigenvalues of the metric at some points."""
    if k.tags.points != "rows" or not k.tags.differentiable or sp.issparse(X):
        return []
    rows = evenly_spaced(len(X), max(1, BLOCK // X.shape[1] ** 2))
    try:
        least = pointwise(lambda jet, *_: scaled_eigh(jet)[1][:, 0], k, X[rows], (1, 1), 0, "1GB")
    except (TypeError, ValueError, MemoryError):
        # not smooth at x = z, or too many dimensions
        return []
    i = int(np.argmin(least))
    if least[i] < 0:
        reason = (
            f"the metric at point {rows[i]}, scaled by its terms, has the eigenvalue {least[i]:.3g}"
        )
        return [Statement("refuted", f"neighbourhoods of point {rows[i]}", reason)]
    reason = f"the metric at {len(rows)} of them is positive semidefinite"
    return [Statement("not refuted", "neighbourhoods of these points", reason)]
