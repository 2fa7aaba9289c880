"""learn_scales: a factor for each column of X by descent on the alignment or on the span rule."""

import numpy as np
from scipy.optimize import minimize

from mercer._common import (
    TINY,
    ArrayLike,
    PointsLike,
    check_choice,
    check_integer,
    check_positive,
    refuse_large,
    shown,
)
from mercer._compute.points import as_dense_rows
from mercer._compute.threads import serial_blas
from mercer.kernels.base import Kernel, require_gradient, require_kernel
from mercer.kernels.mapped import Mapped
from mercer.learning._alignment import of_moderate_size, value_and_gradient
from mercer.learning.candidates import drawn, ridged, surely_less
from mercer.learning.centred import class_codes, target_columns, variances
from mercer.learning.members import LEAST_FEW
from mercer.learning.span import span_and_gradient
from mercer.learning.tuning import log_bounds

# Largest C mean k(x, x), and of its inverse.
_MOST = 1e8


def learn_scales(
    kernel: Kernel,
    X: PointsLike,
    y: ArrayLike,
    *,
    method: str = "loo",
    C: float = 1.0,
    max_iter: int = 100,
) -> Kernel:
    r"""Return a kernel with a learned factor for each column: automatic relevance determination.

    .. math:: k(s_1 x_1, ..., s_d x_d;\ s_1 z_1, ..., s_d z_d)

    Steps of L-BFGS on log s, from columns of unit variance, maximise the alignment with y, or minimise a smooth span
    rule, the estimated leave-one-out error of a support vector machine. Columns without use get small factors.

    Learned factors may predict worse than equal ones, above all from few rows. With "loo" half of the rows learn
    factors by alignment, and the other half judge: the factors are kept, and learned again from all rows, only if the
    leave-one-out error of kernel ridge regression is smaller than with equal factors by more than two standard errors
    of the difference, and if the squared error of all rows is smaller too. A common factor is chosen for both by
    leave-one-out errors; labels count as columns of 0 and 1.

    Parameters
    ----------
    kernel : Kernel
        With a gradient in its points, such as ``Gaussian("scale")``. Bandwidth rules are resolved on columns of mean 0
        and unit variance, and stay.
    X : rows (n, d)
    y : array (n,)
        Labels; with "loo" and "alignment" also the values of a regression, see `mercer.alignment`.
    method : {"loo", "alignment", "span"}
        "alignment" and "span" return what they learn, whatever it predicts. "span" takes a support vector machine with
        squared loss for each pair of classes.
    C : float
        Regularisation parameter of that support vector machine, positive.
    max_iter : int
        Largest number of steps. Early stopping is a regularisation when columns are many and points few.

    Returns
    -------
    Mapped
        ``Mapped(kernel, s)``; s (d,) is 0 for constant columns.

    Raises
    ------
    TypeError
        If the kernel has no gradient in its points.
    ValueError
        If y holds one class, or values for "span".

    Notes
    -----
    Each step computes 4 n^2 kernel values and O(n^2 d) operations for "loo" and "alignment"; a support vector machine
    and O(m^3 + m^2 d) for m support vectors for "span". "loo" compares on at most 1 000 different rows, by about fifty
    Cholesky factors. On three times five draws of 500 rows of eight sets, from which this rule was not chosen, it is at
    most one standard error of the mean of five worse than one tuned Gaussian, but for one of the 24 means, 1.3 of them
    (uci_wine); the largest alignment is worse by more than a third on two sets (``benchmarks/learned_kernels.py
    --seed``, 300, 400 and 500).

    References
    ----------
    Chapelle, Vapnik, Bousquet, Mukherjee, *Choosing multiple parameters for support vector machines*, Machine Learning
    46 (2002), section 5 and eq. (11). Cortes, Mohri, Rostamizadeh (2012), as in `mercer.alignment`.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.random.default_rng(0).normal(size=(100, 4))
    >>> y = X[:, 0] * X[:, 2] > 0
    >>> np.sort(np.argsort(mc.learn_scales(mc.Gaussian("scale"), X, y).A)[2:])
    array([0, 2])
    """
    check_choice("method", method, ("loo", "alignment", "span"))
    check_positive("C", C)
    check_integer("max_iter", max_iter)
    require_kernel(kernel)
    require_gradient(kernel, "learn_scales", "use a kernel such as Gaussian or Matern")
    X = as_dense_rows(X, "X").astype(np.float64)
    refuse_large("X", X)
    columns = target_columns(y, len(X))
    # rounding of the mean gives a constant column a deviation; squares of tiny numbers are 0
    width = np.ptp(X, axis=0)
    used = width > TINY
    if not used.any():
        raise ValueError("X must have a column with different entries; all columns are constant.")
    start = np.zeros(len(width))
    start[used] = 1 / np.std(X[:, used] / width[used], axis=0) / width[used]
    X = X * start
    # rules on the variance of all entries would count the distances of the means
    kernel = kernel.resolve(X - X.mean(axis=0))
    with serial_blas:
        if method == "loo":
            scales = _judged(kernel, X, columns, max_iter)
        elif method == "alignment":
            scales = _aligned(kernel, X, columns, max_iter)
        else:
            scales = _of_small_span(kernel, X, class_codes(y, "span"), C, max_iter)
        return Mapped(kernel, start * scales)


