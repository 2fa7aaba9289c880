"""Span rule: the leave-one-out error of a support vector machine from one fit."""

from typing import Any

import numpy as np
import scipy.linalg
from sklearn.base import is_classifier

from mercer._common import Array, ArrayLike, Memory, PointsLike, as_float64, shown
from mercer._compute.memory import blocks, require_memory
from mercer._compute.points import count_points, take_points
from mercer.capacity._model import Model, models, own_targets, require, require_model
from mercer.capacity.bound import Bound
from mercer.gram import Gram
from mercer.linalg.cholesky import RIDGE
from mercer.linalg.operators import centred
from mercer.solvers.svm.pairs import decide

# Assumption of the span rule.
SAME_MARGIN = "a margin that keeps the same support vectors when a point is left out"


def squared_spans(model: Model, *, affine: bool = True, memory: Memory = "1GB") -> Array:
    r"""Return the squared distance of every support vector to the span of the other ones on the margin.

    .. math:: S_p^2 = \min_\lambda \left|\phi(x_p) - \sum_{i \ne p} \lambda_i \phi(x_i)\right|^2
        \quad\text{s.t.}\quad \sum_i \lambda_i = 1

    over support vectors i whose coefficients are between their bounds.

    Parameters
    ----------
    model : Model
        Of a support vector machine.
    affine : bool
        Keep the constraint on the sum of lambda, which belongs to a bias.
    memory : str or int
        Largest size of the matrix of the support vectors on the margin and its factor, in bytes.

    Returns
    -------
    array (k,)
        0 for points that are not support vectors. When no other support vector is on the margin, the squared distance
        to the nearest support vector with the opposite sign.

    Raises
    ------
    TypeError
        For a model without coefficients or upper bounds.
    MemoryError
        When the matrix exceeds the limit.

    Notes
    -----
    O(m^3 + m^2 b) for m support vectors on the margin and b at their upper bounds. With u = K^-1 1 it is
    1 / (K^-1 - u u' / 1'u)_pp on the margin, and k_pp - k_p'K^-1 k_p + (1 - u'k_p)^2 / 1'u at the upper bounds.

    References
    ----------
    Vapnik, Chapelle, *Bounds on error expectation for support vector machines*, Neural Computation 12 (2000),
    section 5; Opper, Winther, *Gaussian processes and SVM: mean field and leave-one-out* (2000), without the sum.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> model = mc.capacity.model(mc.SVC(C=10.0, kernel="linear").fit(X, y), X, y)
    >>> mc.capacity.squared_spans(model).round(6)
    array([0., 1., 1., 0.])
    """
    require(model, "squared_spans")
    free = np.flatnonzero(model.on_margin)
    bound = np.flatnonzero(~model.on_margin & (model.coef != 0))
    spans = np.zeros(len(model))
    m = len(free)
    if m:
        spans[free], spans[bound] = _to_margin(model, free, bound, affine, memory)
    alone = bound if m == 0 else free[:1] if m == 1 and affine else free[:0]
    for p in alone:
        spans[p] = _nearest_opponent(model, p)
    return spans


def leave_one_out_outputs(model: Model, *, memory: Memory = "1GB") -> Array:
    r"""Return the span rule's estimate of f(x_p) after a fit without x_p, for every training point.

    .. math:: f^{(-p)}(x_p) \approx f(x_p) - b_p S_p^2

    with signed coefficients b. It is exact when no other support vector enters or leaves the margin or an upper bound.
    A regression violates this whenever its kernel is so smooth that the matrix has hardly more large eigenvalues than
    there are support vectors on the margin; the estimate is then far too pessimistic.

    Parameters
    ----------
    model : Model
        Of a classifier or a regression.
    memory : str or int

    Returns
    -------
    array (k,)

    References
    ----------
    Vapnik, Chapelle (2000), theorem 3; Chang, Lin, *Leave-one-out bounds for support vector regression model
    selection*, Neural Computation 17 (2005).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> model = mc.capacity.model(mc.SVC(C=10.0, kernel="linear").fit(X, y), X, y)
    >>> mc.capacity.leave_one_out_outputs(model).round(6)
    array([-3.,  1., -1.,  3.])
    """
    require_model(model)
    return model.outputs - model.coef * squared_spans(model, memory=memory)


def leave_one_out_predictions(
    fitted: Any,
    X: PointsLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    memory: Memory = "1GB",
) -> Array:
    """Return the span rule's leave-one-out prediction of every training point: a class or a value.

    Parameters
    ----------
    fitted : SVC, NuSVC, SVR, NuSVR or QuantileSVR
        Fitted estimator. With several classes the binary classifiers vote as in ``predict``.
    X : points (n)
        The training points.
    y : array (n,)
    sample_weight : array (n,), optional
    memory : str or int

    Returns
    -------
    array (n,)

    Raises
    ------
    ValueError
        For an SVR with another loss than ``"epsilon"``, and for other points than those of the fit.
    MemoryError
        When the matrix exceeds the limit.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X, y = np.linspace(0, 3, 12)[:, None], np.linspace(0, 3, 12) ** 2
    >>> fitted = mc.SVR(C=100.0, kernel=mc.Polynomial(2), epsilon=0.01).fit(X, y)
    >>> bool(np.abs(mc.capacity.leave_one_out_predictions(fitted, X, y) - y).max() < 0.1)
    True
    """
    loss = getattr(fitted, "loss", "epsilon")
    if loss != "epsilon":
        raise ValueError(f"loss = {shown(loss)} must be 'epsilon': other losses have no span rule.")
    found = models(fitted, X, y, sample_weight)
    outputs = np.column_stack([_all_outputs(model, fitted, X, j) for j, model in enumerate(found)])
    for j, model in enumerate(found):
        outputs[model.rows, j] = leave_one_out_outputs(model, memory=memory)
    if not is_classifier(fitted):
        return outputs[:, 0]
    return fitted.classes_[
        decide(outputs, len(fitted.classes_), fitted.multi_class, fitted.break_ties)
    ]


