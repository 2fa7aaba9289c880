"""combine: one kernel from several, with nonnegative weights learned from labels."""

from collections.abc import Sequence
from dataclasses import field

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._common import (
    ArrayLike,
    MaybeNone,
    Memory,
    PointsLike,
    array_record,
    check_choice,
    check_fraction,
    check_integer,
    check_squared,
    shown,
    warn,
)
from mercer._compute.memory import parse_memory
from mercer._compute.points import count_points
from mercer._compute.threads import serial_blas
from mercer.kernels.base import Kernel, check_pairwise, require_kernel
from mercer.kernels.precomputed import row_numbers
from mercer.learning.candidates import aligned_weights, chosen_shares, weighted_sum
from mercer.learning.centred import class_codes, inner_products, target_columns, variances
from mercer.learning.margin import Objective, margin_weights
from mercer.linalg.convexity import convexity
from mercer.solvers.certify import Certificate
from mercer.solvers.svm import Options

METHODS = ("loo", "alignment", "svm")


@array_record
class Combination:
    """A weighted sum of kernels, as `combination` returns it.

    Attributes
    ----------
    kernel : Kernel
        sum_k weights[k] kernels[k], without the kernels of weight 0.
    weights : float64 array (p,)
        Factors, at least 0.
    shares : float64 array (p,)
        Share of each kernel in the variance of the points in feature space; they sum to 1.
    certificate : Certificate or None
        For ``method="svm"`` objectives, gap and violation; the optimum over all weights lies between ``dual`` and
        ``primal``. None for the other methods, whose programmes are solved exactly.
    n_iter : int
        Number of support vector machines that were trained.
    errors : dict
        For ``method="loo"`` the leave-one-out error of each candidate, "sum", "best", the "mean" of these two kernels,
        "alignment" and "stacking": the mean distance of predictions and targets, as a share of that of the mean;
        otherwise empty.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.array([[0.0, 5.0], [0.1, 2.0], [3.0, 4.0], [3.1, 3.0]]), ["a", "a", "b", "b"]
    >>> columns = [mc.Mapped(mc.Gaussian(1.0), np.array([c])) for c in range(2)]
    >>> found = mc.learning.combination(columns, X, y, method="svm")
    >>> found.shares.round(3), found.certificate.gap < 1e-3
    (array([1., 0.]), True)
    """

    kernel: Kernel
    weights: np.ndarray
    shares: np.ndarray
    certificate: Certificate | MaybeNone
    n_iter: int
    errors: dict[str, float] = field(default_factory=dict)


