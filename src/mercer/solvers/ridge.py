"""Ridge regression in feature space: weights, landmarks, what is left out of it, and many ridges at once."""

import logging
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from mercer._common import check_number, check_weights
from mercer._compute.memory import require_memory
from mercer._compute.points import take_points
from mercer.expansion import Expansion
from mercer.factor import svd
from mercer.least_squares import solve
from mercer.linalg import cholesky, eigh
from mercer.linalg.operators import InnerProducts, Weighted

logger = logging.getLogger(__name__)

# Points whose coordinates are summed at a time.
_ROWS = 4096


@dataclass(frozen=True)
class Ridge:
    """A ridge regression in feature space.

    Attributes
    ----------
    expansion : Expansion
        p vectors psi; the answer at x is <psi, phi(x)>.
    residual : float
        Relative residual of the linear system that was solved.
    posterior : Expansion or None
        Vectors R with posterior variance k(x, x) - |R(x)|^2, where they come for nothing.
    """

    expansion: Expansion
    residual: float
    posterior: Expansion | None = None


@dataclass(frozen=True)
class RidgePath:
    """Ridge regressions of the same numbers for several ridges.

    Attributes
    ----------
    alphas : array (k,)
    coef : array (k, n, p)
        ``phi @ coef[j]`` is the answer for ``alphas[j]``.
    loo_residuals : array (k, n, p)
        Y_i less what the others say of it.
    """

    alphas: np.ndarray
    coef: np.ndarray
    loo_residuals: np.ndarray


def ridge(phi, Y, alpha, weights=None, *, memory="1GB", random_state=None):
    r"""Return the vectors psi that minimise sum_i w_i (<psi, phi_i> - Y_i)^2 + alpha |psi|^2, for each column of Y.

    .. math:: \psi = \Phi S B, \qquad (S M S + \alpha I) B = S Y, \qquad M = \Phi'\Phi, \quad S^2 = \mathrm{diag}(w)

    A weight is as good as that number of repetitions, 0 as good as leaving out.

    Parameters
    ----------
    phi : Expansion
        n vectors.
    Y : array (n,) or (n, p)
    alpha : float
        At least 0; 0 gives the solution of minimum norm.
    weights : array (n,), optional
    memory : str or int
        Bytes that a stored matrix and its factor may take; beyond it conjugate gradients take products only.
    random_state : int, RandomState, Generator or None
        Pivots of the preconditioner.

    Returns
    -------
    Ridge

    Raises
    ------
    ValueError
        As ``lstsq``, and for weights that are negative or all 0.

    Warns
    -----
    UserWarning
        When S M S + alpha I is singular to working precision, with the jitter that it took.
    ConvergenceWarning
        When the relative residual stays above 1e-8 (float32: 1e-4).

    Notes
    -----
    O(n^3) and 16 n^2 bytes, or O(n^2) kernel values per step of conjugate gradients.

    References
    ----------
    Saunders, Gammerman, Vovk, *Ridge regression learning algorithm in dual variables*, ICML (1998).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.solvers.ridge import ridge
    >>> phi = mc.features(mc.Linear(), np.array([[1.0], [1.0]]))
    >>> ridge(phi, np.array([0.0, 3.0]), 0.0, weights=np.array([1.0, 2.0])).expansion(np.array([[1.0]]))
    array([[2.]])
    """
    inner, root = _weighted(phi, weights, memory)
    Y = np.asarray(Y, np.float64)
    targets = root * Y.reshape(len(Y), -1) if len(Y) == len(root) else Y
    solved = solve(inner, targets, alpha, memory=memory, random_state=random_state)
    return Ridge(phi @ (root * solved.coef).astype(inner.dtype), solved.residual)


