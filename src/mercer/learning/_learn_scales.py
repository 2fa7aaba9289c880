"""learn_scales: a factor for each column of X by descent on the alignment or on the span rule."""

import numpy as np
from scipy.optimize import minimize

from mercer._common import TINY, ArrayLike, PointsLike, check_choice, check_integer, check_positive, refuse_large, shown
from mercer._compute.points import as_dense_rows, take_points
from mercer._compute.threads import serial_blas
from mercer.kernels.base import Kernel, require_gradient, require_kernel
from mercer.kernels.mapped import Mapped
from mercer.learning._alignment import of_moderate_size, value_and_gradient
from mercer.learning.centred import class_codes, target_columns
from mercer.learning.span import span_and_gradient

# Largest change of the logarithm of a scale, and largest C mean k(x, x) or its inverse.
_RANGE = 7.0
_MOST = 1e8


def learn_scales(
    kernel: Kernel, X: PointsLike, y: ArrayLike, *, method: str = "alignment", C: float = 1.0, max_iter: int = 100
) -> Kernel:
    r"""Return a kernel with a learned factor for each column: automatic relevance determination.

    .. math:: k(s_1 x_1, ..., s_d x_d;\ s_1 z_1, ..., s_d z_d)

    Steps of L-BFGS on log s, from columns of unit variance, maximise the alignment with y, or minimise a smooth span
    rule, the estimated leave-one-out error of a support vector machine. Columns without use get small factors.

    Parameters
    ----------
    kernel : Kernel
        With a gradient in its points, such as ``Gaussian("scale")``. Bandwidth rules are resolved on columns of unit
        variance, and stay.
    X : rows (n, d)
    y : array (n,)
        Labels; with "alignment" also the values of a regression, see `mercer.alignment`.
    method : {"alignment", "span"}
        "span" takes a support vector machine with squared loss for each pair of classes.
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
    Each step computes 4 n^2 kernel values and O(n^2 d) operations for "alignment"; a support vector machine and
    O(m^3 + m^2 d) for m support vectors for "span".

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
    check_choice("method", method, ("alignment", "span"))
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
    start = np.zeros(len(width))
    start[used] = 1 / np.std(X[:, used] / width[used], axis=0) / width[used]
    kernel = kernel.resolve(X * start)
    scaled, criterion = _criterion(kernel, X * start, y, columns, method, C)
    with serial_blas():
        found = minimize(
            lambda logs: criterion(scaled * np.exp(logs)),
            np.zeros(len(start)),
            jac=True,
            method="L-BFGS-B",
            bounds=[(-_RANGE, _RANGE)] * len(start),
            options={"maxiter": max_iter},
        )
    return Mapped(kernel, start * np.exp(found.x))


def _criterion(kernel, X, y, columns, method, C):
    """Return the rows, and the function of rows that gives the objective and its gradient in log scales."""
    if method == "alignment":
        kernel = of_moderate_size(kernel, X)

        def negative(U):
            value, gradient = value_and_gradient(kernel, U, columns)
            return -value, -gradient

        return X, negative
    codes = class_codes(y, "span")
    size = float(np.mean(kernel.diag(X)))
    if not 1 / _MOST <= C * size <= _MOST:
        raise ValueError(
            f"C = {shown(C)} must be between {1 / _MOST / size:.2g} and {_MOST / size:.2g}, by mean k(x, x)."
        )
    counts = np.bincount(codes)
    return take_points(X, np.argsort(codes, kind="stable")), lambda U: span_and_gradient(kernel, U, counts, C)
