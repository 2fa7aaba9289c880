"""Eigenvector: reduced set selection by the eigenvectors of small eigenvalues of the Gram matrix."""

import numpy as np

from mercer._common import EPS, Array
from mercer._compute.threads import threaded_blas
from mercer.reduction.subset import Elimination, Independent


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

    def order(self, basis: Independent) -> Array:
        """Return the terms, the last dropped first."""
        return eliminate(basis)[0]


def eliminate(basis: Independent) -> tuple[Array, Array]:
    """Return the terms, the last dropped first, and the bound rho(v, n) of each removal on the squared error it adds.

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
    left = np.arange(len(K))
    dropped = []
    bounds = []
    while len(left):
        with threaded_blas(9 * len(left) ** 3):
            eigenvalues, V = np.linalg.eigh(K[np.ix_(left, left)])
        # the null space is removed: eigenvalues of 0 or less are rounding errors
        eigenvalues = np.maximum(eigenvalues, EPS * eigenvalues[-1])
        A = V @ ((V.T @ values[left]) / eigenvalues[:, None])
        sizes = np.einsum("ij,ij->i", A, A)
        with np.errstate(divide="ignore", over="ignore"):
            errors = eigenvalues * (sizes[:, None] / V**2)
        # a term without coefficients has no error, also where its entry of the eigenvector is 0
        errors[sizes == 0] = 0
        term, which = np.unravel_index(np.argmin(errors), errors.shape)
        bounds.append(errors[term, which])
        dropped.append(left[term])
        left = np.delete(left, term)
    return basis.rows[dropped[::-1]], np.array(bounds[::-1])