def _descended(X, criterion, max_iter):
    """Return the scales at the minimum of a criterion of rows and its gradient in log scales."""
    found = minimize(
        lambda logs: criterion(X * np.exp(logs)),
        np.zeros(X.shape[1]),
        jac=True,
        method="L-BFGS-B",
        bounds=log_bounds(X.shape[1], X.dtype)[:-1],
        options={"maxiter": max_iter},
    )
    return np.exp(found.x)


def _judged(kernel, X, columns, max_iter):
    """Return scales learned by alignment if they are surely better than equal ones on rows that they have not seen."""
    order = drawn(len(X))
    order = order[np.sort(np.unique(X[order], axis=0, return_index=True)[1])]
    half = len(order) // 2 if len(order) >= 2 * LEAST_FEW else 0
    few = order[: half or None]
    equal = np.ones(X.shape[1])
    learned = equal
    targets = columns[few] - columns[few].mean(axis=0)
    # few rows may be constant
    if targets.any() and np.ptp(X[few], axis=0).any():
        learned = _aligned(kernel, X[few], targets, max_iter)
    # ridges are those of kernels of variance 1
    kernel = float(1 / (variances([kernel], X)[0] or 1.0)) * kernel
    found = [_tuned(kernel, metric, X, columns, order) for metric in (equal, learned)]
    plain, better = (each.losses[half:] for _, each in found)
    if not surely_less(better, plain):
        return found[0][0]
    if half:
        learned = _aligned(kernel, X, columns, max_iter)
    # a few rows far from the others may have huge errors
    return min(found[0], _tuned(kernel, learned, X, columns, order), key=_error)[0]


def _tuned(kernel, metric, X, columns, order):
    """Return the multiple of a metric of the smallest leave-one-out error of ridge regression, and that regression."""
    metrics = [factor * metric for factor in (0.25, 0.5, 1.0, 2.0)]
    found = [(each, ridged(Mapped(kernel, each), X[order], columns[order])) for each in metrics]
    return min(found, key=_error)


def _error(pair):
    return pair[1].error


def _aligned(kernel, X, columns, max_iter):
    """Return the scales of the largest alignment."""
    kernel = of_moderate_size(kernel, X)

    def negative(U):
        value, gradient = value_and_gradient(kernel, U, columns)
        return -value, -gradient

    return _descended(X, negative, max_iter)


def _of_small_span(kernel, X, codes, C, max_iter):
    """Return the scales of the smallest span rule of classes with some numbers (n,)."""
    # of kernels that are not positive semidefinite the first may be negative
    size = max(float(np.mean(kernel.diag(X))), float(variances([kernel], X)[0]))
    if not 1 / _MOST <= C * size <= _MOST:
        raise ValueError(
            f"C = {shown(C)} must be between {1 / _MOST / size:.2g} and {_MOST / size:.2g}, by mean k(x, x)."
        )
    counts = np.bincount(codes)
    ordered = X[np.argsort(codes, kind="stable")]
    return _descended(ordered, lambda U: span_and_gradient(kernel, U, counts, C), max_iter)
