"""Mercer map: numerical eigenfunctions of the integral operator of a kernel on a weighted sample."""

import numpy as np

from mercer._common import (
    Array,
    ArrayLike,
    Memory,
    PointsLike,
    Seed,
    array_record,
    as_float64,
    check_positive,
    check_weights,
    shown,
)
from mercer._compute.memory import blocks
from mercer.expansion import Expansion, features, require_symmetric, squares
from mercer.factor import Wanted, positive_eigenpairs
from mercer.gram import Gram
from mercer.kernels.base import Kernel
from mercer.linalg.operators import InnerProducts, Weighted


@array_record
class MercerMap:
    r"""The map x -> (sqrt(lambda_1) psi_1(x), ..., sqrt(lambda_r) psi_r(x)), whose dot product approaches k(x, z).

    Attributes
    ----------
    values : array (r,)
        Eigenvalues of the integral operator, descending.
    eigenfunctions : Expansion
        psi_1 .. psi_r, orthogonal over the sample, their squares with mean 1.
    sup_error : float
        Largest |k(x, z) - sum_j lambda_j psi_j(x) psi_j(z)| over the sample.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.maps import mercer_map
    >>> nodes, weights = np.polynomial.legendre.leggauss(50)
    >>> brownian = mercer_map(mc.Intersection(), (nodes[:, None] + 1) / 2, 2, weights=weights)
    >>> 1 / (np.pi**2 * brownian.values)
    array([0.25, 2.25])
    """

    values: np.ndarray
    eigenfunctions: Expansion
    sup_error: float

    @property
    def expansion(self) -> Expansion:
        """The map as orthonormal vectors of feature space, sqrt(lambda_j) psi_j; an Expansion."""
        return self.eigenfunctions * np.sqrt(self.values)

    def __call__(self, X: PointsLike) -> Array:
        """Return the mapped points.

        Parameters
        ----------
        X : points (n)

        Returns
        -------
        array (n, r)
        """
        return self.expansion(X)


def mercer_map(
    kernel: Kernel,
    X: PointsLike,
    n: int | None = None,
    *,
    weights: ArrayLike | None = None,
    tol: float | None = None,
    memory: Memory = "1GB",
    random_state: Seed = None,
) -> MercerMap:
    r"""Return the leading eigenvalues and eigenfunctions of f -> int k(., z) f(z) dmu(z), mu a weighted sample.

    .. math:: D K D v_j = \lambda_j v_j, \quad D = \mathrm{diag}(\sqrt{w}), \qquad
       \psi_j(x) = \lambda_j^{-1} \sum_i \sqrt{w_i}\, v_{ij}\, k(x, x_i)

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    X : points (m)
        A sample of the measure, or the nodes of a quadrature rule.
    n : int, optional
        Largest number of terms; all above rounding by default.
    weights : array (m,), optional
        Above 0; scaled to sum 1. Equal by default.
    tol : float, optional
        Keep the fewest terms with which every kernel value between points of the sample has at most this error.
    memory : str or int
        Memory limit of the m x m matrix, which is stored when ``n`` is not given.
    random_state : int, RandomState, Generator or None

    Returns
    -------
    MercerMap

    Raises
    ------
    ValueError
        When weights are not positive, or ``tol`` is below the error of all terms.
    MemoryError
        When a matrix must be stored and exceeds the limit.

    Warns
    -----
    UserWarning
        When n exceeds the numerical rank, or the kernel is indefinite on the sample.

    Notes
    -----
    Dense, O(m^3), for at most 2 000 points or n >= m / 8; otherwise Lanczos on lazy products. Eigenvalues below m eps
    lambda_max are cut, eps of the type of the points. The remainder of a positive semidefinite kernel has its largest
    entry on the diagonal; the error costs m^2 kernel values, and O(m^2 n) operations for other kernels. Eigenvalues
    from m random points have errors of about m^(-1/2), from a quadrature rule far smaller ones.

    References
    ----------
    Schoelkopf et al., *Input space versus feature space in kernel-based methods*, IEEE TNN 10 (1999), theorem 1 and
    eq. (10).
    Williams, Seeger, *The effect of the input density distribution on kernel-based classifiers*, ICML (2000).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.maps import mercer_map
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> few = mercer_map(mc.Gaussian(1.0), X, tol=1e-6)
    >>> len(few.values), few.sup_error < 1e-6
    (6, True)
    """
    phi = features(kernel, X)
    require_symmetric("X", phi)
    weights = check_weights("weights", weights, len(phi))
    if not weights.min() > 0:
        raise ValueError(
            f"weights[{weights.argmin()}] = 0.0 must be above 0; leave out points of weight 0."
        )
    root = np.sqrt(weights / weights.sum())
    operator = Weighted(InnerProducts(phi, memory), root)
    message = lambda: (  # noqa: E731
        f"the kernel must have a positive eigenvalue on the {len(phi)} points; use another kernel"
    )
    pairs = positive_eigenpairs(
        operator, Wanted(n, "n", message), kernel, memory=memory, random_state=random_state
    )
    values = pairs.values
    vectors = as_float64(pairs.vectors)
    coef = (root[:, None] * vectors / np.sqrt(values)).astype(phi.norms().dtype)
    terms = as_float64((phi @ coef)(X))
    errors = _errors(kernel, phi, terms)
    r = len(values) if tol is None else _fewest(errors, tol)
    eigenfunctions = phi @ (coef[:, :r] / np.sqrt(values[:r]).astype(coef.dtype))
    return MercerMap(values[:r], eigenfunctions, float(errors[r - 1]))


def _errors(kernel, phi, terms):
    """Return the largest errors (r,) of the kernel values between the points by the first 1, ..., r terms (m, r)."""
    if kernel.tags.positive_semidefinite is True:
        diagonal = as_float64(squares(phi))
        return np.max(np.abs(diagonal[:, None] - np.cumsum(terms**2, axis=1)), axis=0)
    # the remainder of an indefinite kernel may be largest beside the diagonal
    m, r = terms.shape
    errors = np.zeros(r)
    gram = Gram(kernel, phi.points)
    for rows in blocks(m, m):
        rest = as_float64(gram[rows, :])
        for j in range(r):
            rest = rest - np.outer(terms[rows, j], terms[:, j])
            errors[j] = max(errors[j], float(np.abs(rest).max()))
    return errors


def _fewest(errors, tol):
    """Return the fewest terms whose error is at most ``tol``."""
    check_positive("tol", tol)
    enough = np.flatnonzero(errors <= tol)
    if not len(enough):
        raise ValueError(
            f"tol = {shown(tol)} must be at least {errors.min():.2e}, the error of {len(errors)} terms; use more "
            "terms, a larger tol, or a positive semidefinite kernel."
        )
    return int(enough[0]) + 1