def restricted(phi, onto, Y, alpha, weights=None, *, memory="1GB"):
    r"""Return the minimiser of ``ridge`` among the vectors in the span of some others, and its posterior.

    With orthonormal vectors Q of the span and the coordinates F = Q'Phi of the data,

    .. math:: \psi = Q (N + \alpha I)^{-1} F S^2 Y, \qquad N = F S^2 F' = V \mathrm{diag}(\nu) V', \qquad
              R = Q V \mathrm{diag}(\nu / (\nu + \alpha))^{1/2}.

    Parameters
    ----------
    phi : Expansion
        The features of n points.
    onto : Expansion
        m vectors, usually features of landmarks; those that depend on others cost nothing.
    Y : array (n,) or (n, p)
    alpha : float
        At least 0.
    weights : array (n,), optional
    memory : str or int
        Bytes that matrices of order m may take.

    Returns
    -------
    Ridge
        Over the points of ``onto``, with its posterior: exact for the part of phi(x) in the span, k(x, x) less nothing
        for the rest.

    Raises
    ------
    MemoryError
        When three matrices of order m exceed the budget.

    Warns
    -----
    UserWarning
        When the kernel is indefinite on ``onto``, with lambda_min / lambda_max.

    Notes
    -----
    n m kernel values and O(n m^2) in tiles, O(m^3) once; nothing of size n is stored. Directions of the span are left
    out whose eigenvalue is below 4e-11 (float32: 2e-5) of the largest.

    References
    ----------
    Quinonero-Candela, Rasmussen, *A unifying view of sparse approximate Gaussian process regression*, JMLR 6 (2005),
    eq. (20), the deterministic training conditional.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.solvers.ridge import restricted
    >>> phi = mc.features(mc.Linear(), np.array([[1.0], [2.0], [3.0]]))
    >>> restricted(phi, phi[:, 0], np.array([2.0, 4.0, 6.0]), 0.0).expansion(np.array([[5.0]])).round(10)
    array([[10.]])
    """
    _nonnegative(alpha)
    m = len(onto)
    require_memory(24 * m * m, memory, f"three matrices of order {m}, the number of landmarks,", "fewer landmarks")
    Q = _basis(onto, memory)
    _, root = _weighted(phi, weights, memory)
    N, right = _normal_equations(Q, phi.points, root, root * np.asarray(Y, np.float64).reshape(len(root), -1))
    pairs = eigh.dense(N, len(N))
    kept = pairs.values > len(N) * np.finfo(np.float64).eps * max(pairs.values[0], 0.0)
    values, V = pairs.values[kept], pairs.vectors[:, kept]
    A = V @ ((V.T @ right) / (values + alpha)[:, None])
    residual = float(np.linalg.norm(N @ A + alpha * A - V @ (V.T @ right)) / max(np.linalg.norm(right), 1e-300))
    logger.info("ridge over %d of %d landmarks: relative residual %.1e", len(Q), m, residual)
    dtype = InnerProducts(phi).dtype
    posterior = Q @ (V * np.sqrt(values / (values + alpha))).astype(dtype)
    return Ridge(Q @ A.astype(dtype), residual, posterior)


def _basis(onto, memory):
    """Return orthonormal vectors of a span: what is smaller is known to fewer digits than it is worth."""
    U, s = svd(onto, None, centre=False, memory=memory)
    return U[:, : int(np.sum(s**2 > np.finfo(s.dtype).eps ** (2 / 3) * s[0] ** 2))]


def _normal_equations(Q, points, root, targets):
    """Return F S^2 F' and F S targets, summed over tiles of points in float64."""
    N, right = np.zeros((len(Q), len(Q))), np.zeros((len(Q), targets.shape[1]))
    for start in range(0, len(root), _ROWS):
        rows = slice(start, start + _ROWS)
        F = root[rows] * np.asarray(Q(take_points(points, rows)), np.float64)
        N += F.T @ F
        right += F.T @ targets[rows]
    return N, right


def posterior(phi, alpha, weights=None, *, memory="1GB"):
    r"""Return vectors R of the posterior variance k(x, x) - |R(x)|^2 of a Gaussian process.

    .. math:: R = \Phi S L^{-T}, \qquad L L' = S M S + \alpha I

    for observations of variance alpha / w_i.

    Parameters
    ----------
    phi : Expansion
        n vectors.
    alpha : float
        At least 0.
    weights : array (n,), optional
    memory : str or int
        Bytes that the matrix and its factor may take.

    Returns
    -------
    Expansion
        n vectors.

    Raises
    ------
    MemoryError
        When two matrices of order n exceed the budget.
    ValueError
        When the kernel is indefinite.

    Warns
    -----
    UserWarning
        When jitter was needed, with the amount.

    References
    ----------
    Rasmussen, Williams, *Gaussian processes for machine learning* (2006), algorithm 2.1.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.solvers.ridge import posterior
    >>> R = posterior(mc.features(mc.Gaussian(1.0), np.array([[0.0]])), 1.0)
    >>> 1 - R(np.array([[0.0]])) ** 2
    array([[0.5]])
    """
    _nonnegative(alpha)
    n = len(phi)
    instead = "landmarks=, whose posterior is of their number, or a larger memory="
    require_memory(16 * n * n, memory, f"the posterior of {n} points", instead)
    inner, root = _weighted(phi, weights, memory)
    M = inner.dense()
    np.fill_diagonal(M, M.diagonal() + alpha)
    L, _ = cholesky.jittered(M)
    inverse = scipy.linalg.lapack.dtrtri(L, lower=1)[0]
    return phi @ (root * inverse.T).astype(inner.dtype)