def span_rule(
    fitted: Any,
    X: PointsLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    memory: Memory = "1GB",
) -> Bound:
    r"""Return the span rule's estimate of the leave-one-out error of a support vector classifier.

    .. math:: \frac1n \sum_p \Psi(\alpha_p S_p^2 - y_p f(x_p))

    with the step function Psi; with several classes the binary classifiers vote.

    Parameters
    ----------
    fitted, X, y, sample_weight, memory
        As in `leave_one_out_predictions`.

    Returns
    -------
    Bound
        A heuristic: it assumes that the support vectors on the margin stay there.

    References
    ----------
    Vapnik, Chapelle, *Bounds on error expectation for support vector machines*, Neural Computation 12 (2000).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(100, 2)), np.arange(100) % 2
    >>> X[:, 0] += 2 * y
    >>> fitted = mc.SVC(kernel=mc.Gaussian(0.5)).fit(X, y)
    >>> 0.1 < mc.capacity.span_rule(fitted, X, y).value < 0.3
    True
    """
    wrong = leave_one_out_predictions(fitted, X, y, sample_weight, memory=memory) != own_targets(
        fitted, y
    )
    return estimate("span rule", wrong, SAME_MARGIN)


def estimate(name: str, wrong: Array, assumption: str) -> Bound:
    """Return the heuristic share of points that are misclassified when left out."""
    value = float(np.mean(wrong))
    statement = f"About {value:.1%} of the points are misclassified when left out."
    return Bound(name, value, statement, "leave-one-out error", None, (assumption,))


def _to_margin(model, free, bound, affine, memory):
    """Return the squared spans of the support vectors on the margin and of those at their upper bounds."""
    m = len(free)
    require_memory(
        16 * m * m, memory, f"the matrix of {m} support vectors on the margin", "a smaller C"
    )
    on_margin = take_points(model.points, free)
    K = as_float64(Gram(model.kernel, on_margin, memory=2**62).dense())
    if affine:
        # distances do not depend on the origin: far from it they would be rounding
        means = K.mean(axis=0)
        K = centred(K)
        # the centred matrix is singular along 1
        shift = float(np.mean(K.diagonal()))
        K = K + shift
        offset = float(means.mean()) + shift
    # linearly dependent vectors have span 0
    jitter = RIDGE * max(float(np.mean(K.diagonal())), 1e-100)
    inverse, jitter = _inverse(K, jitter)
    u = inverse.sum(axis=1)
    total = float(u.sum())
    diagonal = inverse.diagonal().copy()
    if affine:
        diagonal -= u**2 / total
    # a single support vector has an affine diagonal of 0; squared_spans replaces its span
    with np.errstate(divide="ignore", over="ignore"):
        own = np.where(diagonal > 0, 1 / np.maximum(diagonal, 1e-300) - jitter, 0.0)
    others = np.empty(len(bound))
    for rows in blocks(len(bound), m):
        some = bound[rows]
        columns = as_float64(model.kernel(on_margin, take_points(model.points, some)))
        squares = model.diagonal[some]
        if affine:
            middle = columns.mean(axis=0)
            squares = squares - 2 * middle + offset
            columns = columns - middle - means[:, None] + offset
        left = squares - np.einsum("ij,ij->j", columns, inverse @ columns)
        others[rows] = left + (1 - u @ columns) ** 2 / total if affine else left
    return np.maximum(own, 0), np.maximum(others, 0)


def _inverse(K, jitter):
    """Return the inverse of K + jitter I, and the jitter, which grows while the matrix is not positive definite."""
    for _ in range(8):
        L, failed = scipy.linalg.lapack.dpotrf(K + jitter * np.eye(len(K)), lower=1)
        if not failed:
            half = scipy.linalg.lapack.dtrtri(L, lower=1)[0]
            return half.T @ half, jitter
        jitter *= 100
    raise ValueError(
        "the kernel is indefinite on the support vectors; spans need a positive semidefinite kernel."
    )


def _nearest_opponent(model, p):
    """Return the squared distance to the nearest support vector with the opposite sign."""
    others = np.flatnonzero(model.coef * np.sign(model.coef[p]) < 0)
    values = model.kernel(
        take_points(model.points, np.array([p])), take_points(model.points, others)
    )[0]
    return max(float(np.min(model.diagonal[p] + model.diagonal[others] - 2 * values)), 0.0)


def _all_outputs(model, fitted, X, j):
    """Return the outputs of binary classifier j at all points, including points of other classes."""
    n = count_points(X)
    if len(model) == n:
        return model.outputs
    points = np.arange(n) if model.kernel.tags.points == "indices" else X
    return as_float64(fitted.expansion_[:, j](points))[:, 0] + float(fitted.intercept_[j])
