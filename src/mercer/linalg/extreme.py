"""The smallest eigenvalue of a symmetric operator, with an error bar: what tells an indefinite kernel."""

import warnings
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from sklearn.exceptions import ConvergenceWarning

from mercer._compute.namespace import namespace_of
from mercer.linalg import eigh
from mercer.linalg.operators import Negated, epsilon


@dataclass(frozen=True)
class Smallest:
    """An estimate of the smallest eigenvalue.

    Attributes
    ----------
    value : float
        A Rayleigh quotient, so never below the smallest eigenvalue but for rounding: where it is below ``-error``, the
        operator is indefinite.
    error : float
        An eigenvalue lies within this of ``value``; n eps |K| for rounding of the values of K is part of it.
    vector : array (n,)
        Of unit length, whose Rayleigh quotient ``value`` is.
    """

    value: float
    error: float
    vector: np.ndarray


def smallest(operator, *, max_products=20, random_state=None):
    """Return the smallest eigenvalue of a symmetric operator with an error bar: a few Lanczos steps, dense below order
    2 000.

    Parameters
    ----------
    operator : symmetric operator (n, n)
        Only the symmetric part counts below order 2 000. Its type is that of its values.
    max_products : int
        Of Lanczos.
    random_state : int, RandomState, Generator or None

    Returns
    -------
    Smallest

    Notes
    -----
    O(n^3) and three matrices below order 2 000; beyond, ``max_products`` products with blocks of 16 columns.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linalg.extreme import smallest
    >>> found = smallest(np.diag([2.0, -1.0]))
    >>> found.value, np.abs(found.vector)
    (-1.0, array([0., 1.]))
    """
    n = eigh.order(operator, 1)
    rounding = n * epsilon(operator)
    if n < eigh.DENSE_ORDER:
        xp = namespace_of(operator)
        K = np.asarray(operator @ xp.eye(n, dtype=xp.float64), np.float64)
        values, vectors = scipy.linalg.eigh((K + K.T) / 2, subset_by_index=[0, 0], driver="evr", check_finite=False)
        return Smallest(float(values[0]), rounding * float(scipy.linalg.norm(K)), vectors[:, 0])
    with warnings.catch_warnings():
        # the error bar says how far it came
        warnings.simplefilter("ignore", ConvergenceWarning)
        pairs = eigh.lanczos(Negated(operator), 1, tol=1e-6, max_products=max_products, random_state=random_state)
    return Smallest(-float(pairs.values[0]), (float(pairs.residuals[0]) + rounding) * pairs.norm, pairs.vectors[:, 0])
