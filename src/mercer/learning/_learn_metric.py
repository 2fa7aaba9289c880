"""learn_metric: refit an estimator with a metric of input space that is learned from its gradients."""

from typing import Any

import numpy as np
import scipy.linalg
from sklearn.base import clone

from mercer._common import (
    Array,
    ArrayLike,
    PointsLike,
    as_float64,
    check_integer,
    check_positive,
    shown,
)
from mercer._compute.memory import blocks
from mercer._compute.points import as_dense_rows
from mercer.expansion import Expansion
from mercer.kernels.base import require_gradient
from mercer.kernels.mapped import Mapped
from mercer.kernels.shorthand import kernel_of, with_kernel


def learn_metric(
    estimator: Any, X: PointsLike, y: ArrayLike, n_iter: int = 5, *, power: float = 1.0
) -> Any:
    r"""Return an estimator fitted with a metric that is learned from the gradients of its own predictions.

    Each iteration fits the estimator, averages the outer products of the gradients of its m outputs f_j, and fits again
    with distances of that matrix:

    .. math:: M = \frac1{n m} \sum_{i, j} \nabla f_j(x_i) \nabla f_j(x_i)', \qquad k(M^{p/2} x, M^{p/2} z),

    scaled such that the trace of M^p is d. Distances grow in directions in which the outputs change, and shrink in the
    others.

    Parameters
    ----------
    estimator : estimator with a parameter ``kernel`` and an attribute ``expansion_``
        Such as `mercer.KernelRidge` or `mercer.SVC`, with a kernel that has a gradient, such as ``Gaussian`` or
        ``Matern(nu=0.5)``. It is not changed. A bandwidth rule is resolved in every fit, on mapped rows.
    X : rows (n, d)
        Scaled to comparable columns (StandardScaler).
    y : array
        As ``estimator.fit`` takes it. A regression without intercept needs centred targets.
    n_iter : int
        Number of metrics, at most 1000; the estimator is fitted once more.
    power : float
        p, positive. Powers below 1 shorten directions less, for few rows: gradients of a fit are too small in
        directions that it has not resolved.

    Returns
    -------
    fitted estimator
        Its ``kernel`` is ``Mapped(kernel, A)`` with A = M^(p/2), symmetric (d, d).

    Raises
    ------
    TypeError
        If the kernel has no gradient in its points, or the estimator no ``kernel``, ``predict`` or ``expansion_``, or
        free terms of the rows.

    Notes
    -----
    Besides the fits O(n n_vectors m d + d^3). A gradient at a kink, x_i at a vector of a Matern kernel with nu = 1/2,
    counts as 0 there. The iteration has no objective that decreases: choose n_iter and power by cross-validation, then
    bandwidth and regularisation again for ``Mapped(other, model.kernel.A)``, since distances in the metric are others.

    References
    ----------
    Radhakrishnan, Beaglehole, Pandit, Belkin, *Mechanism for feature learning in neural networks and
    backpropagation-free machine learning models*, Science 383 (2024), algorithm 1 (recursive feature machines).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> y = np.sin(2 * X[:, 0])
    >>> model = mc.learn_metric(mc.KernelRidge(0.01, kernel=mc.Gaussian("scale")), X, y)
    >>> np.diag(model.kernel.A @ model.kernel.A).round(1)
    array([5., 0., 0., 0., 0.])
    """
    # a larger number is a mistake, and would take days
    check_integer("n_iter", n_iter, most=1000)
    check_positive("power", power)
    if isinstance(estimator, type) or not (
        hasattr(estimator, "kernel") and hasattr(estimator, "predict")
    ):
        raise TypeError(
            "estimator must predict y and have a parameter kernel, as mercer.KernelRidge() and mercer.SVC(), got "
            f"{shown(estimator)} of type {type(estimator).__name__}."
        )
    kernel = kernel_of(estimator)
    require_gradient(kernel, "learn_metric", "use a kernel such as Gaussian or Matern")
    X = as_dense_rows(X, "X")
    model = clone(estimator).fit(X, y)
    for _ in range(n_iter):
        M = gradient_outer_product(model, X)
        if not np.trace(M) > 0:
            # a constant prediction has no direction
            break
        model = with_kernel(clone(estimator), Mapped(kernel, _metric_root(M, power))).fit(X, y)
    return model


def gradient_outer_product(model: Any, X: PointsLike) -> Array:
    """Return the average gradient outer product (d, d) of a fitted model, in float64.

    Equal rows are mapped once: the distance of a row to itself among the vectors is then 0, without rounding.
    """
    psi = _expansion(model)
    kernel = psi.kernel
    A = np.eye(X.shape[1])
    if isinstance(kernel, Mapped) and np.ndim(kernel.A) == 2:
        kernel, A = kernel.kernel, kernel.A
    both = np.concatenate([X, np.asarray(psi.points, X.dtype)])
    rows, place = np.unique(both, axis=0, return_inverse=True)
    place = place.ravel()
    mapped = rows.astype(np.float64) @ A.T
    counts = np.bincount(place[: len(X)], minlength=len(rows))
    inner = Expansion(kernel, mapped[place[len(X) :]], as_float64(psi.coef))
    M = np.zeros((len(A), len(A)))
    used = np.flatnonzero(counts)
    for rows in blocks(len(used), len(inner) * len(A)):
        some = used[rows]
        G = inner.gradient(mapped[some])
        M += np.einsum("i,ija,ijb->ab", counts[some], G, G, optimize=True)
    return A.T @ M @ A / (len(X) * len(inner))


def _expansion(model):
    if not hasattr(model, "expansion_"):
        raise TypeError(
            f"estimator must have the attribute expansion_ when fitted; {type(model).__name__} has none."
        )
    if np.size(getattr(model, "free_coef_", ())):
        raise TypeError(
            f"estimator must have outputs expansion_(X) + intercept_, but {type(model).__name__} adds free terms of "
            "the rows, whose gradients would be left out; use free='constant'."
        )
    return model.expansion_


def _metric_root(M, power):
    """Return the symmetric root of the power of a positive semidefinite matrix, scaled such that its trace is d."""
    values, vectors = scipy.linalg.eigh(M)
    # rounding makes values of 0 negative or positive, which a small power would enlarge
    scaled = np.where(values > 1e-12 * values[-1], values / values[-1], 0) ** power
    return (vectors * np.sqrt(scaled * (len(M) / scaled.sum()))) @ vectors.T
