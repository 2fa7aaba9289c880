"""Reduced set selection: Pivoted adds terms, Greedy and Eigenvector drop them, Exhaustive searches; the Gram matrix."""

import math
from typing import NamedTuple

import numpy as np
import scipy.linalg

from mercer._common import EPS, Array, Memory, check_positive, record, shown
from mercer._compute.compile import compiled
from mercer._compute.costs import STEP_WORK
from mercer._compute.memory import parse_memory, require_memory
from mercer._compute.points import sum_squares
from mercer._compute.threads import threaded_blas
from mercer.gram import Gram
from mercer.linalg import cholesky
from mercer.reduction.base import Selection, Stage, Target


def gram(target: Target, memory: Memory, matrices: int) -> Array:
    """Return the Gram matrix (n, n) of the points of a target; an indefinite one is refused with a ValueError.

    Raises a MemoryError before any computation if ``matrices`` arrays of this size exceed ``memory``.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.reduction.base import Target
    >>> from mercer.reduction.subset import gram
    >>> gram(Target(mc.features(mc.Linear(), np.array([[1.0], [2.0]]))), "1GB", 1)
    array([[1., 2.],
           [2., 4.]])
    """
    lazy = Gram(target.kernel, target.points, memory=memory)
    n = lazy.shape[0]
    require_memory(
        8 * matrices * n * n,
        memory,
        f"{matrices} matrices of {n} x {n} points",
        'method="pivoted" or "construct", which keep columns only, or a larger memory= of the record',
    )
    K = np.asarray(lazy.dense())
    if target.kernel.tags.positive_semidefinite is True:
        return K
    least, largest = (
        scipy.linalg.eigvalsh((K + K.T) / 2, subset_by_index=[i, i], check_finite=False)[0]
        for i in (0, n - 1)
    )
    if least < -n * np.finfo(K.dtype).eps * max(largest, -least):
        raise ValueError(
            f"{type(target.kernel).__name__} is indefinite on these points: its eigenvalues reach from {least:.3g} to "
            f'{largest:.3g}; selection needs norms in feature space, so use method="construct".'
        )
    return K


class Independent(NamedTuple):
    """Linearly independent features that span all others, and the coordinates of the vectors in their span.

    ``rows`` (r,) are their points in pivot order, ``factor`` (r, r) is L with K[rows, rows] = L L', and
    ``coordinates`` (r, m) is T with |psi_j|^2 = |T_j|^2 and coefficients L'^-1 T_j.
    """

    rows: np.ndarray
    factor: np.ndarray
    coordinates: np.ndarray


