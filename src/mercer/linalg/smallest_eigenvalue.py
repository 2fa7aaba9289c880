"""Smallest eigenvalue of a symmetric operator with an error bound, to detect indefinite kernels."""

import warnings
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from sklearn.exceptions import ConvergenceWarning

from mercer._common import Seed, as_float64
from mercer.linalg import eigh, lanczos, lapack
from mercer.linalg.operators import Negated, Operator, epsilon


@dataclass(frozen=True)
class Smallest:
    """An estimate of the smallest eigenvalue.

    Attributes
    ----------
    value : float
        A Rayleigh quotient, at least the smallest eigenvalue up to rounding. Below ``-error`` the operator is
        indefinite.
    error : float
        An eigenvalue lies within this of ``value``. It includes n eps |K| for rounding of the values of K.
    vector : array (n,)
        Unit vector with the Rayleigh quotient ``value``.
    """

    value: float
    error: float
    vector: np.ndarray


def smallest(operator: Operator, *, max_products: int = 20, random_state: Seed = None) -> Smallest:
    """Return the smallest eigenvalue of a symmetric operator: dense and O(n^3) below order 2 000, else by Lanczos.

    Lanczos takes at most ``max_products`` products with blocks of 16 columns; ``error`` includes its residual. Below
    order 2 000 the symmetric part of the operator is used.
    """
    n = eigh.order(operator, 1)
    rounding = n * epsilon(operator)
    if n < eigh.DENSE_ORDER:
        K = as_float64(operator @ np.eye(n))
        values, vectors = lapack.eigenvectors((K + K.T) / 2, 0, 0)
        # SciPy's norm of a vector is that of BLAS, whose squares neither overflow nor underflow
        return Smallest(
            float(values[0]), rounding * float(scipy.linalg.norm(K.ravel())), vectors[:, 0]
        )
    with warnings.catch_warnings():
        # the error bound reports missing convergence
        warnings.simplefilter("ignore", ConvergenceWarning)
        pairs = lanczos.lanczos(
            Negated(operator), 1, tol=1e-6, max_products=max_products, random_state=random_state
        )
    return Smallest(
        -float(pairs.values[0]),
        (float(pairs.residuals[0]) + rounding) * pairs.norm,
        pairs.vectors[:, 0],
    )
