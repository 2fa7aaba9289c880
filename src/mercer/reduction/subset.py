"""What the choice of a subset of the points needs: their Gram matrix, its numerical null space, nested stages."""

from typing import NamedTuple

import numpy as np
import scipy.linalg

from mercer._compute.memory import require_memory
from mercer.gram import Gram
from mercer.linalg import cholesky
from mercer.reduction.base import Stage


def gram(target, memory, matrices=1):
    """Return the Gram matrix (n, n) of the points of a target, refused when it is indefinite.

    Parameters
    ----------
    target : Target
    memory : str or int
        Bytes for it, and for what the method makes of it.
    matrices : int
        How many matrices of this size the method keeps.

    Returns
    -------
    array (n, n)
        In the type of the kernel's values.

    Raises
    ------
    MemoryError
        When the matrices are larger than the budget, before anything is computed.
    ValueError
        When the kernel is not known to be positive semidefinite and has an eigenvalue below -n eps lambda_max on these
        points: a subset is chosen by lengths, and then there are none.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.reduction.base import Target
    >>> from mercer.reduction.subset import gram
    >>> gram(Target(mc.features(mc.Linear(), np.array([[1.0], [2.0]]))), "1GB")
    array([[1., 2.],
           [2., 4.]])
    """
    lazy = Gram(target.kernel, target.points, memory=memory)
    n = lazy.shape[0]
    require_memory(
        8 * matrices * n * n,
        memory,
        f"{matrices} matrices of {n} x {n} points" if matrices > 1 else f"the Gram matrix of {n} points",
        'method="pivoted" or "construct", which keep columns only, or a larger memory= of the record',
    )
    K = np.asarray(lazy.dense())
    if target.kernel.tags.positive_semidefinite is not True:
        _refuse_indefinite(target.kernel, K)
    return K


def _refuse_indefinite(kernel, K):
    n = len(K)
    least, largest = (
        scipy.linalg.eigvalsh((K + K.T) / 2, subset_by_index=[i, i], check_finite=False)[0] for i in (0, n - 1)
    )
    if least < -n * np.finfo(K.dtype).eps * max(largest, -least):
        raise ValueError(
            f"{type(kernel).__name__} is indefinite on these points: its eigenvalues reach from {least:.3g} to "
            f'{largest:.3g}; a subset is chosen by lengths in feature space, so use method="construct".'
        )


class Independent(NamedTuple):
    """Linearly independent features that span all of them, and the vectors written with them alone.

    Attributes
    ----------
    rows : integer array (r,)
        Which of the n points, in the order of their pivots.
    factor : array (r, r)
        L with K[rows, rows] = L L', lower triangular, float64.
    coordinates : array (r, m)
        T of the m vectors in the orthonormal basis of L, with squares |psi_j|^2 = |T_j|^2 and coefficients L'^-1 T_j.
    """

    rows: np.ndarray
    factor: np.ndarray
    coordinates: np.ndarray


def independent(K, coef):
    """Remove the numerical null space of a Gram matrix by pivoted Cholesky: terms that the others replace for nothing.

    Parameters
    ----------
    K : array (n, n)
        Its type sets the floor of pivots, n eps of the largest diagonal entry.
    coef : array (n, m)

    Returns
    -------
    Independent

    Notes
    -----
    O(n r^2). The condition of L is at most about (n eps)^(-1/2), which is why a factor and no inverse is updated later.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.reduction.subset import independent
    >>> basis = independent(np.array([[1.0, 2.0], [2.0, 4.0]]), np.array([[1.0], [1.0]]))
    >>> basis.rows, basis.coordinates
    (array([1]), array([[3.]]))
    """
    part = cholesky.pivoted(K)
    return Independent(part.pivots, np.tril(part.factor[part.pivots]), part.factor.T @ coef)


def nested(target, order):
    """Yield the first point of an order, the first two, and so on.

    Parameters
    ----------
    target : Target
    order : integer array (r,)

    Yields
    ------
    Stage

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.reduction.base import Target
    >>> from mercer.reduction.subset import nested
    >>> target = Target(mc.features(mc.Linear(), np.eye(3)))
    >>> [stage.rows.tolist() for stage in nested(target, np.array([2, 0]))]
    [[2], [2, 0]]
    """
    for size in range(1, len(order) + 1):
        yield Stage(target.points, order[:size])
