"""Pivoted: reduced set selection by orthogonal least squares or pivoted Cholesky."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._common import as_float64
from mercer.gram import Gram
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
        lengths = np.array(matrix.diagonal(), np.float64)
        floor = len(lengths) * np.finfo(matrix.dtype).eps * lengths.max()
        left = target.values.astype(np.float64)
        factor = np.empty((min(n_vectors, 64), len(lengths)))
        order = np.empty(0, dtype=np.intp)
        while len(order) < n_vectors and (lengths > floor).any():
            gains = (
                lengths
                if not self.aimed
                else np.einsum("ij,ij->i", left, left) / np.maximum(lengths, floor)
            )
            i = int(np.argmax(np.where(lengths > floor, gains, -1.0)))
            size = len(order)
            if size == len(factor):
                factor = np.concatenate(
                    [factor, np.empty((min(size, n_vectors - size), len(lengths)))]
                )
            column = as_float64(matrix[:, [i]])[:, 0] - factor[:size, i] @ factor[:size]
            pivot = np.sqrt(lengths[i])
            factor[size] = column / pivot
            lengths = lengths - factor[size] ** 2
            left = left - np.outer(factor[size], left[i] / pivot)
            # exactly 0, whatever the rounding
            lengths[i] = 0.0
            order = np.append(order, i)
            yield Stage(target.points, order)