def combine(
    kernels: Sequence[Kernel], X: PointsLike, y: ArrayLike, method: str = "loo", C: float = 1.0
) -> Kernel:
    r"""Return the sum of several kernels with nonnegative weights that are learned from labels.

    Kernels that help to predict the labels get positive weights, kernels of noise get weights near 0. The weights are
    scaled such that the variance of the points in feature space, tr(H K H) / n, is 1: a support vector machine with the
    sum then needs values of C near those for a Gaussian kernel.

    * "loo": the mean k_S of the kernels scaled to variance 1, the best single kernel k_B, or where neither has a surely
      smaller error the mean of both. The sum of the largest alignment, or then the sum with the weights of a stack,
      replaces this choice only if its error is surely smaller. Kernel k of a stack of ridge regressions f_k has the
      weight v_k / ridge_k,

      .. math:: \min_{v \ge 0} \; \sum_i \Big(y_i - \sum_k v_k f_k^{(-i)}(x_i)\Big)^2

      The error is the mean distance l_i of leave-one-out predictions of kernel ridge regression, with the ridge of the
      smallest squared error, and targets; exact, on at most n = 1 000 different points. It is surely smaller than that
      of distances m_i if it is so by more than two standard errors of the difference,

      .. math:: \overline{m - l} > \frac{2}{\sqrt n} \, \mathrm{std}(m - l)

      Where errors do not tell which kernel is better, new points may: far from X all of a kernel's functions may be
      far off. The mean of both hedges, as its functions cost at most twice the smaller penalty (Aronszajn 1950):

      .. math:: k = \tfrac12 (k_S + k_B): \qquad |f|_k^2 \le 2 \min(|f|_S^2, |f|_B^2)

    * "alignment": the weights of the largest centred alignment with y (see `mercer.alignment`), by a quadratic
      programme.
    * "svm": the weights with the smallest objective of a support vector machine with the sum as its kernel,

      .. math:: \min_{d \ge 0,\, \sum_k d_k = 1} \; \min_{w, b, \xi} \tfrac12 |w|^2 + C \sum_i \xi_i

      over kernels scaled to variance 1 (otherwise the kernel with the largest values would win). Most shares d_k are 0.
      Several classes add the objectives of all pairs.

    Parameters
    ----------
    kernels : list of Kernel (p,)
        Positive semidefinite kernels on the same points, or conditionally positive definite ones of order 1, whose
        regressions have a constant; `mercer.on_columns` makes kernels of several columns of a table. Bandwidth rules
        are resolved on X.
    X : points (n)
    y : array (n,)
        Labels; with "loo" and "alignment" also the values of a regression.
    method : {"loo", "alignment", "svm"}
    C : float
        Regularisation parameter of the support vector machine, positive; that with which the sum will be used.

    Returns
    -------
    Kernel
        sum_k w_k kernels[k], without kernels of weight 0. `mercer.learning.combination` returns the weights too.

    Raises
    ------
    ValueError
        If there is no kernel, if a kernel is not positive semidefinite on X, if the kernels take different kinds of
        points, or if y holds one class.

    Notes
    -----
    "alignment" computes 2 p n^2 kernel values in O(p n) memory, and "loo" takes about eight Cholesky factors of the
    compared points for each kernel more. "svm" trains some ten support vector machines and factorises a matrix as large
    as the number of support vectors on the margin in each step; it stores the p matrices if 1 GB holds them. It stops
    at a duality gap of a thousandth of the objective.

    The criteria of "alignment" and "svm" are computed on the rows that the weights are learned from; neither estimates
    the error on new points. One of the kernels, or the plain sum, may have fewer errors: of kernels of substrings of
    several lengths, shorter ones may have larger alignments and longer ones fewer errors. On 500 rows of eight sets the
    error of "loo" in the mean of five draws is nowhere larger than that of the sum of the kernels as given, or of the
    best of several Gaussians (``benchmarks/learned_kernels.py``). In means of other draws (``--seed`` 300 to 1000) it
    is larger than one of these by more than one standard error in 3 of 126 comparisons, and never by more than 0.009.

    References
    ----------
    Cortes, Mohri, Rostamizadeh, *Algorithms for learning kernels based on centered alignment*, JMLR 13 (2012),
    proposition 9. Breiman, *Stacked regressions*, Machine Learning 24 (1996). Hansen, Lunde, Nason, *The model
    confidence set*, Econometrica 79 (2011): models that errors do not tell apart. Aronszajn, *Theory of reproducing
    kernels*, Transactions of the AMS 68 (1950), section I.6: norms of a sum of kernels. Rakotomamonjy, Bach, Canu,
    Grandvalet, *SimpleMKL*, JMLR 9 (2008), eq. (4), (11).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.array([[0.0, 5.0], [0.1, 2.0], [3.0, 4.0], [3.1, 3.0]]), ["a", "a", "b", "b"]
    >>> columns = [mc.Mapped(mc.Gaussian(1.0), np.array([c])) for c in range(2)]
    >>> kernel = mc.combine(columns, X, y, method="svm")
    >>> mc.SVC(kernel=kernel).fit(X, y).predict([[0.05, 4.0]])
    array(['a'], dtype='<U1')
    """
    return combination(kernels, X, y, method, C).kernel


