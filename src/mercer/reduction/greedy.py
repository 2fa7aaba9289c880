"""Greedy: reduced set selection that drops the term with the smallest loss, one after another."""

import numpy as np

from mercer._common import Array
from mercer._compute.compile import compiled
from mercer._compute.costs import STEP_WORK
from mercer.linalg.cholesky import inverse_transpose
from mercer.reduction.subset import Elimination, Independent


class Greedy(Elimination):
    r"""Reduced set selection (RSS): drop the term with the smallest loss; the exact form of the eigenvector criterion.

    With the best coefficients A of the remaining terms, dropping term n and re-optimising the others adds the error

    .. math:: \rho(n) = \sum_j \frac{A_{nj}^2}{(K^{-1})_{nn}}, \qquad
              A_{ij} \leftarrow A_{ij} - A_{nj} \frac{(K^{-1})_{in}}{(K^{-1})_{nn}}.

    The numerical null space is removed first by pivoted Cholesky: its loss is 0, and K must be invertible. Then
    :math:`K^{-1} = W W'` is down-dated through W by one reflection per term; down-dating :math:`K^{-1}` itself loses
    all digits for a Gaussian kernel.

    Parameters
    ----------
    memory : str or int
        Bytes for five n x n matrices.

    Notes
    -----
    O(n^3) once for all sizes and columns. The sets are nested. Greedy removal need not find the best subset of each
    size; the reported errors are recomputed for its sets.

    References
    ----------
    Schoelkopf, Mika, Burges, Knirsch, Mueller, Raetsch, Smola, *Input space versus feature space in kernel-based
    methods*, IEEE TNN 10 (1999), section V-C.1 and the remark that follows it.
    Hassibi, Stork, *Second order derivatives for network pruning: optimal brain surgeon*, NIPS 5 (1993), eq. (5).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.reduction import Greedy, reduce
    >>> X = np.array([[0.0], [0.1], [3.0]])
    >>> psi = mc.Expansion(mc.Gaussian(1.0), X, np.array([[1.0], [1.0], [0.5]]))
    >>> answer = reduce(psi, 2, method=Greedy())
    >>> answer.expansion.points.ravel().tolist(), bool(answer.relative_error < 0.1)
    ([0.1, 3.0], True)
    """

    def order(self, basis: Independent) -> Array:
        """Return the terms, the last dropped first."""
        return eliminate(basis)[0]


def eliminate(basis: Independent) -> tuple[Array, Array]:
    """Return the terms, the last dropped first, and the squared error that each removal adds, summed over columns.

    The squared error with the first s terms is the sum of ``losses[s:]``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.reduction.greedy import eliminate
    >>> from mercer.reduction.subset import independent
    >>> eliminate(independent(np.diag([1.0, 4.0]), np.array([[3.0], [1.0]])))
    (array([0, 1]), array([9., 4.]))
    """
    r = len(basis.rows)
    W = np.ascontiguousarray(inverse_transpose(basis.factor))
    A = np.ascontiguousarray(W @ basis.coordinates)
    rows = basis.rows.astype(np.int64)
    losses = np.empty(r)
    left = r
    while left:
        steps = min(left, 1 + STEP_WORK // left**2)
        _drop(W, A, rows, losses, left, steps)
        left -= steps
    return rows, losses


@compiled
def _drop(W, A, rows, losses, left, steps):
    """Drop ``steps`` terms of the first ``left`` rows; dropped terms and their losses move behind the others."""
    m = A.shape[1]
    u = np.empty(left)
    own = np.empty(m)
    for last in range(left - 1, left - 1 - steps, -1):
        least = np.inf
        term = 0
        for i in range(last + 1):
            square = 0.0
            total = 0.0
            for l in range(last + 1):  # noqa: E741
                square += W[i, l] * W[i, l]
            for j in range(m):
                total += A[i, j] * A[i, j]
            if total / square < least:
                least = total / square
                term = i
        losses[last] = least
        length = 0.0
        for l in range(last + 1):  # noqa: E741
            u[l] = W[term, l]
            length += u[l] * u[l]
            W[term, l] = W[last, l]
        length = np.sqrt(length)
        for j in range(m):
            own[j] = A[term, j] / length
            A[term, j] = A[last, j]
        rows[term], rows[last] = rows[last], rows[term]
        # the reflection that maps the dropped row of W to the last axis, which is then dropped
        sign = 1.0 if u[last] < 0 else -1.0
        for l in range(last + 1):  # noqa: E741
            u[l] /= length
        u[last] -= sign
        half = 1.0 - sign * (u[last] + sign)
        for i in range(last):
            along = 0.0
            for l in range(last + 1):  # noqa: E741
                along += W[i, l] * u[l]
            along /= half
            for l in range(last + 1):  # noqa: E741
                W[i, l] -= along * u[l]
            for j in range(m):
                A[i, j] -= sign * W[i, last] * own[j]