def independent(K: Array, coef: Array) -> Independent:
    """Return independent features by pivoted Cholesky in O(n r^2); pivots below n eps of the largest are dropped.

    The condition of L is at most about (n eps)^(-1/2), so methods update L and not the inverse of K.

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


@record
class Elimination(Selection):
    """Reduced set selection that drops linearly independent terms one by one, in the order of ``eliminate``."""

    memory: str | int = "1GB"

    def __post_init__(self) -> None:
        parse_memory(self.memory)

    def find(self, target, n_vectors, tol):
        """Yield nested sets of the remaining terms."""
        basis = independent(gram(target, self.memory, 5), target.coef)
        rows, _ = self.eliminate(basis)
        order = rows[:n_vectors]
        for size in range(1, len(order) + 1):
            yield Stage(target.points, order[:size])


def eliminate(basis: Independent) -> tuple[Array, Array]:
    """Return the terms, the last dropped first, and the squared error that each removal adds, summed over columns.

    The squared error with the first s terms is the sum of ``losses[s:]``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.reduction.subset import eliminate, independent
    >>> eliminate(independent(np.diag([1.0, 4.0]), np.array([[3.0], [1.0]])))
    (array([0, 1]), array([9., 4.]))
    """
    r = len(basis.rows)
    W = np.ascontiguousarray(cholesky.inverse_transpose(basis.factor))
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

    eliminate = staticmethod(eliminate)


def eliminate_by_eigenvectors(basis: Independent) -> tuple[Array, Array]:
    """Return the terms, the last dropped first, and the bound rho(v, n) of each removal on the squared error it adds.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.reduction.subset import eliminate_by_eigenvectors, independent
    >>> eliminate_by_eigenvectors(independent(np.diag([1.0, 4.0]), np.array([[3.0], [1.0]])))
    (array([0, 1]), array([9., 4.]))
    """
    K = basis.factor @ basis.factor.T
    values = basis.factor @ basis.coordinates
    left = np.arange(len(K))
    dropped = []
    bounds = []
    while len(left):
        with threaded_blas(9 * len(left) ** 3):
            eigenvalues, V = np.linalg.eigh(K[np.ix_(left, left)])
        # the null space is removed: eigenvalues of 0 or less are rounding errors
        eigenvalues = np.maximum(eigenvalues, EPS * eigenvalues[-1])
        A = V @ ((V.T @ values[left]) / eigenvalues[:, None])
        sizes = sum_squares(A)
        with np.errstate(divide="ignore", over="ignore"):
            errors = eigenvalues * (sizes[:, None] / V**2)
        # a term without coefficients has no error, also where its entry of the eigenvector is 0
        errors[sizes == 0] = 0
        term, which = np.unravel_index(np.argmin(errors), errors.shape)
        bounds.append(errors[term, which])
        dropped.append(left[term])
        left = np.delete(left, term)
    return basis.rows[dropped[::-1]], np.array(bounds[::-1])


class Eigenvector(Elimination):
    r"""Reduced set selection (RSS): drop the term that an eigenvector of the Gram matrix replaces best by the others.

    With an eigenvector :math:`K v = \lambda v`, :math:`|v| = 1`, term n can be dropped by

    .. math:: A_{ij} \leftarrow A_{ij} - A_{nj} \frac{v_i}{v_n}, \qquad
              \text{with the squared error} \qquad \rho(v, n) = \lambda \sum_j \frac{A_{nj}^2}{v_n^2}.

    Each step uses the pair of eigenvector and term with the smallest error, re-optimises the coefficients, and computes
    the eigenvectors of the remaining terms. The numerical null space, where lambda = 0, is removed first by pivoted
    Cholesky.

    Parameters
    ----------
    memory : str or int
        Bytes for five n x n matrices.

    Notes
    -----
    O(n^4), one diagonalisation per term. ``Greedy`` minimises over all directions what this minimises over
    eigenvectors, and errors O(n^3) for all terms together: rho(v, n) is an upper bound of its loss, and equal to it
    where lambda = 0 or where the best replacement is an eigenvector.

    References
    ----------
    Schoelkopf, Mika, Burges, Knirsch, Mueller, Raetsch, Smola, *Input space versus feature space in kernel-based
    methods*, IEEE TNN 10 (1999), section V-C.1.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.reduction import Eigenvector, reduce
    >>> X = np.array([[0.0], [0.1], [3.0]])
    >>> psi = mc.Expansion(mc.Gaussian(1.0), X, np.array([[1.0], [1.0], [0.5]]))
    >>> reduce(psi, 2, method=Eigenvector()).expansion.points.ravel().tolist()
    [0.1, 3.0]
    """

    eliminate = staticmethod(eliminate_by_eigenvectors)


@record
class Pivoted(Selection):
    r"""Reduced set selection (RSS) by pivoting: the point whose new direction lowers the error most, or is longest.

    With :math:`\phi(x)_\perp` the part of a feature orthogonal to the selected ones, and psi_j' the residual of psi_j,
    the next point is that of

    .. math:: \max_x \sum_j \frac{\langle\psi_j', \phi(x)\rangle^2}{|\phi(x)_\perp|^2}
              \qquad\text{or}\qquad \max_x |\phi(x)_\perp|^2

    Parameters
    ----------
    aimed : bool
        The first rule, orthogonal least squares. If False the second, pivoted Cholesky: the selected points do not
        depend on the vectors.

    Notes
    -----
    O(n s (d + s + m)) for s points and n s numbers of memory: no Gram matrix is stored. The sets are nested.
    Under an indefinite kernel the run may end early.

    References
    ----------
    Chen, Cowan, Grant, *Orthogonal least squares learning algorithm for radial basis function networks*, IEEE TNN 2
    (1991).
    Fine, Scheinberg, *Efficient SVM training using low-rank kernel representations*, JMLR 2 (2001), section 4.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.reduction import Pivoted, reduce
    >>> X = np.array([[0.0], [0.1], [3.0]])
    >>> psi = mc.Expansion(mc.Gaussian(1.0), X, np.array([[1.0], [1.0], [0.5]]))
    >>> reduce(psi, 2, method=Pivoted()).expansion.points.ravel().tolist()
    [0.1, 3.0]
    """

    aimed: bool = True

    def find(self, target, n_vectors, tol):
        """Yield the selected points, one more each time."""
        matrix = Gram(target.kernel, target.points)
        partial = cholesky.Partial(matrix, matrix.diagonal(), None, None)
        left = target.values.astype(np.float64)
        while partial.open and partial.size < n_vectors:
            lengths = partial.diagonal
            gains = lengths
            if self.aimed:
                squares = sum_squares(left)
                gains = np.divide(squares, lengths, out=np.full(len(left), -1.0), where=lengths > 0)
            i = int(np.argmax(gains))
            partial.add_one(i)
            new = partial.factor[:, -1]
            left = left - np.outer(new, left[i] / new[i])
            yield Stage(target.points, partial.pivots)


@record
class Exhaustive(Selection):
    r"""Reduced set selection (RSS): the best of all subsets of a size, for small problems and to judge other methods.

    .. math:: \max_{|S| = s} \; \sum_j |P_S \psi_j|^2

    with :math:`P_S` the projection onto the span of the selected features. With a ``tol`` of ``reduce`` the sizes 1, 2,
    ... are searched until one reaches it.

    Parameters
    ----------
    limit : float
        Largest number of subsets of one size that is searched.
    memory : str or int
        Bytes for s + 3 matrices of n x n numbers.

    Raises
    ------
    ValueError
        By ``reduce``, if there are more subsets; the message gives their number.

    Notes
    -----
    Subsets are visited in lexicographic order, and features are made orthogonal to the selected ones by rank-one
    updates, which a subset shares with all that start like it: O(n r) operations for each choice of the first s - 1
    points, r the rank of K, and O(r + m) for each subset. Of equal subsets the first is taken, without points whose
    features the others span.

    References
    ----------
    Schoelkopf, Mika, Burges, Knirsch, Mueller, Raetsch, Smola, *Input space versus feature space in kernel-based
    methods*, IEEE TNN 10 (1999), section V-C: the search that selection by a penalty replaces.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.array([[0.0], [0.1], [3.0], [3.2]])
    >>> psi = mc.Expansion(mc.Gaussian(1.0), X, np.array([[1.0], [1.0], [0.5], [0.6]]))
    >>> mc.reduce(psi, 2, method=mc.Exhaustive()).expansion.points.ravel().tolist()
    [0.0, 3.2]
    """

    limit: float = 1e6
    memory: str | int = "1GB"

    def __post_init__(self) -> None:
        check_positive("limit", self.limit)
        parse_memory(self.memory)

    def find(self, target, n_vectors, tol):
        """Yield the best set of ``n_vectors`` points, or with a tolerance the best set of every size."""
        n = len(target.values)
        sizes = range(1, n_vectors + 1) if tol else [n_vectors]
        self._require_few(n, sizes[0])
        K = gram(target, self.memory, sizes[-1] + 3)
        factor = np.ascontiguousarray(cholesky.pivoted(K).factor, np.float64)
        for size in sizes:
            self._require_few(n, size)
            rows = best_subset(factor, factor.T @ target.coef, size)
            # without features that the others span, whose coefficients amplify rounding
            own = cholesky.pivoted(K[np.ix_(rows, rows)]).pivots
            yield Stage(target.points, rows[np.sort(own)])

    def _require_few(self, n, size):
        count = math.comb(n, size)
        if count > self.limit:
            raise ValueError(
                f"n_vectors = {size} of {n} points gives {count} subsets, more than limit = {shown(self.limit)}; use "
                "Exhaustive with a larger limit, fewer vectors, or method='greedy'."
            )


def best_subset(factor: Array, vectors: Array, size: int) -> Array:
    """Return the rows (size,) of a factor (n, r) whose span is nearest to some vectors (r, m).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.reduction.subset import best_subset
    >>> best_subset(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([[2.0], [2.0]]), 1)
    array([2])
    """
    n, r = factor.shape
    # features whose directions are shorter count as spanned, as in all factors
    floor = n * EPS * float(sum_squares(factor).max())
    left = np.empty((size, n, r))
    gains = np.empty(size)
    rows = np.empty(size, np.int64)
    best = np.array([-1.0])
    found = np.empty(size, np.int64)
    left[0] = factor
    # one call for each first point, so that Ctrl-C is answered between calls
    for first in range(n - size + 1):
        _search(left, np.ascontiguousarray(vectors), gains, rows, floor, first, best, found)
    return found


@compiled
def _search(left, vectors, gains, rows, floor, first, best, found):
    """Search the subsets that start with a point; ``best`` (1,) and ``found`` (size,) become those of a better one."""
    size, n, _ = left.shape
    last = size - 1
    gains[0] = 0.0
    level = 0
    rows[0] = first
    while level >= 0:
        i = rows[level]
        if i > n - size + level or (level == 0 and i > first):
            level -= 1
            if level >= 0:
                rows[level] += 1
            continue
        gain = gains[level] + _gain(left[level, i], vectors, floor)
        if level == last:
            if gain > best[0]:
                best[0] = gain
                found[:] = rows
            rows[level] += 1
        else:
            gains[level + 1] = gain
            _deflate(left, level, i, floor)
            rows[level + 1] = i + 1
            level += 1


@compiled
def _gain(direction, vectors, floor):
    """Return the squared projection of vectors (r, m) onto a direction (r,)."""
    square = 0.0
    total = 0.0
    for k in range(len(direction)):
        square += direction[k] * direction[k]
    if square <= floor:
        return 0.0
    for j in range(vectors.shape[1]):
        along = 0.0
        for k in range(len(direction)):
            along += direction[k] * vectors[k, j]
        total += along * along
    return total / square


@compiled
def _deflate(left, level, i, floor):
    """Write the later features without their parts along feature i to the next level."""
    n, r = left.shape[1:]
    square = 0.0
    for k in range(r):
        square += left[level, i, k] * left[level, i, k]
    for x in range(i + 1, n):
        along = 0.0
        if square > floor:
            for k in range(r):
                along += left[level, i, k] * left[level, x, k]
            along /= square
        for k in range(r):
            left[level + 1, x, k] = left[level, x, k] - along * left[level, i, k]
