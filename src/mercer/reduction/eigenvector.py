"""Eigenvector: drop terms by the eigenvectors of small eigenvalues of their Gram matrix."""

from dataclasses import dataclass

import numpy as np

from mercer.reduction.subset import gram, independent, nested


@dataclass(frozen=True)
class Eigenvector:
    r"""Drop the term that some eigenvector of the Gram matrix replaces best by the others: the criterion of 1999.

    With an eigenvector :math:`K v = \lambda v`, :math:`|v| = 1`, term n can be dropped by

    .. math:: A_{ij} \leftarrow A_{ij} - A_{nj} \frac{v_i}{v_n}, \qquad
              \text{which costs} \qquad \rho(v, n) = \lambda \sum_j \frac{A_{nj}^2}{v_n^2}.

    The pair of eigenvector and term with the least cost is taken, the coefficients are re-optimised, and the terms that
    are left diagonalised anew. Where lambda = 0 the cost is 0: the numerical null space goes first, by pivoted
    Cholesky.

    Parameters
    ----------
    memory : str or int
        Bytes for five n x n matrices.

    Notes
    -----
    O(n^4), one diagonalisation per term. ``Greedy`` minimises over all directions what this minimises over
    eigenvectors, and costs O(n^3) for all terms together: rho(v, n) is an upper bound of its loss, and equal to it
    where lambda = 0 or the best replacement is an eigenvector.

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

    memory: str | int = "1GB"

    def require(self, psi):
        """Take every expansion; an indefinite Gram matrix is refused when it is there."""

    def find(self, target, n_vectors, tol):  # noqa: ARG002 - the driver ends the run
        """Yield the terms that are left, the last survivor first."""
        basis = independent(gram(target, self.memory, 5), target.coef)
        yield from nested(target, eliminate(basis)[0][:n_vectors])


def eliminate(basis):
    """Return the terms in the order of their importance, the last survivor first, and what the criterion claimed.

    Parameters
    ----------
    basis : Independent
        r terms.

    Returns
    -------
    order : integer array (r,)
    bounds : array (r,)
        rho(v, n) of each removal: at least what it added to the squared error, summed over columns.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.reduction.eigenvector import eliminate
    >>> from mercer.reduction.subset import independent
    >>> eliminate(independent(np.diag([1.0, 4.0]), np.array([[3.0], [1.0]])))
    (array([0, 1]), array([9., 4.]))
    """
    K = basis.factor @ basis.factor.T
    values = basis.factor @ basis.coordinates
    left, dropped, bounds = np.arange(len(K)), [], []
    while len(left):
        eigenvalues, V = np.linalg.eigh(K[np.ix_(left, left)])
        # the null space is gone: what is at most 0 is rounding of the smallest
        eigenvalues = np.maximum(eigenvalues, np.finfo(float).eps * eigenvalues[-1])
        A = V @ ((V.T @ values[left]) / eigenvalues[:, None])
        sizes = np.einsum("ij,ij->i", A, A)
        with np.errstate(divide="ignore", over="ignore"):
            costs = eigenvalues * (sizes[:, None] / V**2)
        # a term without coefficients costs nothing, even along an eigenvector that does not reach it
        costs[sizes == 0] = 0
        term, which = np.unravel_index(np.argmin(costs), costs.shape)
        bounds.append(costs[term, which])
        dropped.append(left[term])
        left = np.delete(left, term)
    return basis.rows[dropped[::-1]], np.array(bounds[::-1])
