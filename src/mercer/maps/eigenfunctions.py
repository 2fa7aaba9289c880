"""The Mercer map: numerical eigenfunctions of the integral operator of a kernel, from a weighted sample."""

from dataclasses import dataclass

import numpy as np

from mercer._common import check_integer, check_positive, check_weights, warn
from mercer.expansion import Expansion, features
from mercer.factor import warn_if_indefinite
from mercer.linalg import eigh
from mercer.linalg.operators import InnerProducts, Weighted, epsilon


@dataclass(frozen=True)
class MercerMap:
    r"""The map x -> (sqrt(lambda_1) psi_1(x), ..., sqrt(lambda_r) psi_r(x)), whose dot product approaches k(x, z).

    Attributes
    ----------
    values : array (r,)
        Eigenvalues of the integral operator, descending.
    eigenfunctions : Expansion
        psi_1 .. psi_r, with squares of mean 1 over the sample, orthogonal.
    sup_error : float
        The largest |k(x, z) - sum_j lambda_j psi_j(x) psi_j(z)| over the sample.

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
    def expansion(self):
        """The map as orthonormal vectors of feature space, sqrt(lambda_j) psi_j: an Expansion."""
        return self.eigenfunctions * np.sqrt(self.values)

    def __call__(self, X):
        """Return the mapped points.

        Parameters
        ----------
        X : points (n)

        Returns
        -------
        array (n, r)
        """
        return self.expansion(X)


def mercer_map(kernel, X, n=None, *, weights=None, tol=None, memory="1GB", random_state=None):
    r"""Return the leading eigenvalues and eigenfunctions of f -> int k(., z) f(z) dmu(z), mu the weighted sample.

    .. math:: D K D v_j = \lambda_j v_j, \quad D = \mathrm{diag}(\sqrt{w}), \qquad
       \psi_j(x) = \lambda_j^{-1} \sum_i \sqrt{w_i}\, v_{ij}\, k(x, x_i)

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    X : points (m)
        A sample of the measure, or the nodes of a quadrature rule.
    n : int, optional
        Most terms; all above rounding when left out.
    weights : array (m,), optional
        Above 0; scaled to sum to 1. Equal when left out.
    tol : float, optional
        Keep the fewest terms with which no kernel value between points of the sample is off by more than this.
    memory : str or int
        Bytes that the m x m matrix may take; needed without ``n``.
    random_state : int, RandomState, Generator or None

    Returns
    -------
    MercerMap

    Raises
    ------
    ValueError
        For weights that are not positive, or a ``tol`` that the terms there are do not reach, with the error they
        do.
    MemoryError
        When all terms are asked of a matrix larger than the budget.

    Warns
    -----
    UserWarning
        When n exceeds the numerical rank, with both; when the kernel is indefinite on the sample.

    Notes
    -----
    Dense, O(m^3), for at most 2 000 points or n >= m / 8; Lanczos on lazy products otherwise. Eigenvalues below m eps
    lambda_max are cut. The remainder is positive semidefinite, so that its largest entry is on the diagonal: the
    error costs m^2 kernel values. A sample of size m gives eigenvalues to about m^(-1/2), a quadrature rule far better.

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
    root = np.sqrt(_normalised(weights, len(phi)))
    values, vectors = _positive_pairs(Weighted(InnerProducts(phi, memory), root), n, kernel, random_state)
    coef = (root[:, None] * vectors / np.sqrt(values)).astype(phi.norms().dtype)
    terms = np.asarray((phi @ coef)(X), np.float64)
    diagonal = np.asarray(phi.norms(), np.float64) ** 2
    errors = np.max(np.abs(diagonal[:, None] - np.cumsum(terms**2, axis=1)), axis=0)
    r = len(values) if tol is None else _fewest(errors, tol)
    eigenfunctions = phi @ (coef[:, :r] / np.sqrt(values[:r]).astype(coef.dtype))
    return MercerMap(values[:r], eigenfunctions, float(errors[r - 1]))


def _positive_pairs(operator, n, kernel, random_state):
    """Return the leading eigenvalues above rounding and their eigenvectors."""
    m = operator.shape[0]
    if n is not None:
        check_integer("n", n)
    operator, pairs = eigh.leading(operator, m if n is None else min(n, m), random_state=random_state)
    largest = float(pairs.values[0])
    floor = m * epsilon(operator) * largest
    warn_if_indefinite(kernel, operator, floor, largest, random_state=random_state)
    rank = int((pairs.values > max(floor, 0.0)).sum())
    if rank == 0:
        raise ValueError(f"the kernel has no positive eigenvalue on these {m} points (largest {largest:.1e}).")
    if n is not None and rank < n:
        warn(f"n = {n} terms exceed the numerical rank {rank} of {m} points; {rank} are returned.")
    return pairs.values[:rank], np.asarray(pairs.vectors[:, :rank], np.float64)


def _normalised(weights, m):
    weights = check_weights("weights", weights, m)
    if not weights.min() > 0:
        raise ValueError(f"weights[{weights.argmin()}] = 0.0 must be above 0; leave out points of weight 0.")
    return weights / weights.sum()


def _fewest(errors, tol):
    """Return the fewest terms whose error is at most ``tol``."""
    check_positive("tol", tol)
    enough = np.flatnonzero(errors <= tol)
    if not len(enough):
        raise ValueError(
            f"tol = {tol!r} is below {errors.min():.2e}, what {len(errors)} terms reach; ask for more terms, for a "
            "larger tol, or give a positive semidefinite kernel."
        )
    return int(enough[0]) + 1
