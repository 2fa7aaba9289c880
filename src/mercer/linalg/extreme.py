"""The smallest eigenvalue of a symmetric operator, with an error bar: what tells an indefinite kernel."""

import warnings
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from sklearn.exceptions import ConvergenceWarning

from mercer.linalg import eigh


@dataclass(frozen=True)
class Smallest:
    """An estimate of the smallest eigenvalue.

    Attributes
    ----------
    value : float
        A Rayleigh quotient, so never below the smallest eigenvalue: where it is negative, the operator is indefinite.
    error : float
        An eigenvalue lies within this of ``value``.
    norm : float
        Largest absolute eigenvalue seen.
    """

    value: float
    error: float
    norm: float


def smallest(operator, *, max_products=20, random_state=None):
    """Return the smallest eigenvalue of a symmetric operator with an error bar: a few Lanczos steps, dense below order
    2 000.

    Parameters
    ----------
    operator : symmetric operator (n, n)
    max_products : int
    random_state : int, RandomState, Generator or None

    Returns
    -------
    Smallest

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linalg.extreme import smallest
    >>> smallest(np.diag([2.0, -1.0])).value
    -1.0
    """
    n = eigh.order(operator, 1)
    if n < eigh.DENSE_ORDER:
        K = np.asarray(operator @ np.eye(n), np.float64)
        values = scipy.linalg.eigvalsh((K + K.T) / 2, driver="evr", check_finite=False)
        norm = float(np.max(np.abs(values)))
        return Smallest(float(values[0]), n * float(np.finfo(np.float64).eps) * norm, norm)
    with warnings.catch_warnings():
        # the error bar says how far it came
        warnings.simplefilter("ignore", ConvergenceWarning)
        pairs = eigh.lanczos(Negated(operator), 1, tol=1e-6, max_products=max_products, random_state=random_state)
    return Smallest(-float(pairs.values[0]), float(pairs.residuals[0]) * pairs.norm, pairs.norm)


class Negated:
    """The operator -K, whose largest eigenvalues are the smallest of K.

    Parameters
    ----------
    operator : symmetric operator (n, n)
    """

    def __init__(self, operator):
        self._operator, self.shape, self.dtype = operator, operator.shape, operator.dtype

    def __matmul__(self, V):
        """Return -K V."""
        return -(self._operator @ V)