def loo_residuals(psi, Y, R):
    r"""Return the exact leave-one-out residuals Y_i - <psi_(-i), phi_i> of a ridge regression, without refitting.

    .. math:: Y_i - \langle \psi_{(-i)}, \phi_i \rangle = A_i / \sum_j R_{ij}^2

    with the coefficients A of psi and R of its posterior: the sum is (M + alpha S^-2)^-1_ii. A point of weight w is
    left out whole; for one of weight 0 it is Y_i - <psi, phi_i>.

    Parameters
    ----------
    psi : Expansion
        From ``ridge``, p vectors over n points.
    Y : array (n, p)
    R : Expansion
        From ``posterior``, with the same alpha and weights.

    Returns
    -------
    array (n, p)
        In float64.

    References
    ----------
    Rasmussen, Williams, *Gaussian processes for machine learning* (2006), eq. (5.12).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.solvers.ridge import loo_residuals, posterior, ridge
    >>> phi, Y = mc.features(mc.Linear(), np.array([[1.0], [1.0]])), np.array([[2.0], [4.0]])
    >>> loo_residuals(ridge(phi, Y, 1.0).expansion, Y, posterior(phi, 1.0))
    array([[0.],
           [3.]])
    """
    inverse = np.sum(np.asarray(R.coef, np.float64) ** 2, axis=1)
    seen = inverse > 0
    residuals = np.empty(np.shape(Y))
    residuals[seen] = np.asarray(psi.coef, np.float64)[seen] / inverse[seen, None]
    if not seen.all():
        unseen = take_points(psi.points, np.flatnonzero(~seen))
        residuals[~seen] = Y[~seen] - psi(unseen)
    return residuals


def ridge_path(phi, Y, alphas, weights=None, *, memory="1GB"):
    r"""Return ridge regressions and their leave-one-out residuals for many ridges from one eigendecomposition.

    .. math:: B_\alpha = V (\Lambda + \alpha I)^{-1} V'S Y, \qquad S M S = V \Lambda V', \qquad
              e_i = B_{\alpha,i} / (s_i \, [V (\Lambda + \alpha I)^{-1} V']_{ii})

    Parameters
    ----------
    phi : Expansion
        n vectors.
    Y : array (n,) or (n, p)
    alphas : array (k,)
        All above 0.
    weights : array (n,), optional
    memory : str or int
        Bytes that matrices of order n may take.

    Returns
    -------
    RidgePath

    Raises
    ------
    ValueError
        For an alpha that is not above 0, or not above the negative part of an indefinite spectrum.
    MemoryError
        When three matrices of order n exceed the budget.

    Notes
    -----
    O(n^3) once, then O(n^2 p) for each ridge. Relative errors are about eps lambda_max / alpha.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.solvers.ridge import ridge_path
    >>> phi = mc.features(mc.Linear(), np.array([[1.0], [1.0]]))
    >>> path = ridge_path(phi, np.array([2.0, 4.0]), [1.0, 2.0])
    >>> path.loo_residuals[:, :, 0].round(12) + 0.0, (phi @ path.coef[0])(np.array([[1.0]]))
    (array([[0.        , 3.        ],
           [0.66666667, 3.33333333]]), array([[2.]]))
    """
    alphas = np.asarray(alphas, np.float64)
    if alphas.ndim != 1 or not (np.isfinite(alphas).all() and (alphas > 0).all()):
        raise ValueError(f"alphas = {alphas} must be a list of finite numbers above 0.")
    n, (inner, root) = len(phi), _weighted(phi, weights, memory)
    Y = np.asarray(Y, np.float64).reshape(len(root), -1)
    require_memory(24 * n * n, memory, f"three matrices of order {n}, the number of points,", "a larger memory=")
    M = inner.dense()
    values, V = _spectrum(M, alphas.min())
    coef, errors = np.empty((len(alphas), *Y.shape)), np.empty((len(alphas), *Y.shape))
    projected, seen = V.T @ (root * Y), root[:, 0] > 0
    for j, alpha in enumerate(alphas):
        B = V @ (projected / (values + alpha)[:, None])
        coef[j] = root * B
        inverse = (V**2) @ (1 / (values + alpha))
        errors[j][seen] = B[seen] / (root[seen] * inverse[seen, None])
        if not seen.all():
            errors[j][~seen] = Y[~seen] - phi[:, ~seen].inner(phi @ coef[j])
    return RidgePath(alphas, coef.astype(inner.dtype), errors)


def _spectrum(M, least):
    """Return all eigenpairs, rounding below 0 set to 0; refuse a spectrum that the least ridge does not lift."""
    pairs = eigh.dense(M, len(M))
    floor = len(M) * np.finfo(np.float64).eps * abs(pairs.values[0])
    if pairs.values[-1] < -floor and pairs.values[-1] + least <= 0:
        raise ValueError(
            f"the kernel is indefinite on these points, with eigenvalues from {pairs.values[-1]:.3g} to "
            f"{pairs.values[0]:.3g}; alphas must be above {-pairs.values[-1]:.3g}."
        )
    return np.where(abs(pairs.values) <= floor, 0, pairs.values), pairs.vectors


def _weighted(phi, weights, memory):
    """Return the inner products of sqrt(w_i) phi_i, and the roots of the weights as a column (n, 1)."""
    inner = InnerProducts(phi, memory)
    if weights is None:
        return inner, np.ones((len(phi), 1))
    root = np.sqrt(check_weights("weights", weights, len(phi)))
    return Weighted(inner, root), root[:, None]


def _nonnegative(alpha):
    check_number("alpha", alpha)
    if alpha < 0:
        raise ValueError(f"alpha = {alpha!r} must be at least 0.")
