"""Fisher's discriminants in feature space, from a ridge regression of class memberships."""

from dataclasses import dataclass

import numpy as np

from mercer._common import check_positive, check_weights
from mercer.expansion import Expansion
from mercer.least_squares import solve
from mercer.linalg.operators import Centred, InnerProducts, Weighted


@dataclass(frozen=True)
class Discriminants:
    """Directions that separate the means of classes, in units of the scatter within them.

    Attributes
    ----------
    expansion : Expansion
        At most C - 1 directions.
    intercept : array (m,)
        What takes the mean of all points to 0.
    eigenvalues : array (m,)
        Scatter between classes over regularised scatter within, descending.
    means : array (C, m)
        The classes' means along the directions; those of the last class are not negative.
    residual : float
        Relative residual of the linear system that was solved.
    """

    expansion: Expansion
    intercept: np.ndarray
    eigenvalues: np.ndarray
    means: np.ndarray
    residual: float


def discriminants(phi, classes, mu, weights=None, *, memory="1GB", random_state=None):
    r"""Return the directions w that maximise the scatter between classes over the regularised scatter within.

    .. math:: S_B w = \lambda (S_W + \mu I) w, \qquad w'(S_W + \mu I) w = n

    with S_B the sum of n_c (m_c - m)(m_c - m)' over the classes and S_W that of (phi_i - m_c)(phi_i - m_c)' over the
    points. Since S_B + S_W is the scatter of all points, the directions are combinations of C - 1 ridge regressions,
    with the centred kernel matrix K, of contrasts D between the classes' memberships E_ic = 1 / sqrt(n_c):

    .. math:: (K + \mu I) B = E D, \qquad \mu D'E'B v = v / (1 + \lambda), \quad w = \Phi B v.

    Parameters
    ----------
    phi : Expansion
        n vectors.
    classes : integer array (n,)
        0 to C - 1, each with a positive weight somewhere.
    mu : float
        Above 0.
    weights : array (n,), optional
        Repetitions of each point; all 1 when left out.
    memory : str or int
        Bytes that a stored matrix and its factor may take; beyond it conjugate gradients take products only.
    random_state : int, RandomState, Generator or None
        Pivots of the preconditioner.

    Returns
    -------
    Discriminants

    Raises
    ------
    ValueError
        For fewer than two classes, a class without weight, a mu that is not above 0, or means that are all equal.

    Warns
    -----
    ConvergenceWarning
        When the relative residual stays above 1e-8 (float32: 1e-4).

    Notes
    -----
    O(n^3) and 16 n^2 bytes, or O(n^2) kernel values per step of conjugate gradients; the same as in coordinates of the
    feature space, without finding them.

    References
    ----------
    Mika, Raetsch, Weston, Schoelkopf, Mueller, *Fisher discriminant analysis with kernels*, NNSP IX (1999);
    Baudat, Anouar, *Generalized discriminant analysis using a kernel approach*, Neural Computation 12 (2000);
    Kwak, *Nonlinear projection trick in kernel methods*, IEEE TNNLS 24 (2013), eq. (27), with the scatter between
    classes in place of the total one printed there.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.solvers.fisher import discriminants
    >>> X, classes = np.array([[0.0], [2.0], [10.0], [12.0]]), np.array([0, 0, 1, 1])
    >>> found = discriminants(mc.features(mc.Linear(), X), classes, 1e-6)
    >>> found.eigenvalues.round(4), found.means.round(4)
    (array([25.]), array([[-5.],
           [ 5.]]))
    """
    check_positive("mu", mu)
    weights = check_weights("weights", weights, len(phi))
    sizes = _sizes(classes, weights)
    D, root = _contrasts(sizes), np.sqrt(weights)[:, None]
    inner = Centred(InnerProducts(phi, memory), weights / sizes.sum())
    targets = root * (D / np.sqrt(sizes)[:, None])[classes]
    solved = solve(Weighted(inner, root[:, 0]), targets, mu, memory=memory, random_state=random_state)
    G = mu * (targets.T @ solved.coef)
    within, V = np.linalg.eigh((G + G.T) / 2)
    # classes that are told apart entirely leave rounding of either sign
    within = within.clip(np.finfo(np.float64).eps)
    between = 1 - within
    kept = between > len(phi) * np.finfo(inner.dtype).eps
    if not kept.any():
        raise ValueError(
            f"no discriminant: the means of the {len(sizes)} classes are equal up to rounding; the points are constant,"
            f" or mu = {mu!r} is far above their variance."
        )
    within, between, V = within[kept], between[kept], V[:, kept]
    V = V * np.sqrt(sizes.sum() / (within * between))
    means = (D / np.sqrt(sizes)[:, None]) @ (V * between)
    V, means = (a * np.where(means[-1] < 0, -1, 1) for a in (V, means))
    A = root * (solved.coef @ V)
    # combinations of centred features, up to rounding already with sum 0
    A -= weights[:, None] * (A.sum(axis=0) / sizes.sum())
    intercept = -inner.means @ A
    expansion, intercept, means = phi @ A.astype(inner.dtype), intercept.astype(inner.dtype), means.astype(inner.dtype)
    return Discriminants(expansion, intercept, between / within, means, solved.residual)


def _sizes(classes, weights):
    """Return the weight of each class, all above 0."""
    classes = np.asarray(classes)
    if classes.shape != (len(weights),) or classes.dtype.kind not in "iu":
        raise ValueError(f"classes must be {len(weights)} whole numbers, one per vector, got shape {classes.shape}.")
    if len(classes) and classes.min() < 0:
        raise ValueError(f"classes must be numbered from 0, got {classes.min()}.")
    sizes = np.bincount(classes, weights=weights)
    if len(sizes) < 2:
        raise ValueError("discriminants need points of at least two classes, got 1 class.")
    if not sizes.all():
        raise ValueError(f"class {int(np.argmin(sizes))} has no points, or none with a positive weight.")
    return sizes


def _contrasts(sizes):
    """Return an orthonormal basis (C, C - 1) of what is orthogonal to the roots of the sizes."""
    return np.linalg.qr(np.column_stack([np.sqrt(sizes), np.eye(len(sizes))[:, 1:]]))[0][:, 1:]
