"""Selection of landmarks: uniform, cluster centres, and pivots of the kernel matrix."""

import numpy as np

from mercer._common import check_integer
from mercer._compute.points import as_rows, count_points
from mercer.gram import Gram
from mercer.linalg import cholesky
from mercer.linalg.generator import generator


def uniform(X, m, random_state=None):
    """Return m different row numbers (m,), drawn uniformly without replacement, sorted."""
    n = _require_at_most(X, m)
    return np.sort(generator(random_state).choice(n, size=m, replace=False))


def k_means(X, m, random_state=None):
    """Return the m centres of k-means in input space (m, d): new points, for smooth kernels of Euclidean distance.

    One start of scikit-learn's Lloyd iteration, O(n m d) per step. Zhang, Tsang, Kwok, *Improved Nystroem low-rank
    approximation and error analysis*, ICML (2008).
    """
    from sklearn.cluster import KMeans

    X = as_rows(X)
    _require_at_most(X, m)
    model = KMeans(m, n_init=1, random_state=generator(random_state)).fit(X)
    return model.cluster_centers_.astype(X.dtype, copy=False)


def pivoted(kernel, X, m, tol=None):
    """Return the row numbers of pivoted Cholesky: each point is the farthest from the span of those before it.

    At most m, in the order selected; fewer at a smaller numerical rank, or when no squared distance exceeds ``tol``
    times the largest k(x, x). n m kernel values and O(n m^2) operations. Fine, Scheinberg, *Efficient SVM training
    using low-rank kernel representations*, JMLR 2 (2001).
    """
    _require_at_most(X, m)
    return cholesky.pivoted(Gram(kernel, X), m, tol).pivots


def randomly_pivoted(kernel, X, m, random_state=None, tol=None):
    """Return the row numbers of randomly pivoted Cholesky, drawn by squared distance to the span of those before.

    At most m, as for ``pivoted``. Chen, Epperly, Tropp, Webber, *Randomly pivoted Cholesky*, Comm. Pure Appl. Math. 78
    (2025).
    """
    _require_at_most(X, m)
    return cholesky.randomly_pivoted(Gram(kernel, X), m, random_state, tol).pivots


def _require_at_most(X, m):
    """Return the number n of points; raise unless m is from 1 to n."""
    n = count_points(X)
    check_integer("m", m)
    if m > n:
        raise ValueError(f"m = {m} landmarks must be at most {n}, the number of points.")
    return n
