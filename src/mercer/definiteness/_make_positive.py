"""make_positive: a positive semidefinite matrix or kernel near one that is not."""

import math

import numpy as np
import scipy.linalg

from mercer._common import (
    EPS,
    ArrayLike,
    MaybeNone,
    PointsLike,
    array_record,
    as_float64,
    check_choice,
    refuse_large,
    shown,
)
from mercer._compute.points import as_dense_rows
from mercer.definiteness.evidence import largest_asymmetry
from mercer.kernels.base import Kernel, require_kernel
from mercer.kernels.feature_map import EmpiricalMap
from mercer.kernels.precomputed import row_numbers, transpose_gap


@array_record
class Repaired:
    """A positive semidefinite matrix or kernel, and how far it is from the given one.

    Attributes
    ----------
    matrix : float64 array (n, n)
        Of kernel values between the points.
    error : float
        Frobenius norm of the change of the matrix, as a share of that of the matrix.
    kernel : Kernel or None
        If a kernel was given: one with these values between the points.
    """

    matrix: np.ndarray
    error: float
    kernel: Kernel | MaybeNone = None


def make_positive(
    kernel: ArrayLike | Kernel, how: str = "clip", *, X: PointsLike | None = None
) -> Repaired:
    r"""Return a positive semidefinite matrix or kernel near a symmetric one that is not.

    With the eigenvalues of the matrix of kernel values, K = U diag(lambda) U':

    - "clip" sets negative eigenvalues to 0: the nearest positive semidefinite matrix;
    - "flip" takes their absolute values;
    - "shift" adds -lambda_min to all: the same as a larger diagonal.

    A kernel becomes an inner product of kernel values with X, which equals the repaired matrix between the points of X
    and takes new points:

    .. math:: k'(x, z) = k(x, X)\, U\, \mathrm{diag}(\lambda_j'/\lambda_j^2)\, U'\, k(X, z)

    Parameters
    ----------
    kernel : array (n, n) or Kernel
        A symmetric matrix, or a kernel.
    how : {"clip", "flip", "shift"}
        A shift changes k(x, x) of the given points and says nothing about new ones, so that it takes matrices only.
    X : points (n), optional
        Of a kernel: points, such as the training points.

    Returns
    -------
    Repaired
        With ``matrix``, ``error`` and, for a kernel, ``kernel``.

    Raises
    ------
    ValueError
        For a matrix that is not square, symmetric and finite, for "shift" of a kernel, and for a kernel without X or
        without a positive eigenvalue there.

    Notes
    -----
    O(n^3) operations and three matrices of n^2 numbers. Eigenvalues within n roundings of 0 count as 0.

    References
    ----------
    Chen, Garcia, Gupta, Rahimi, Cazzanti, *Similarity-based classification*, JMLR 10 (2009), section 3.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> found = mc.make_positive(np.array([[0.0, 1.0], [1.0, 0.0]]), "flip")
    >>> found.matrix, round(found.error, 6)
    (array([[1., 0.],
           [0., 1.]]), 1.414214)
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> kernel = mc.make_positive(mc.Sigmoid(5.0, -3.0), "clip", X=X).kernel
    >>> model = mc.SVC(kernel=kernel).fit(X, X[:, 0] > 0)
    >>> model.certificate_.convex
    True
    """
    check_choice("how", how, ("clip", "flip", "shift"))
    if not isinstance(kernel, Kernel) and X is None:
        return _repair(_checked(kernel), how)[0]
    if how == "shift":
        raise ValueError(
            "how = 'shift' changes k(x, x) of given points only; give 'clip' or 'flip' for a kernel."
        )
    require_kernel(kernel)
    if X is None:
        raise ValueError(
            "X is None, but must be the points on which the kernel is made positive; give them."
        )
    kernel = kernel.resolve(X)
    points = kernel.admit(row_numbers(kernel, X), "X")
    found, F = _repair(_checked(kernel(points)), how)
    if not F.shape[1]:
        needed = "a positive eigenvalue" if how == "clip" else "a value other than 0"
        raise ValueError(
            f"kernel = {shown(kernel)} must have {needed} between the points of X, since the repaired one is 0; give "
            "another kernel or other points."
        )
    return Repaired(found.matrix, found.error, EmpiricalMap(kernel, points, F))


def _checked(K):
    """Return a matrix in float64, or raise unless it is square, finite and symmetric."""
    given = np.asarray(as_dense_rows(K, "kernel"))
    K = as_float64(given)
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            f"kernel must be a Kernel or a square matrix of numbers, got shape {K.shape}."
        )
    refuse_large("kernel", K)
    gap = transpose_gap(K)
    size = float(np.abs(K).max(initial=0.0))
    if gap > largest_asymmetry(given) * size:
        raise ValueError(
            f"kernel must be symmetric: max |K - K'| = {gap:.3g}, for values up to {size:.3g}."
        )
    return (K + K.T) / 2


def _repair(K, how):
    """Return the repaired matrix, and the F of a kernel with its values."""
    values, U = scipy.linalg.eigh(K)
    rounding = len(K) * EPS * float(np.abs(values).max(initial=0.0))
    kept = values > rounding if how == "clip" else np.abs(values) > rounding
    changed = (
        values - values.min(initial=0.0) if how == "shift" else np.where(kept, np.abs(values), 0.0)
    )
    matrix = (U * changed) @ U.T
    # unlike the norm of NumPy this one neither overflows nor underflows
    norm = math.hypot(*values)
    error = math.hypot(*(changed - values)) / norm if norm > 0 else 0.0
    return Repaired((matrix + matrix.T) / 2, error), U[:, kept] / np.sqrt(np.abs(values[kept]))
