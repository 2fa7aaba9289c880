"""Pivoted: reduced set selection by orthogonal least squares or pivoted Cholesky."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.gram import Gram
from mercer.linalg import cholesky
from mercer.reduction.base import Selection, Stage, Target


@dataclass(frozen=True)
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

    def find(self, target: Target, n_vectors: int, tol: float) -> Iterator[Any]:
        """Yield the selected points, one more each time."""
        matrix = Gram(target.kernel, target.points)
        partial = cholesky.Partial(matrix, matrix.diagonal(), None, None)
        left = target.values.astype(np.float64)
        while partial.open and partial.size < n_vectors:
            lengths = partial.diagonal
            gains = lengths
            if self.aimed:
                squares = np.einsum("ij,ij->i", left, left)
                gains = np.divide(squares, lengths, out=np.full(len(left), -1.0), where=lengths > 0)
            i = int(np.argmax(gains))
            partial.add_one(i)
            new = partial.factor[:, -1]
            left = left - np.outer(new, left[i] / new[i])
            yield Stage(target.points, partial.pivots)
