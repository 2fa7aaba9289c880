"""alignment: how well a kernel agrees with labels or targets, and its gradient in the scales of columns."""

import numpy as np

from mercer._common import Array, ArrayLike, PointsLike, as_float64, shown
from mercer._compute.points import as_dense_rows, count_points
from mercer.gram import Gram
from mercer.kernels.base import Kernel, check_pairwise, require_gradient, require_kernel
from mercer.kernels.precomputed import row_numbers
from mercer.learning.centred import centred_blocks, inner_products, rounding, target_columns


def alignment(kernel: Kernel, X: PointsLike, y: ArrayLike) -> float:
    r"""Return the centred alignment of a kernel with targets: the cosine between their centred matrices.

    .. math:: A = \frac{\langle H K H, H Y Y' H\rangle_F}{\|H K H\|_F \, \|H Y Y' H\|_F}, \qquad H = I - \tfrac1n 11'

    Y holds one indicator column for each class, or the values of a regression. A large alignment means that points of
    the same class are near each other in feature space.

    Parameters
    ----------
    kernel : Kernel
        Bandwidth rules are resolved on X.
    X : points (n)
    y : array (n,) or (n, c)
        Labels (texts, whole numbers), or values of a regression. One-dimensional floats that are all whole numbers
        are labels, as in scikit-learn; give ``y.reshape(-1, 1)`` to use them as values.

    Returns
    -------
    float
        At most 1, and at least 0 for a positive semidefinite kernel.

    Raises
    ------
    ValueError
        If y holds one class or one value, or if the centred kernel matrix is 0.

    Notes
    -----
    2 n^2 kernel values, a block of rows at a time, so that the memory is O(n); sums are float64. The value does not
    change when the kernel is multiplied by a number or a constant is added.

    References
    ----------
    Cortes, Mohri, Rostamizadeh, *Algorithms for learning kernels based on centered alignment*, JMLR 13 (2012),
    definition 4.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.array([[0.0], [0.1], [3.0], [3.1]]), ["a", "a", "b", "b"]
    >>> [round(mc.alignment(mc.Gaussian(gamma), X, y), 3) for gamma in (1.0, 1000.0)]
    [1.0, 0.577]
    """
    kernel, points, columns = _checked(kernel, X, y)
    return _cosine(*inner_products([kernel], points, columns), columns, kernel, points)[0]


def alignment_gradient(kernel: Kernel, X: PointsLike, y: ArrayLike) -> Array:
    r"""Return the gradient of the alignment in the logarithms of the scales of the columns of X.

    .. math:: \left.\frac{\partial A(k(s \circ x, s \circ z))}{\partial \log s_c}\right|_{s = 1}

    Parameters
    ----------
    kernel : Kernel
        With a gradient in its points. Bandwidth rules are resolved on X.
    X : rows (n, d)
    y : array (n,) or (n, c)
        As in `alignment`.

    Returns
    -------
    float64 array (d,)
        Its sum is the derivative in the logarithm of one scale of all columns, which is twice that in log gamma for
        ``Gaussian``, and minus that in the logarithm of ``length`` for ``Matern``.

    Raises
    ------
    TypeError
        If the kernel has no gradient in its points.

    Notes
    -----
    4 n^2 kernel values and O(n^2 d) operations, a block of rows at a time.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.array([[0.0, 0.0], [0.1, 3.0], [3.0, 1.0], [3.1, 2.0]]), ["a", "a", "b", "b"]
    >>> mc.learning.alignment_gradient(mc.Gaussian(0.1), X, y) > 0
    array([ True, False])
    """
    kernel, _, columns = _checked(kernel, X, y)
    require_gradient(kernel, "alignment_gradient")
    return value_and_gradient(kernel, as_dense_rows(X, "X"), columns)[1]


def value_and_gradient(kernel: Kernel, X: Array, columns: Array) -> tuple[float, Array]:
    """Return the alignment with centred columns (n, c), and its gradient in the log scales of the columns of X (d,)."""
    M, a = inner_products([kernel], X, columns)
    value, size = _cosine(M, a, columns, kernel, X)
    gradient = np.zeros(X.shape[1])
    for rows, (block,) in centred_blocks([kernel], X):
        # dA/dK; both arguments of the kernel move, hence the factor 2
        W = columns[rows] @ columns.T / size - value / M[0, 0] * block
        gradient += 2 * np.sum(as_float64(kernel.vjp(X[rows], X, W)) * X[rows], axis=0)
    return value, gradient


def _checked(kernel, X, y):
    """Return the resolved kernel, the points and the target columns."""
    require_kernel(kernel)
    kernel = kernel.resolve(X)
    points = kernel.admit(row_numbers(kernel, X), "X")
    kernel = of_moderate_size(kernel, points)
    check_pairwise(kernel, points)
    return kernel, points, target_columns(y, count_points(points))


def of_moderate_size(kernel: Kernel, X: PointsLike) -> Kernel:
    """Return a multiple of a kernel with k(x, x) of size 1 where products of its values overflow or underflow."""
    size = float(np.abs(as_float64(Gram(kernel, X).diagonal())).max())
    # products of smaller or larger values may not be numbers
    return kernel if not size or 1e-60 < size < 1e60 else float(1 / size) * kernel


def _cosine(M, a, columns, kernel, X):
    """Return the alignment from its inner products, and the product of the norms."""
    norm = float(np.sqrt(M[0, 0]))
    if not norm > len(columns) * rounding(Gram(kernel, X)):
        raise ValueError(
            f"kernel must differ between the points of X, but {shown(kernel)} is constant; scale X or kernel."
        )
    size = norm * float(np.linalg.norm(columns.T @ columns))
    return float(a[0]) / size, size
