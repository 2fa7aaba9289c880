"""Choosing points that stand for all: at random, as cluster centres, or by pivots of the kernel matrix."""

import numpy as np

from mercer._common import check_integer
from mercer._compute.points import as_rows, count_points
from mercer.gram import Gram
from mercer.linalg import cholesky
from mercer.linalg.generator import generator


def uniform(X, m, random_state=None):
    """Return m different rows, drawn uniformly.

    Parameters
    ----------
    X : points (n)
    m : int
        At most n.
    random_state : int, RandomState, Generator or None

    Returns
    -------
    integer array (m,)
        Sorted.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import landmarks
    >>> landmarks.uniform(np.zeros((3, 2)), 3)
    array([0, 1, 2])
    """
    n = _at_most(X, m)
    return np.sort(generator(random_state).choice(n, size=m, replace=False))


def k_means(X, m, random_state=None):
    """Return the m centres of k-means in input space: new points, good for smooth kernels of Euclidean distance.

    Parameters
    ----------
    X : rows (n, d)
    m : int
        At most n.
    random_state : int, RandomState or None

    Returns
    -------
    array (m, d)
        In the type of X.

    Notes
    -----
    Lloyd's iteration of scikit-learn, one start, O(n m d) per step.

    References
    ----------
    Zhang, Tsang, Kwok, *Improved Nystroem low-rank approximation and error analysis*, ICML (2008).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import landmarks
    >>> landmarks.k_means(np.array([[0.0], [2.0]]), 1)
    array([[1.]])
    """
    from sklearn.cluster import KMeans

    X = as_rows(X)
    _at_most(X, m)
    model = KMeans(m, n_init=1, random_state=generator(random_state)).fit(X)
    return model.cluster_centers_.astype(X.dtype, copy=False)


def pivoted(kernel, X, m, tol=None):
    """Return the rows chosen by pivoted Cholesky: each the point farthest, in feature space, from the span of those
    before.

    Parameters
    ----------
    kernel : Kernel
        Positive semidefinite, resolved.
    X : points (n)
    m : int
        At most n.
    tol : float, optional
        Stop earlier, when no squared distance exceeds ``tol`` times the largest k(x, x).

    Returns
    -------
    integer array (at most m,)
        In the order chosen; fewer when the matrix has a smaller numerical rank.

    Notes
    -----
    n m kernel values and O(n m^2) operations.

    References
    ----------
    Fine, Scheinberg, *Efficient SVM training using low-rank kernel representations*, JMLR 2 (2001).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer import landmarks
    >>> landmarks.pivoted(mc.Gaussian(1.0), np.array([[0.0], [0.1], [5.0]]), 2)
    array([0, 2])
    """
    _at_most(X, m)
    return cholesky.pivoted(Gram(kernel, X), m, tol).pivots


def randomly_pivoted(kernel, X, m, random_state=None, tol=None):
    """Return the rows chosen by randomly pivoted Cholesky: drawn by their squared distance to the span of those before.

    Parameters
    ----------
    kernel : Kernel
        Positive semidefinite, resolved.
    X : points (n)
    m : int
        At most n.
    random_state : int, RandomState, Generator or None
    tol : float, optional
        Stop earlier, when no squared distance exceeds ``tol`` times the largest k(x, x).

    Returns
    -------
    integer array (at most m,)
        In the order chosen; fewer when the matrix has a smaller numerical rank.

    Notes
    -----
    n m kernel values and O(n m^2) operations.

    References
    ----------
    Chen, Epperly, Tropp, Webber, *Randomly pivoted Cholesky*, Comm. Pure Appl. Math. 78 (2025).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer import landmarks
    >>> X = np.array([[0.0], [0.0], [5.0]])
    >>> np.sort(landmarks.randomly_pivoted(mc.Gaussian(1.0), X, 2, random_state=0) // 2)
    array([0, 1])
    """
    _at_most(X, m)
    return cholesky.randomly_pivoted(Gram(kernel, X), m, random_state, tol).pivots


def _at_most(X, m):
    """Return the number of points, of which m are to be chosen."""
    n = count_points(X)
    check_integer("m", m)
    if m > n:
        raise ValueError(f"m = {m} landmarks must be at most {n}, the number of points.")
    return n