def combination(
    kernels: Sequence[Kernel],
    X: PointsLike,
    y: ArrayLike,
    method: str = "loo",
    C: float = 1.0,
    *,
    tol: float = 1e-3,
    max_iter: int = 100,
    memory: Memory = "1GB",
) -> Combination:
    """Return what `mercer.combine` returns, with weights, shares and the certificate.

    Parameters
    ----------
    kernels, X, y, method, C
        As in `mercer.combine`.
    tol : float
        Largest gap of ``method="svm"``, as a share of the objective.
    max_iter : int
        Largest number of Newton steps; a ConvergenceWarning gives the gap if they do not suffice.
    memory : str or int
        Bytes that stored kernel matrices may take; beyond, each step computes their values again.

    Returns
    -------
    Combination

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.array([[0.0, 5.0], [0.1, 2.0], [3.0, 4.0], [3.1, 3.0]]), ["a", "a", "b", "b"]
    >>> columns = [mc.Mapped(mc.Gaussian(1.0), np.array([c])) for c in range(2)]
    >>> mc.learning.combination(columns, X, y).shares.round(3)
    array([1., 0.])
    """
    check_choice("method", method, METHODS)
    C = check_squared("C", C)
    check_fraction("tol", tol)
    check_integer("max_iter", max_iter)
    budget = parse_memory(memory)
    kernels = [kernel.resolve(X) for kernel in _checked(kernels)]
    total = weighted_sum(kernels, np.ones(len(kernels)))
    points = total.admit(row_numbers(total, X), "X")
    for kernel in kernels:
        check_pairwise(kernel, points)
    columns = target_columns(y, count_points(points))
    codes = class_codes(y, "svm") if method == "svm" else None
    with serial_blas:
        proofs = [convexity(kernel, points, budget=budget) for kernel in kernels]
        for k, kernel in enumerate(kernels):
            if proofs[k].evidence:
                raise ValueError(
                    f"kernels[{k}] = {shown(kernel)} must be positive semidefinite, but {proofs[k].evidence}; use "
                    "mercer.make_positive."
                )
        # gaps of the machines are up to n C times their violation, and would hide the effect of small steps of weights
        options = Options(1e-4 * tol, budget=budget)
        objective = None if codes is None else Objective(kernels, points, codes, C, options)
        scales = variances(kernels, points) if objective is None else objective.scales
        used = np.flatnonzero(scales)
        if not len(used):
            raise ValueError(
                "kernels must differ between the points of X, but all are constant; scale X or the kernels."
            )
        certificate = None
        n_iter = 0
        errors = {}
        if objective is None:
            parts = [float(1 / scales[k]) * kernels[k] for k in used]
            found = aligned_weights(*inner_products(parts, points, columns))
            if method == "loo":
                found, errors = chosen_shares(parts, found, points, columns)
            elif not found.any():
                raise ValueError(
                    "kernels must agree with y, but the alignment of each is 0; give other kernels."
                )
            found = found / found.sum()
        else:
            point = margin_weights(objective, len(used), tol, max_iter)
            found = point.shares
            n_iter = objective.count
            gap = (point.primal - objective.lower) / point.primal
            if gap > tol:
                warn(
                    f"the weights end at a duality gap of {gap:.2g} of the objective, above tol = {tol:.2g}; give a "
                    "larger max_iter or tol.",
                    ConvergenceWarning,
                )
            # the optimum of a dual exceeds what the gap says by shift / 2 times squared differences of coefficients
            shift = max(proofs[k].shift / scales[k] for k in used)
            primal = point.primal + 0.5 * shift * C**2 * len(objective.start.coef)
            proved = all(proofs[k].proved for k in used)
            violation = float(point.solutions.violation.max())
            certificate = Certificate(float(primal), objective.lower, violation, proved or None)
        shares = np.zeros(len(kernels))
        shares[used] = found
        weights = np.divide(shares, scales, out=np.zeros(len(kernels)), where=scales > 0)
        return Combination(
            weighted_sum(kernels, weights), weights, shares, certificate, n_iter, errors
        )


def _checked(kernels):
    """Return a list of kernels on the same kind of points, or raise."""
    if not isinstance(kernels, (list, tuple)):
        raise TypeError(
            f"kernels must be a list of kernels, got an object of type {type(kernels).__name__}."
        )
    if not kernels:
        raise ValueError("kernels = [] must hold at least one kernel.")
    for kernel in kernels:
        require_kernel(kernel)
    kinds = [kernel.tags.points for kernel in kernels]
    try:
        weighted_sum(kernels, np.ones(len(kernels)))
    except ValueError:
        raise ValueError(
            f"kernels must take the same kind of points, got {kinds}; mercer.on_columns combines kernels of several "
            "columns of a table."
        ) from None
    return list(kernels)
